// Paraver traces say the same as those they were written from, and give the factors that others published.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <filesystem>
#include <sstream>
#include <tuple>

#include "base/files.h"
#include "base/text.h"
#include "factors/factor_table.h"
#include "factors/phase_factors.h"
#include "factors/useful_time.h"
#include "replay/replayed_trace.h"
#include "replay/replay.h"
#include "support/paraver_writer.h"
#include "support/random_program.h"
#include "support/same_trace.h"
#include "support/temporary_folder.h"
#include "support/traces.h"
#include "support/repeats.h"
#include "trace/anomalies.h"
#include "trace/trace.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

const std::uint64_t kParaverPrograms = test::Repeats(300);

test::RandomProgramOptions OptionsFor(std::uint64_t seed) {
  test::RandomProgramOptions options = test::VariedOptions(seed);
  options.counters = true;
  return options;
}

// Sender and receiver, the calls that post and complete, and the size.
using Message = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t, std::size_t, std::uint64_t>;
// Rank, call, kind, members, root, and what was sent and received.
using Collective = std::tuple<std::size_t, std::size_t, CollectiveKind, std::vector<std::int32_t>, std::int32_t,
                              std::uint64_t, std::uint64_t>;

struct Communication {
  std::vector<Message> messages;
  std::vector<Collective> collectives;
};

struct Place {
  std::size_t rank = 0, post = 0, complete = 0;
  std::uint64_t bytes = 0;
};

Communication CommunicationOf(const Trace& trace, const Matching& matching) {
  Communication result;
  std::vector<Place> sends(matching.messages), receives(matching.messages);
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    Posts posts;
    for (std::size_t call = 0; call < timeline.calls(); ++call) {
      for (std::size_t i = timeline.first_record(call); i < timeline.first_record(call + 1); ++i) {
        const RankTimeline::Record record = timeline.record(i);
        const OperationPart operation = posts.Next(timeline, i);
        if (operation.type == OperationClass::kCollective) {
          const CollectiveType& type = timeline.collective_types()[record.target];
          const Communicator& communicator = trace.communicators[type.communicator];
          if (communicator.is_self || communicator.members.size() == 1) continue;
          result.collectives.emplace_back(rank, call, type.kind, communicator.members, type.root, record.bytes,
                                          record.received);
          continue;
        }
        const bool is_send = operation.type == OperationClass::kSend;
        const RankMatching& own = matching.ranks[rank];
        const std::uint32_t message = is_send ? own.sends[operation.ordinal] : own.receives[operation.ordinal];
        if (message >= matching.matched) continue;
        Place& place = is_send ? sends[message] : receives[message];
        const bool is_post = record.kind != RecordKind::kSendComplete && record.kind != RecordKind::kReceiveComplete;
        const bool completes = record.kind == RecordKind::kReceive || record.kind == RecordKind::kReceiveComplete;
        place.rank = rank;
        if (is_post) place.post = call;
        if (is_post && is_send) place.bytes = record.bytes;
        if (completes) place.complete = call;
      }
    }
  }
  for (std::uint32_t i = 0; i < matching.matched; ++i) {
    result.messages.emplace_back(sends[i].rank, sends[i].post, receives[i].rank, receives[i].post, receives[i].complete,
                                 sends[i].bytes);
  }
  std::sort(result.messages.begin(), result.messages.end());
  return result;
}

void ExpectSameCounters(const Trace& a, const Trace& b, std::size_t rank) {
  const RankTimeline &x = a.timelines[rank], &y = b.timelines[rank];
  for (std::size_t i = 0; i < a.counters.size(); ++i) {
    const auto other = b.FindCounter(a.counters[i].name);
    ASSERT_TRUE(other.has_value());
    ASSERT_TRUE(y.counter_is_reliable(*other));
    const std::int64_t zero = x.raw_counter_at_enter(i, 0);
    for (std::size_t call = 0; call < x.calls(); ++call) {
      ASSERT_EQ(x.raw_counter_at_enter(i, call) - zero, y.raw_counter_at_enter(*other, call));
      ASSERT_EQ(x.raw_counter_at_leave(i, call) - zero, y.raw_counter_at_leave(*other, call));
    }
  }
}

// Ticks of a Paraver trace begin at zero.
void ExpectSame(const Trace& a, const Trace& b) {
  ASSERT_EQ(a.size(), b.size());
  ASSERT_EQ(a.end() - a.begin(), b.end() - b.begin());
  const PhaseCut cut_a = CutPhase(a, PhaseSpec::WholeRun()), cut_b = CutPhase(b, PhaseSpec::WholeRun());
  for (std::size_t rank = 0; rank < a.size(); ++rank) {
    const RankTimeline &x = a.timelines[rank], &y = b.timelines[rank];
    ASSERT_EQ(x.calls(), y.calls()) << "rank " << rank;
    for (std::size_t call = 0; call < x.calls(); ++call) {
      ASSERT_EQ(x.enter(call) - a.begin(), y.enter(call)) << "rank " << rank << ", call " << call;
      ASSERT_EQ(x.leave(call) - a.begin(), y.leave(call)) << "rank " << rank << ", call " << call;
      ASSERT_EQ(a.regions[x.region(call)].name, b.regions[y.region(call)].name) << "rank " << rank;
    }
    ASSERT_EQ(UsefulTicks(x, cut_a.ranks[rank].window), UsefulTicks(y, cut_b.ranks[rank].window)) << "rank " << rank;
    ASSERT_TRUE(y.pauses().empty());
    // One more region is around all of it.
    ASSERT_EQ(x.region_events() + 2, y.region_events());
    for (std::size_t i = 0; i < x.region_events(); ++i) {
      const auto event = x.region_event(i), other = y.region_event(i + 1);
      ASSERT_EQ(std::tuple(event.tick - a.begin(), a.regions[event.region].name, event.is_leave, event.call),
                std::tuple(other.tick, b.regions[other.region].name, other.is_leave, other.call));
    }
    ExpectSameCounters(a, b, rank);
  }
  const Matching matching_a = MatchTrace(a), matching_b = MatchTrace(b);
  ASSERT_EQ(matching_b.matched, matching_b.messages);
  const Communication says_a = CommunicationOf(a, matching_a), says_b = CommunicationOf(b, matching_b);
  ASSERT_EQ(says_a.messages, says_b.messages);
  ASSERT_EQ(says_a.collectives, says_b.collectives);
  const ReplayOptions rules = {{RuleSet::kBsc, 32768}, false};
  ASSERT_EQ(Replay(a, matching_a, cut_a, rules).end, Replay(b, matching_b, cut_b, rules).end);
}

TEST(ParaverProperty, SaysTheSameAsTheProgram) {
  for (std::uint64_t seed = 0; seed < kParaverPrograms; ++seed) {
    SCOPED_TRACE(seed);
    const test::TemporaryFolder folder;
    const Trace trace = test::MakeRandomProgram(seed, OptionsFor(seed));
    test::ParaverOptions options;
    options.split_counters = seed % 2 == 0;
    options.compress = seed % 4 == 1;
    options.crlf = seed % 7 == 3;
    const Trace read = ReadTrace(test::WriteParaver(trace, MatchTrace(trace), folder.path(), "t", options));
    ExpectSame(trace, read);
    for (const Finding& finding : read.diagnostics.findings()) {
      EXPECT_EQ(finding.id, anomaly::kCompletionUnknown.id) << finding.example;
    }
    if (HasFatalFailure()) return;
  }
}

TEST(ParaverProperty, DoesNotDependOnTheOrderOfRecords) {
  for (std::uint64_t seed = 0; seed < kParaverPrograms; ++seed) {
    const test::TemporaryFolder folder;
    const Trace trace = test::MakeRandomProgram(seed, OptionsFor(seed));
    const Matching matching = MatchTrace(trace);
    test::ParaverOptions options;
    const Trace in_order = ReadTrace(test::WriteParaver(trace, matching, folder.path(), "a", options));
    options.shuffle_by = static_cast<int>(seed);
    options.compress = true;
    const Trace shuffled = ReadTrace(test::WriteParaver(trace, matching, folder.path(), "b", options));
    ASSERT_EQ(test::Difference(in_order, shuffled), "") << "seed " << seed;
  }
}

TEST(ParaverProperty, DoesNotDependOnThreads) {
  test::RandomProgramOptions options;
  options.ranks = 24;
  options.steps = 5000;  // some blocks of text
  options.counters = true;
  const Trace trace = test::MakeRandomProgram(1, options);
  const Matching matching = MatchTrace(trace);
  for (const bool shuffle : {false, true}) {
    const test::TemporaryFolder folder;
    test::ParaverOptions write;
    if (shuffle) write.shuffle_by = 1;
    const std::string path = test::WriteParaver(trace, matching, folder.path(), "t", write);
    EXPECT_GT(std::filesystem::file_size(path), std::size_t{1} << 22);
    std::vector<Trace> traces;
    for (const std::size_t threads : {1u, 2u, 5u}) {
      const tbb::global_control control(tbb::global_control::max_allowed_parallelism, threads);
      traces.push_back(ReadTrace(path));
    }
    EXPECT_EQ(test::Difference(traces[0], traces[1]), "");
    EXPECT_EQ(test::Difference(traces[0], traces[2]), "");
    ExpectSame(trace, traces[0]);
  }
}

// Without names, numbers of Extrae's and PAPI's still tell functions and counters.
TEST(ParaverProperty, WithoutNames) {
  for (const char* unit : {"_ns", "_us", "", "_ms"}) {
    const test::TemporaryFolder folder;
    test::RandomProgramOptions program;
    program.regions = false;
    program.counters = true;
    const Trace trace = test::MakeRandomProgram(3, program);
    test::ParaverOptions options;
    options.unit = unit;
    options.with_names = options.with_rows = false;
    const Trace read = ReadTrace(test::WriteParaver(trace, MatchTrace(trace), folder.path(), "t", options));
    ExpectSame(trace, read);
    EXPECT_EQ(read.ticks_per_second, std::string(unit) == "_ns" ? 1e9 : std::string(unit) == "_ms" ? 1e3 : 1e6);
  }
}

PhaseFactors FactorsOf(const Trace& trace) {
  return MeasurePhase(trace, MatchTrace(trace), CutPhase(trace, PhaseSpec::WholeRun()), {{RuleSet::kBsc, 32768}, {}});
}

TEST(ParaverRealTraces, KeepTheirFactors) {
  constexpr std::size_t kMostRanks = 600;
  constexpr std::uint64_t kMostEvents = 4'000'000;
  int compared = 0;
  for (const std::string& path : test::TracesToTry()) {
    const test::TemporaryFolder folder;
    const Trace trace = ReadTrace(path);
    if (trace.size() > kMostRanks || trace.events > kMostEvents) continue;
    if (std::ranges::any_of(trace.regions, &Region::is_device_runtime)) continue;  // not in the texts of tests
    const Trace read = ReadTrace(test::WriteParaver(trace, MatchTrace(trace), folder.path(), "t"));
    const PhaseFactors before = FactorsOf(trace), after = FactorsOf(read);
    for (const Factor factor : {Factor::kLoadBalance, Factor::kCommunicationEfficiency, Factor::kSerialization,
                                Factor::kTransfer, Factor::kParallelEfficiency}) {
      EXPECT_NEAR(*before.values[factor], *after.values[factor], 1e-9) << path << ", " << Describe(factor).id;
    }
    ++compared;
  }
  EXPECT_GT(compared, 8);
}

class Epoch : public testing::Test {
 protected:
  static constexpr int kRuns[] = {1, 2, 4, 8, 16};

  Epoch() : folder_(test::SharedDataFolder() + "/traces/others/epoch") {}

  bool IsThere() const { return std::filesystem::exists(folder_ / "published-factors.csv"); }
  Trace ReadRun(int tasks) const {
    const std::string n = std::to_string(tasks);
    return ReadTrace((folder_ / n / ("epoch_" + n + "proc.prv.gz")).string());
  }
  // By the name of the row, one a run.
  std::map<std::string, std::vector<double>> Published() const {
    std::map<std::string, std::vector<double>> rows;
    for (const std::string& line : Split(ReadFile(folder_ / "published-factors.csv"), '\n')) {
      const std::vector<std::string> fields = Split(line, ';');
      for (std::size_t i = 1; i < fields.size(); ++i) rows[fields[0]].push_back(std::stod(fields[i]));
    }
    return rows;
  }

  std::filesystem::path folder_;
};

TEST_F(Epoch, GivesThePublishedFactors) {
  if (!IsThere()) GTEST_SKIP() << "no " << folder_ << "; set FARSCALE_SHARED_DATA";
  const auto published = Published();
  FactorTable table;
  for (const int tasks : kRuns) {
    const PhaseFactors factors = FactorsOf(ReadRun(tasks));
    FactorRow& row = table.rows.emplace_back();
    row.cores = row.ranks = tasks;
    row.runtime = factors.totals.elapsed;
    row.values = factors.values;
    row.totals = factors.totals;
  }
  table.scaling = Scaling::kStrong;
  CompleteTable(table);
  const std::vector<std::pair<Factor, const char*>> names = {
      {Factor::kGlobalEfficiency, "Global efficiency"},
      {Factor::kParallelEfficiency, "Parallel efficiency"},
      {Factor::kLoadBalance, "Load balance"},
      {Factor::kCommunicationEfficiency, "Communication efficiency"},
      {Factor::kSerialization, "Serialization efficiency"},
      {Factor::kTransfer, "Transfer efficiency"},
      {Factor::kComputationScalability, "Computation scalability"},
      {Factor::kIpcScaling, "IPC scalability"},
      {Factor::kInstructionScaling, "Instruction scalability"},
      {Factor::kFrequencyScaling, "Frequency scalability"}};
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    for (const auto& [factor, name] : names) {
      EXPECT_NEAR(*table.rows[i].values[factor], published.at(name)[i] / 100, 1e-4) << name << ", run " << i;
    }
    const PhaseTotals& totals = *table.rows[i].totals;
    const auto expect_microseconds = [&](double seconds, const char* name) {
      EXPECT_NEAR(1e6 * seconds, published.at(name)[i], 0.5) << name << ", run " << i;
    };
    expect_microseconds(totals.elapsed, "#Runtime (us)");
    expect_microseconds(totals.ideal_elapsed, "#Runtime (ideal)");
    expect_microseconds(totals.average_useful, "#Useful duration (average)");
    expect_microseconds(totals.largest_useful, "#Useful duration (maximum)");
    expect_microseconds(totals.largest_computation, "#Useful duration (ideal, max)");
    EXPECT_EQ(*totals.instructions, published.at("#Useful instructions (total)")[i]);
    EXPECT_EQ(*totals.cycles, published.at("#Useful cycles (total)")[i]);
  }
}

TEST_F(Epoch, KeepsItsFactorsAsOtf2) {
  if (!IsThere()) GTEST_SKIP() << "no " << folder_ << "; set FARSCALE_SHARED_DATA";
  for (const int tasks : kRuns) {
    const test::TemporaryFolder folder;
    const Trace trace = ReadRun(tasks);
    const Matching matching = MatchTrace(trace);
    WriteOtf2(CutTrace(trace, matching, CutPhase(trace, PhaseSpec::WholeRun())), folder / "cut.otf2");
    const PhaseFactors before = FactorsOf(trace), after = FactorsOf(ReadTrace((folder / "cut.otf2").string()));
    EXPECT_EQ(before.totals, after.totals) << tasks;
    EXPECT_EQ(before.values, after.values) << tasks;
  }
}

}  // namespace
}  // namespace farscale
