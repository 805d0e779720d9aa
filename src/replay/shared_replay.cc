#include "replay/shared_replay.h"

#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "replay/part_program.h"
#include "replay/part_replay.h"

namespace farscale {
namespace {

constexpr std::string_view kReplayRanks = "replay ranks";

// What another process does next.
struct PartCommand {
  bool ends = true;
  std::string task, request;  // none: a replay
  std::string phase;
  Tick origin = 0;  // the earliest begin of a window
  ReplayRules rules;
  bool keep_calls = false;
};

// Blocks of ranks with about as many calls and records each: ranks near each other have most to do with each other.
std::vector<std::uint32_t> ShareBlocks(const Trace& trace, std::size_t processes) {
  std::vector<std::uint64_t> work;
  std::uint64_t all = 0;
  for (const RankTimeline& timeline : trace.timelines)
    all += work.emplace_back(timeline.calls() + timeline.records() + 1);
  std::vector<std::uint32_t> members;
  std::uint64_t before = 0;
  for (const std::uint64_t of_rank : work) {
    members.push_back(static_cast<std::uint32_t>((before + of_rank / 2) * processes / all));
    before += of_rank;
  }
  return members;
}

// What matching and replays need of a trace beside its timelines. Bytes only read the values that they are made of.
template <typename Bytes>
void TransferDefinitions(Bytes& bytes, Trace& trace) {
  bytes.Transfer(trace.path);
  bytes.Transfer(trace.ticks_per_second);
  bytes.Transfer(trace.nodes);
  bytes.Transfer(trace.ranks);
  bytes.Transfer(trace.regions);
  bytes.Transfer(trace.communicators);
  bytes.Transfer(trace.diagnostics);
}

// Runs what others wait for. All processes throw the same errors; what else may happen to one, the others cannot know.
template <typename Body>
auto WithOthers(const Body& body) {
  try {
    return body();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    EndJob("out of memory; use more nodes, or fewer processes on each");
    throw;
  } catch (const std::exception& error) {
    EndJob(std::string("internal error: ") + error.what() + "; please report it");
    throw;
  }
}

PartReplayResult ReplayOwn(const TracePart& part, const PartMatching& matching, PartCut cut, const PartCommand& command,
                           Exchange& exchange) {
  cut.cut.spec.name = command.phase;
  cut.origin = command.origin;
  return ReplayPart(part, matching, cut, {command.rules, command.keep_calls}, exchange);
}

// Windows of some ranks, without iterations.
std::vector<RankCut> WindowsOf(const PhaseCut& cut, const std::vector<std::size_t>& ranks) {
  std::vector<RankCut> windows;
  for (const std::size_t rank : ranks) windows.push_back({cut.ranks[rank].present, cut.ranks[rank].window, {}});
  return windows;
}

PartCut CutOf(const TracePart& part, const std::vector<std::size_t>& ranks, const std::vector<RankCut>& windows) {
  PartCut cut;
  cut.cut.ranks.resize(part.trace.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) cut.cut.ranks[ranks[i]] = windows[i];
  return cut;
}

template <typename Bytes>
void TransferTimes(Bytes& bytes, ReplayResult& result, std::size_t rank, bool keep_calls) {
  bytes.Transfer(result.begin[rank]);
  bytes.Transfer(result.end[rank]);
  if (keep_calls) bytes.Transfer(result.leave[rank]);
}

// Ranks here, in the windows that the first process sends, and back to it what became of them.
void ReplayForFirst(const TracePart& part, const PartMatching& matching, const PartCommand& command,
                    Exchange& exchange) {
  std::vector<RankCut> windows;
  FromBytes(exchange.Swap({0}, {""})[0], windows);
  const std::vector<std::size_t> own = part.OwnRanks(exchange);
  ReplayResult result = ReplayOwn(part, matching, CutOf(part, own, windows), command, exchange).replay;
  ByteWriter writer;
  for (const std::size_t rank : own) TransferTimes(writer, result, rank, command.keep_calls);
  exchange.Swap({0}, {writer.Take()});
}

void RunTask(const std::vector<SharedTask>& tasks, const TracePart& part, const PartMatching& matching,
             const PartCommand& command, Exchange& exchange) {
  PartCut cut;
  FromBytes(exchange.Swap({0}, {""})[0], cut);
  std::ranges::find(tasks, command.task, &SharedTask::name)->run(part, matching, cut, command.request, exchange);
}

void ServeFirst(const std::vector<SharedTask>& tasks, const std::vector<std::uint32_t>& members, Exchange& exchange) {
  Trace trace;
  {
    const std::string text = exchange.Swap({0}, {""})[0];
    ByteReader reader(text);
    TransferDefinitions(reader, trace);
    trace.timelines.resize(trace.ranks.size());
    for (std::size_t rank = 0; rank < members.size(); ++rank) {
      if (members[rank] == exchange.own()) reader.Transfer(trace.timelines[rank]);
    }
  }
  const TracePart part{trace, members};
  std::optional<PartMatching> matching;
  // Errors are those of all, and the first process tells of them.
  try {
    matching = MatchPart(part, exchange);
  } catch (const Error&) {
  }
  for (;;) {
    const auto command = exchange.FromFirst<PartCommand>({});
    if (command.ends) return;
    try {
      if (command.task.empty()) {
        ReplayForFirst(part, *matching, command, exchange);
      } else {
        RunTask(tasks, part, *matching, command, exchange);
      }
    } catch (const Error&) {
    }
  }
}

std::string ReplayForOther(const std::vector<SharedTask>& tasks, std::string_view text) {
  std::vector<std::size_t> processes;
  std::vector<std::uint32_t> members;
  FromBytes(text, processes, members);
  Exchange exchange = ExchangeAmong(processes);
  WithOthers([&] { ServeFirst(tasks, members, exchange); });
  return "";
}

}  // namespace

Service ReplayService(std::vector<SharedTask> tasks) {
  return {kReplayRanks, [tasks = std::move(tasks)](std::string_view text) { return ReplayForOther(tasks, text); }};
}

std::unique_ptr<SharedReplay> SharedReplay::Begin(const Trace& trace) {
  auto helpers = std::make_unique<Helpers>();
  if (helpers->empty() || trace.size() < 2) return nullptr;
  return std::unique_ptr<SharedReplay>(new SharedReplay(trace, std::move(helpers)));
}

SharedReplay::SharedReplay(const Trace& trace, std::unique_ptr<Helpers> helpers)
    : helpers_(std::move(helpers)), part_{trace, ShareBlocks(trace, helpers_->processes().size() + 1)} {
  ranks_.resize(helpers_->processes().size() + 1);
  for (std::size_t rank = 0; rank < trace.size(); ++rank) ranks_[part_.members[rank]].push_back(rank);
  std::vector<std::size_t> processes = {OwnProcess()};
  processes.insert(processes.end(), helpers_->processes().begin(), helpers_->processes().end());
  exchange_ = std::make_unique<Exchange>(ExchangeAmong(processes));
  for (const std::size_t helper : helpers_->processes()) {
    helpers_->Ask(helper, kReplayRanks, ToBytes(processes, part_.members));
  }
  WithOthers([&] {
    auto& source = const_cast<Trace&>(trace);
    for (const std::size_t other : exchange_->Others()) {
      ByteWriter writer;
      TransferDefinitions(writer, source);
      for (const std::size_t rank : ranks_[other]) writer.Transfer(source.timelines[rank]);
      exchange_->Swap({other}, {writer.Take()});
    }
  });
}

SharedReplay::~SharedReplay() { exchange_->FromFirst<PartCommand>({}); }

Matching SharedReplay::Match() {
  WithOthers([&] { matching_ = MatchPart(part_, *exchange_); });
  Matching matching;
  matching.diagnostics = std::exchange(matching_.matching.diagnostics, {});
  matching.shared = this;
  return matching;
}

ReplayResult SharedReplay::Replay(const PhaseCut& cut, const ReplayOptions& options) {
  return WithOthers([&] {
    const PartCommand command = exchange_->FromFirst<PartCommand>(
        {false, "", "", cut.spec.name, cut.begin(), options.rules, options.keep_calls});
    std::vector<std::string> texts;
    for (const std::size_t other : exchange_->Others()) {
      std::vector<RankCut> windows = WindowsOf(cut, ranks_[other]);
      texts.push_back(ToBytes(windows));
    }
    exchange_->Swap(exchange_->Others(), std::move(texts));
    ReplayResult result =
        ReplayOwn(part_, matching_, CutOf(part_, ranks_[0], WindowsOf(cut, ranks_[0])), command, *exchange_).replay;
    for (const std::size_t other : exchange_->Others()) {
      const std::string text = exchange_->Swap({other}, {""})[0];
      ByteReader reader(text);
      for (const std::size_t rank : ranks_[other]) TransferTimes(reader, result, rank, options.keep_calls);
    }
    return result;
  });
}

void SharedReplay::Run(std::string_view task, const PhaseCut& cut, const std::string& request, const OwnShare& own) {
  WithOthers([&] {
    exchange_->FromFirst<PartCommand>({false, std::string(task), request, cut.spec.name, cut.begin(), {}, false});
    std::vector<std::string> texts;
    for (const std::size_t other : exchange_->Others()) {
      PartCut of_other = CutOfMember(part_, other, cut);
      texts.push_back(ToBytes(of_other));
    }
    exchange_->Swap(exchange_->Others(), std::move(texts));
    own(part_, matching_, CutOfMember(part_, exchange_->own(), cut), *exchange_);
  });
}

}  // namespace farscale
