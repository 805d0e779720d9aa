#include "support/trace_parts.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <tuple>

#include "base/error.h"

namespace farscale::test {
namespace {

// Messages of the processes: who sends, who receives, and the how many-th; compared with numbers of the whole.
class MessageNames {
 public:
  using Name = std::tuple<std::size_t, std::size_t, std::uint32_t>;

  // False: the name stands for another message, or the message has another name.
  bool Add(const Name& name, std::uint32_t number) {
    return numbers_.try_emplace(name, number).first->second == number &&
           names_.try_emplace(number, name).first->second == name;
  }

 private:
  std::map<Name, std::uint32_t> numbers_;
  std::map<std::uint32_t, Name> names_;
};

// Of a message with two ends.
MessageNames::Name NameOf(const PartMatching& part, std::size_t own, std::uint32_t message) {
  for (const MessageBlock& block : part.blocks) {
    if (message >= block.first_sent && message < block.end_sent) return {own, block.member, message - block.first_sent};
    if (message >= block.first_received && message < block.end_received) {
      return {block.member, own, message - block.first_received};
    }
  }
  return {own, own, message};
}

std::string CompareMessages(const Matching& whole, const std::vector<std::uint32_t>& of_whole, const PartMatching& part,
                            const std::vector<std::uint32_t>& of_part, std::size_t own, MessageNames& names) {
  if (of_whole.size() != of_part.size()) return "another number of messages";
  for (std::size_t i = 0; i < of_whole.size(); ++i) {
    const bool has_number = of_whole[i] != kNoMessage, is_matched = of_whole[i] < whole.matched;
    if (has_number != (of_part[i] != kNoMessage)) return fmt::format("message {} is or is not numbered", i);
    if (!has_number) continue;
    if (is_matched != (of_part[i] < part.matching.matched)) return fmt::format("message {} is or is not matched", i);
    if (is_matched && !names.Add(NameOf(part, own, of_part[i]), of_whole[i])) {
      return fmt::format("message {} is another one", i);
    }
  }
  return "";
}

std::string CompareOperation(const Matching& whole, std::uint32_t of_whole, const PartMatching& part,
                             std::uint32_t of_part) {
  if (of_whole == kNoCollective || of_part == kNoCollective) return of_whole == of_part ? "" : "is or is not numbered";
  if (part.OfAll(of_part) != of_whole) return "is another one";
  const CollectiveOperation &a = whole.collectives[of_whole], &b = part.matching.collectives[of_part];
  if (a.kind != b.kind || a.participants != b.participants || a.communicator != b.communicator)
    return "is of another kind";
  if (of_part < part.shared_operations && part.Here(of_whole) != of_part) return "is not found";
  return "";
}

std::string CompareRank(const Matching& whole, std::size_t rank, const PartMatching& part, std::size_t own,
                        MessageNames& names) {
  const RankMatching &a = whole.ranks[rank], &b = part.matching.ranks[rank];
  for (const auto list : {&RankMatching::sends, &RankMatching::receives}) {
    const std::string difference = CompareMessages(whole, a.*list, part, b.*list, own, names);
    if (!difference.empty()) return difference;
  }
  if (a.collectives.size() != b.collectives.size() || a.collective_types != b.collective_types) return "collectives";
  for (std::size_t i = 0; i < a.collectives.size(); ++i) {
    const std::string difference = CompareOperation(whole, a.collectives[i], part, b.collectives[i]);
    if (!difference.empty()) return fmt::format("collective {} {}", i, difference);
  }
  if (a.init_call != b.init_call || a.finalize_call != b.finalize_call) return "calls of start and end";
  return CompareOperation(whole, a.init, part, b.init) + CompareOperation(whole, a.finalize, part, b.finalize);
}

}  // namespace

std::vector<std::uint32_t> ShareRanks(std::size_t ranks, std::size_t processes, Sharing sharing, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint32_t> members(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::size_t member = rank % processes;
    if (sharing == Sharing::kBlocks) member = rank * processes / ranks;
    if (sharing == Sharing::kDrawn) member = random() % processes;
    if (sharing == Sharing::kOneHasMost && rank % 8 != 0) member = processes - 1;
    members[rank] = static_cast<std::uint32_t>(member);
  }
  return members;
}

void InParts(const Trace& trace, const std::vector<std::uint32_t>& members, std::size_t processes,
             const std::function<void(const TracePart&, Exchange&)>& body) {
  RunProcesses(processes, [&](Processes& process) {
    std::vector<std::size_t> all(processes);
    std::iota(all.begin(), all.end(), std::size_t{0});
    Exchange exchange(process, all);
    Trace own = trace;
    for (std::size_t rank = 0; rank < own.size(); ++rank) {
      if (members[rank] != exchange.own()) own.timelines[rank] = {};
    }
    body(TracePart{own, members}, exchange);
  });
}

std::string MatchingDifference(const Trace& trace, const Matching& whole, const std::vector<std::uint32_t>& members,
                               const std::vector<PartMatching>& parts) {
  MessageNames names;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const std::string difference = CompareRank(whole, rank, parts[members[rank]], members[rank], names);
    if (!difference.empty()) return fmt::format("rank {}: {}", rank, difference);
  }
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (!parts[i].matching.diagnostics.findings().empty()) return "more than one has diagnostics";
  }
  return parts[0].matching.diagnostics.findings() == whole.diagnostics.findings() ? "" : "diagnostics";
}

ReplayResult ReplayInParts(const Trace& trace, const PhaseCut& cut, const ReplayOptions& options,
                           const std::vector<std::uint32_t>& members, std::size_t processes) {
  std::vector<PartReplayResult> results(processes);
  std::mutex mutex;
  std::set<std::string> errors;
  std::optional<Error> first;
  InParts(trace, members, processes, [&](const TracePart& part, Exchange& exchange) {
    try {
      const PartMatching matching = MatchPart(part, exchange);
      results[exchange.own()] = ReplayPart(part, matching, CutOfPart(part, exchange, cut), options, exchange);
    } catch (const Error& error) {
      const std::lock_guard lock(mutex);
      errors.insert(error.what());
      first = error;
    }
  });
  if (errors.size() > 1) throw Error(ErrorKind::kInput, "processes", "throw different errors");
  if (first) throw Error(*first);
  ReplayResult all = std::move(results[0].replay);
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    if (members[rank] == 0) continue;
    ReplayResult& of = results[members[rank]].replay;
    all.begin[rank] = of.begin[rank];
    all.end[rank] = of.end[rank];
    if (options.keep_calls) all.leave[rank] = std::move(of.leave[rank]);
  }
  return all;
}

}  // namespace farscale::test
