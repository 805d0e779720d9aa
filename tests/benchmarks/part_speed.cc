// Matches a made-up run and replays it on the ideal network, or finds its waits, delay costs, critical path and slack;
// its ranks lie in blocks on the processes of an MPI job, none of which has the calls of others. For
// scripts/measure_parts:
//
//     mpirun -n PROCESSES part_speed replay|losses halo|sweep RANKS ITERATIONS LIBRARY
//
// halo: an exchange with up to six neighbours in three dimensions, then an allreduce; ranks wait for both. sweep: a
// rank of a plane waits for two neighbours and then sends to the two others, an allreduce every tenth time. LIBRARY:
// that of the MPI, libfarscale-processes-*.so; "none" for one process without MPI, which runs the engine of one
// process, too.
//
// Prints, for the first process, "name value" lines; what is sent is the most of any process.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/random.h"
#include "imbalance/diagnosis_steps.h"
#include "imbalance/part_delays.h"
#include "imbalance/part_slack.h"
#include "parallel/exchange.h"
#include "replay/part_matching.h"
#include "replay/part_replay.h"
#include "replay/replay.h"
#include "trace/trace_builder.h"

namespace farscale::bench {
namespace {

// A process that is alone.
class OneProcess : public Processes {
 public:
  std::size_t count() const override { return 1; }
  std::size_t own() const override { return 0; }
  void Send(std::size_t, const std::string&) override {}
  std::string Receive(std::size_t) override { return ""; }
  Message ReceiveAny() override { return {}; }
  void Abort(int code) override { std::_Exit(code); }
};

std::unique_ptr<Processes> Join(const std::string& library) {
  if (library == "none") return std::make_unique<OneProcess>();
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  void* join = handle != nullptr ? dlsym(handle, kJoinJob) : nullptr;
  if (join == nullptr) std::abort();
  std::unique_ptr<Processes> processes(reinterpret_cast<JoinJobFunction>(join)());
  return processes != nullptr ? std::move(processes) : std::make_unique<OneProcess>();
}

// An even grid of three dimensions, or two, the first extent the largest.
std::array<std::int32_t, 3> Dims(std::int32_t ranks, bool is_plane) {
  std::array<std::int32_t, 3> best{ranks, 1, 1};
  for (std::int32_t z = 1; z * z * z <= ranks && (z == 1 || !is_plane); ++z) {
    for (std::int32_t y = z; ranks % z == 0 && y * y * z <= ranks; ++y) {
      if (ranks / z % y == 0) best = {ranks / z / y, y, z};
    }
  }
  return best;
}

struct Functions {
  std::uint32_t irecv, isend, waitall, recv, send, allreduce, world;
};

// Writes the calls of one rank.
class RankWriter {
 public:
  RankWriter(const TraceBuilder& builder, const Functions& functions, std::int32_t rank, std::int32_t ranks)
      : functions_(functions),
        builder_(builder.definitions(), rank),
        ranks_(ranks),
        random_(SeedFor(static_cast<std::uint64_t>(ranks), std::to_string(rank))) {}

  RankBuilder& Halo(int iterations) {
    const std::vector<std::int32_t> peers = Neighbours(Dims(ranks_, false), {-1, 1});
    for (int i = 0; i < iterations; ++i) {
      tick_ += ComputationOf(builder_.rank(), i);
      const std::uint64_t first = request_;
      for (std::size_t k = 0; k < peers.size(); ++k) Call(functions_.irecv, [&] { builder_.ReceivePost(request_++); });
      for (const std::int32_t peer : peers) {
        Call(functions_.isend,
             [&] { builder_.SendPost(static_cast<std::uint32_t>(peer), functions_.world, 0, 20000, request_++); });
      }
      Tick all_sent = 0;
      for (const std::int32_t peer : peers)
        all_sent = std::max(all_sent, kBegin + i * kIteration + ComputationOf(peer, i) + 12 * kCall);
      builder_.Enter(tick_, functions_.waitall);
      for (std::size_t k = 0; k < peers.size(); ++k) {
        builder_.ReceiveComplete(static_cast<std::uint32_t>(peers[k]), functions_.world, 0, 20000, first + k);
      }
      for (std::size_t k = 0; k < peers.size(); ++k) builder_.SendComplete(first + peers.size() + k);
      builder_.Leave(tick_ = std::max(tick_ + kCall, all_sent), functions_.waitall);
      AllReduce(kBegin + (i + 1) * kIteration);
    }
    return builder_;
  }

  RankBuilder& Sweep(int iterations) {
    const std::array<std::int32_t, 3> extents = Dims(ranks_, true);
    const std::vector<std::int32_t> from = Neighbours(extents, {-1}), to = Neighbours(extents, {1});
    for (int i = 0; i < iterations; ++i) {
      for (const std::int32_t peer : from) {
        Call(functions_.recv, [&] { builder_.Receive(static_cast<std::uint32_t>(peer), functions_.world, 0, 8000); });
      }
      tick_ += std::llround(1e5 * std::exp(0.02 * random_.Normal()));
      for (const std::int32_t peer : to) {
        Call(functions_.send, [&] { builder_.Send(static_cast<std::uint32_t>(peer), functions_.world, 0, 8000); });
      }
      if (i % 10 == 9) AllReduce();
    }
    return builder_;
  }

 private:
  std::vector<std::int32_t> Neighbours(const std::array<std::int32_t, 3>& extents,
                                       const std::vector<std::int32_t>& steps) const {
    std::vector<std::int32_t> peers;
    std::int32_t stride = 1;
    for (const std::int32_t extent : extents) {
      const std::int32_t at = builder_.rank() / stride % extent;
      for (const std::int32_t step : steps) {
        if (at + step >= 0 && at + step < extent) peers.push_back(builder_.rank() + step * stride);
      }
      stride *= extent;
    }
    return peers;
  }

  template <typename Records>
  void Call(std::uint32_t function, const Records& records) {
    builder_.Enter(tick_, function);
    records();
    builder_.Leave(tick_ += kCall, function);
  }
  // Until the tick, if it is not over yet.
  void AllReduce(Tick end = 0) {
    builder_.Enter(tick_, functions_.allreduce);
    builder_.Collective(CollectiveKind::kAllreduce, functions_.world, {}, 8, 8);
    builder_.Leave(tick_ = std::max(tick_ + kCall, end), functions_.allreduce);
  }

  Tick ComputationOf(std::int32_t rank, int iteration) const {
    Random random(SeedFor(static_cast<std::uint64_t>(rank), std::to_string(iteration)));
    return std::llround(4e6 * std::exp(0.02 * random.Normal()));
  }

  static constexpr Tick kBegin = 1000, kCall = 500;
  static constexpr Tick kIteration = 5000000;  // longer than the slowest rank takes

  const Functions& functions_;
  RankBuilder builder_;
  std::int32_t ranks_;
  Random random_;
  Tick tick_ = kBegin;
  std::uint64_t request_ = 0;
};

Trace MakeRun(const std::string& pattern, std::int32_t ranks, int iterations, const std::vector<std::uint32_t>& members,
              std::size_t own) {
  TraceBuilder builder;
  Functions functions{};
  functions.irecv = builder.AddRegion("MPI_Irecv");
  functions.isend = builder.AddRegion("MPI_Isend");
  functions.waitall = builder.AddRegion("MPI_Waitall");
  functions.recv = builder.AddRegion("MPI_Recv");
  functions.send = builder.AddRegion("MPI_Send");
  functions.allreduce = builder.AddRegion("MPI_Allreduce");
  functions.world = builder.AddWorld(ranks);
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    if (members[static_cast<std::size_t>(rank)] != own) continue;
    RankWriter writer(builder, functions, rank, ranks);
    builder.SetTimeline(pattern == "sweep" ? writer.Sweep(iterations) : writer.Halo(iterations));
  }
  return std::move(builder).Finish();
}

// The whole run of the ranks here.
PartCut WholeRun(const Trace& trace, const std::vector<std::size_t>& own, Exchange& exchange) {
  PartCut cut;
  cut.cut.ranks.resize(trace.size());
  for (const std::size_t rank : own) {
    const RankTimeline& timeline = trace.timelines[rank];
    cut.cut.ranks[rank].present = true;
    cut.cut.ranks[rank].window = {{timeline.begin(), 0, 0}, EndOf(timeline)};
  }
  cut.origin = exchange.Agree<Tick>(
      cut.cut.begin(), [](Tick& into, Tick other) { into = std::min(into, other); },
      [](Tick earliest) { return earliest; });
  return cut;
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// What was sent in a stage: the most of any process.
struct Stage {
  std::string name;
  std::uint64_t rounds = 0, texts = 0, bytes = 0;
};

// What the processes did: sums, and the most of any.
struct Totals {
  std::uint64_t hash = 0, calls = 0, mebibytes = 0;
  std::vector<Stage> stages;
  double cpu = 0;

  void Add(const Totals& other) {
    hash += other.hash;
    calls += other.calls;
    mebibytes = std::max(mebibytes, other.mebibytes);
    for (std::size_t i = 0; i < stages.size(); ++i) {
      stages[i].texts = std::max(stages[i].texts, other.stages[i].texts);
      stages[i].bytes = std::max(stages[i].bytes, other.stages[i].bytes);
    }
    cpu = std::max(cpu, other.cpu);
  }
};

// Counts what a stage sends from the one before on.
class StageCounter {
 public:
  explicit StageCounter(const Exchange& exchange) : exchange_(exchange), begin_(CpuSeconds()) {}

  void End(const std::string& name, std::uint64_t rounds = 0) {
    totals_.stages.push_back(
        {name, rounds, exchange_.counts().texts - before_.texts, exchange_.counts().bytes - before_.bytes});
    before_ = exchange_.counts();
  }
  Totals Finish() {
    totals_.cpu = CpuSeconds() - begin_;
    return std::move(totals_);
  }

 private:
  const Exchange& exchange_;
  const double begin_;
  ExchangeCounts before_;
  Totals totals_;
};

std::uint64_t HashOf(const ReplayResult& result, const std::vector<std::size_t>& ranks) {
  std::uint64_t hash = 0;
  for (const std::size_t rank : ranks)
    hash += SeedFor(static_cast<std::uint64_t>(result.end[rank]), std::to_string(rank));
  return hash;
}

std::uint64_t PeakMebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) / 1024;
}

std::uint64_t HashOf(std::vector<RankLosses>& losses, const Slack& slack, const std::vector<std::size_t>& ranks) {
  std::uint64_t hash = 0;
  for (const std::size_t rank : ranks) {
    std::optional<Tick> of_rank = slack.of_rank[rank];
    hash += SeedFor(rank, ToBytes(losses[rank], of_rank));
  }
  return hash;
}

Totals ReplayInParts(const TracePart& part, const PartCut& cut, Exchange& exchange) {
  StageCounter counter(exchange);
  const PartMatching matching = MatchPart(part, exchange);
  counter.End("matching");
  const PartReplayResult result = ReplayPart(part, matching, cut, {}, exchange);
  counter.End("replay", result.rounds);
  Totals totals = counter.Finish();
  totals.hash = HashOf(result.replay, part.OwnRanks(exchange));
  return totals;
}

Totals LossesInParts(const TracePart& part, const PartCut& cut, Exchange& exchange) {
  StageCounter counter(exchange);
  const PartMatching matching = MatchPart(part, exchange);
  counter.End("matching");
  const Activities activities = CollectActivities(part.trace, cut, exchange);
  const PhasePart phase{part, matching, activities, exchange};
  const CollectiveWaits collectives = FindPartCollectives(phase);
  const WaitStates states = FindPartWaitStates(phase, collectives);
  counter.End("waits");
  PartDelays delays = FindPartDelays(phase, states, collectives, 1, {});
  counter.End("delays", delays.rounds);
  const PartSlack slack = FindPartSlack(phase, states, collectives);
  counter.End("slack", slack.rounds);
  std::vector<PathSegment> critical;
  for (const NumberedSegment& one : delays.critical) critical.push_back(one.segment);
  std::vector<RankLosses> losses = LossesOfRanks(activities, collectives, states, delays.costs.ranks, critical);
  Totals totals = counter.Finish();
  totals.hash = HashOf(losses, slack.slack, part.OwnRanks(exchange));
  return totals;
}

// By the code of one process.
std::uint64_t HashOfAlone(bool is_replay, const TracePart& part, const PhaseCut& cut, Exchange& exchange) {
  const Trace& trace = part.trace;
  const Matching matching = MatchTrace(trace);
  if (is_replay) return HashOf(Replay(trace, matching, cut, {}), part.OwnRanks(exchange));
  const Activities activities = CollectActivities(trace, cut);
  const CollectiveWaits collectives(trace, matching, activities);
  const WaitStates states = FindWaitStates(trace, matching, activities, collectives);
  DelayCosts costs = FindDelayCosts(activities, states, collectives);
  std::vector<RankLosses> losses =
      LossesOfRanks(activities, collectives, states, costs.ranks, FindCriticalPath(activities, states));
  return HashOf(losses, FindSlack(trace, matching, activities, states, collectives), part.OwnRanks(exchange));
}

int Run(bool is_replay, const std::string& pattern, std::int32_t ranks, int iterations, const std::string& library) {
  const std::unique_ptr<Processes> processes = Join(library);
  std::vector<std::size_t> all(processes->count());
  std::iota(all.begin(), all.end(), std::size_t{0});
  Exchange exchange(*processes, all);
  std::vector<std::uint32_t> members(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < members.size(); ++i) {
    members[i] = static_cast<std::uint32_t>(i * exchange.count() / members.size());
  }
  const Trace trace = MakeRun(pattern, ranks, iterations, members, exchange.own());
  const TracePart part{trace, members};
  const std::vector<std::size_t> own = part.OwnRanks(exchange);
  const PartCut cut = WholeRun(trace, own, exchange);
  Totals totals = is_replay ? ReplayInParts(part, cut, exchange) : LossesInParts(part, cut, exchange);
  totals.mebibytes = PeakMebibytes();
  for (const std::size_t rank : own) totals.calls += trace.timelines[rank].calls();
  totals = exchange.Agree<Totals>(
      totals, [](Totals& into, const Totals& other) { into.Add(other); }, [](const Totals& sum) { return sum; });
  if (!exchange.IsFirst()) return 0;
  fmt::print("processes {}\nhash {}\ncalls {}\ncpu {:.3f}\nmebibytes {}\n", exchange.count(), totals.hash, totals.calls,
             totals.cpu, totals.mebibytes);
  for (const Stage& stage : totals.stages)
    fmt::print("{0}Rounds {1}\n{0}Texts {2}\n{0}Bytes {3}\n", stage.name, stage.rounds, stage.texts, stage.bytes);
  if (exchange.count() > 1) return 0;
  const double before = CpuSeconds();
  const std::uint64_t alone = HashOfAlone(is_replay, part, cut.cut, exchange);
  fmt::print("aloneHash {}\naloneCpu {:.3f}\n", alone, CpuSeconds() - before);
  return 0;
}

}  // namespace
}  // namespace farscale::bench

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  return farscale::bench::Run(argv[1] == std::string("replay"), argv[2], std::atoi(argv[3]), std::atoi(argv[4]),
                              argv[5]);
}
