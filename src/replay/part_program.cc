#include "replay/part_program.h"

#include <algorithm>
#include <string>

namespace farscale {
namespace {

void MergeArrivals(SharedArrivals& into, const SharedArrivals& other) {
  into.ranks += other.ranks;
  into.processes += other.processes;
  into.first_member = std::min(into.first_member, other.first_member);
  into.root_arrives |= other.root_arrives;
  into.bytes.Merge(other.bytes);
}

// Sums over the processes.
struct PartSums {
  CutsAtEdge cuts;
  std::uint64_t calls = 0;
  double longest = 0;  // ticks of all messages and collectives

  void Add(const PartSums& other) {
    cuts.messages += other.cuts.messages;
    cuts.collectives += other.cuts.collectives;
    calls += other.calls;
    longest += other.longest;
  }
};

using AwaitedSegments = std::map<std::uint32_t, std::vector<std::uint32_t>>;

class PartCompiler {
 public:
  PartCompiler(const TracePart& part, const PartMatching& matching, const PartCut& cut, const ReplayOptions& options,
               Exchange& exchange)
      : part_(part), trace_(part.trace), matching_(matching), cut_(cut), options_(options), exchange_(exchange) {}

  PartProgram Run() {
    const Network* network = options_.TimedNetwork();
    result_.flags = FlagPhase(trace_, matching_.matching, cut_.cut, options_);
    std::vector<Tick> delays;
    if (network != nullptr) {
      delays.resize(matching_.matching.messages);
      AddMessageDelays(trace_, matching_.matching, cut_.cut, *network, delays, nullptr);
    }
    ShareMessages(delays);
    program() = CompileRanks(trace_, matching_.matching, cut_.cut, options_, result_.flags, cut_.origin);
    program().message_delays = std::move(delays);
    ShareArrivals();
    ShareScans();
    Sum();
    return std::move(result_);
  }

 private:
  Program& program() { return result_.program; }
  const Matching& matching() const { return matching_.matching; }

  // Senders tell how they send, and how long that takes; receivers how they receive.
  void ShareMessages(std::vector<Tick>& delays) {
    MessageFlags& flags = result_.flags.messages;
    std::vector<std::size_t> partners;
    std::vector<std::string> texts;
    for (const MessageBlock& block : matching_.blocks) {
      partners.push_back(block.member);
      RunLengths<std::uint8_t> sent = PackRuns(flags.sender, block.first_sent, block.end_sent);
      RunLengths<std::uint8_t> received = PackRuns(flags.receiver, block.first_received, block.end_received);
      RunLengths<Tick> times;
      if (!delays.empty()) times = PackRuns(delays, block.first_sent, block.end_sent);
      texts.push_back(ToBytes(sent, received, times));
    }
    texts = exchange_.Swap(partners, std::move(texts));
    for (std::size_t i = 0; i < texts.size(); ++i) {
      RunLengths<std::uint8_t> sent, received;
      RunLengths<Tick> times;
      FromBytes(texts[i], sent, received, times);
      UnpackRuns(sent, flags.sender, matching_.blocks[i].first_received);
      UnpackRuns(received, flags.receiver, matching_.blocks[i].first_sent);
      UnpackRuns(times, delays, matching_.blocks[i].first_received);
    }
  }

  // How many arrive at shared operations, whether roots do, and how long these take. Other processes count as one more
  // who arrives.
  void ShareArrivals() {
    const Network* network = options_.TimedNetwork();
    std::vector<OperationBytes> bytes(matching().collectives.size());
    if (network != nullptr) bytes = BytesOfOperations(trace_, matching(), cut_.cut);
    OperationRuns<SharedArrivals> runs;
    for (std::uint32_t i = 0; i < matching_.shared_operations; ++i) {
      const std::uint32_t ranks = program().arrivals[i];
      if (ranks == 0 && bytes[i].ranks() == 0) continue;
      const std::uint32_t of_all = matching_.OfAll(i);
      AppendRun(runs, {of_all,
                       of_all + 1,
                       {ranks, ranks > 0 ? 1u : 0u, static_cast<std::uint32_t>(exchange_.own()),
                        static_cast<bool>(program().root_arrives[i]), bytes[i]}});
    }
    result_.arrivals = exchange_.Agree<OperationRuns<SharedArrivals>>(
        runs,
        [](OperationRuns<SharedArrivals>& into, const OperationRuns<SharedArrivals>& other) {
          MergeRuns(into, other, MergeArrivals);
        },
        [](const OperationRuns<SharedArrivals>& all) { return all; });
    for (std::uint32_t i = 0; i < matching_.shared_operations; ++i) {
      const SharedArrivals* all = FindInRuns(result_.arrivals, matching_.OfAll(i));
      if (all == nullptr) continue;
      if (all->ranks > 0 && all->ranks < matching().collectives[i].participants &&
          all->first_member == exchange_.own()) {
        ++sums_.cuts.collectives;
      }
      program().arrivals[i] += all->ranks > 0 ? 1 : 0;
      program().root_arrives[i] = all->root_arrives;
      bytes[i] = all->bytes;
    }
    if (network == nullptr) return;
    const CollectiveDelays delays(trace_, *network);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      program().collective_delays.push_back(delays.Of(matching().collectives[i], bytes[i]));
    }
  }

  // Segments of the communicator's order that are of this process, without counts.
  const std::vector<ScanSegment>& OwnSegments(std::uint32_t communicator) {
    const auto [found, is_new] = segments_.try_emplace(communicator);
    std::vector<ScanSegment>& segments = found->second;
    const std::vector<std::int32_t>& members = trace_.communicators[communicator].members;
    for (std::uint32_t place = 0; is_new && place < members.size(); ++place) {
      if (part_.members[static_cast<std::size_t>(members[place])] != exchange_.own()) continue;
      if (segments.empty() || segments.back().end < place) segments.push_back({place, place});
      segments.back().end = place + 1;
    }
    return segments;
  }

  template <typename Visit>
  void ForEachScanStep(const Visit& visit) {
    for (std::uint32_t rank = 0; rank < program().ranks.size(); ++rank) {
      for (const Instruction& instruction : program().ranks[rank].instructions) {
        const bool is_scan = instruction.step == Step::kArriveInOrder || instruction.step == Step::kWaitForLower;
        if (is_scan) visit(rank, instruction);
      }
    }
  }

  void ShareScans() {
    // Also of those at which no rank arrives here.
    ForEachScanStep([&](std::uint32_t, const Instruction& step) { program().scan_ranks[step.target]; });
    OrderScans(trace_, matching(), program());
    ForEachScanStep([&](std::uint32_t rank, const Instruction& step) {
      if (step.target >= matching_.shared_operations) return;
      std::vector<ScanSegment>& segments = result_.scans[step.target].segments;
      if (segments.empty()) segments = OwnSegments(matching().collectives[step.target].communicator);
      if (step.step != Step::kArriveInOrder) return;
      const std::uint32_t place = program().scan_orders[program().order_of_scan.at(step.target)].places[rank];
      for (ScanSegment& segment : segments) segment.arrivals += segment.first <= place && place < segment.end;
    });
    AwaitedSegments own;
    for (const auto& [operation, scan] : result_.scans) {
      for (const ScanSegment& segment : scan.segments) {
        if (segment.arrivals > 0) own[matching_.OfAll(operation)].push_back(segment.first);
      }
    }
    result_.awaited_segments = exchange_.Agree<AwaitedSegments>(
        own,
        [](AwaitedSegments& into, const AwaitedSegments& other) {
          for (const auto& [operation, first] : other) {
            into[operation].insert(into[operation].end(), first.begin(), first.end());
          }
        },
        [](AwaitedSegments& all) {
          for (auto& [operation, first] : all) std::ranges::sort(first);
          return all;
        });
    for (auto& [operation, scan] : result_.scans) AwaitOutside(operation, scan);
  }

  void AwaitOutside(std::uint32_t operation, SharedScan& scan) {
    const auto found = result_.awaited_segments.find(matching_.OfAll(operation));
    if (found == result_.awaited_segments.end()) return;
    for (const ScanSegment& segment : scan.segments) {
      const auto behind = std::ranges::lower_bound(found->second, segment.first);
      if (behind == found->second.begin()) continue;
      scan.outside.emplace_back(*(behind - 1), segment.first - 1);
      program().outside_places[operation].push_back(segment.first - 1);
    }
  }

  // Each message and each operation counts once.
  void Sum() {
    const Matching& own = matching();
    const auto add_messages = [&](std::uint32_t first, std::uint32_t end) {
      sums_.cuts.messages += CountCutMessages(result_.flags.messages, first, end);
    };
    std::uint32_t first_shared = own.matched;
    for (const MessageBlock& block : matching_.blocks) {
      first_shared = std::min(first_shared, block.first_sent);
      add_messages(block.first_sent, block.end_sent);
      AddTicks(program().message_delays, block.first_sent, block.end_sent);
    }
    add_messages(0, first_shared);
    AddTicks(program().message_delays, 0, first_shared);
    AddTicks(program().message_delays, own.matched, own.messages);
    for (std::uint32_t i = 0; i < own.collectives.size(); ++i) {
      const SharedArrivals* all =
          i < matching_.shared_operations ? FindInRuns(result_.arrivals, matching_.OfAll(i)) : nullptr;
      if (all == nullptr || all->first_member == exchange_.own()) AddTicks(program().collective_delays, i, i + 1);
      if (i < matching_.shared_operations) continue;
      sums_.cuts.collectives += program().arrivals[i] > 0 && program().arrivals[i] < own.collectives[i].participants;
    }
    sums_.calls = program().calls;
    sums_ = exchange_.Agree<PartSums>(
        sums_, [](PartSums& into, const PartSums& other) { into.Add(other); }, [](const PartSums& all) { return all; });
    if (const Network* network = options_.TimedNetwork()) RequireTimes(*network, sums_.longest);
    if (!exchange_.IsFirst()) return;
    program().calls = sums_.calls;
    sums_.cuts.AddTo(program().diagnostics, cut_.cut.spec.name);
  }

  void AddTicks(const std::vector<Tick>& delays, std::uint32_t first, std::uint32_t end) {
    for (std::uint32_t i = first; i < std::min<std::size_t>(end, delays.size()); ++i) {
      sums_.longest += static_cast<double>(delays[i]);
    }
  }

  const TracePart& part_;
  const Trace& trace_;
  const PartMatching& matching_;
  const PartCut& cut_;
  const ReplayOptions& options_;
  Exchange& exchange_;
  std::map<std::uint32_t, std::vector<ScanSegment>> segments_;  // of this process, by communicator
  PartSums sums_;
  PartProgram result_;
};

}  // namespace

PartCut CutOfMember(const TracePart& part, std::size_t member, const PhaseCut& cut) {
  PartCut of_member{cut, cut.begin()};
  for (std::size_t rank = 0; rank < part.members.size(); ++rank) {
    if (part.members[rank] != member) of_member.cut.ranks[rank] = {};
  }
  return of_member;
}

PartProgram CompilePart(const TracePart& part, const PartMatching& matching, const PartCut& cut,
                        const ReplayOptions& options, Exchange& exchange) {
  return PartCompiler(part, matching, cut, options, exchange).Run();
}

}  // namespace farscale
