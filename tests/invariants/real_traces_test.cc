// Invariants of docs/formulas.md on every real trace at hand: those in sample-runs/ and those of the shared data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "factors/phase_factors.h"
#include "support/traces.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

// Shares lie below 1 but for clock error, which these traces have little of.
constexpr double kClockError = 1e-6;

std::vector<PhaseSpec> PhasesToTry(const Trace& trace) {
  std::vector<PhaseSpec> phases = {PhaseSpec::WholeRun()};
  for (const RegionSummary& region : SummarizeRegions(trace)) {
    if (region.ranks < trace.size() || phases.size() > 6) continue;
    for (const Span span : {Span::kAuto, Span::kWhole, Span::kEach}) {
      phases.push_back(PhaseSpec::Region(region.name));
      phases.back().span = span;
    }
  }
  return phases;
}

void ExpectInvariants(const Trace& trace, const PhaseCut& cut, const PhaseFactors& factors, const std::string& place) {
  const PhaseTotals& t = factors.totals;
  const FactorValues& v = factors.values;
  const auto product = [&](Factor parent) {
    double result = 1;
    for (const Factor child : ChildrenOf(parent)) result *= *v[child];
    return result;
  };
  for (const Factor parent : {Factor::kParallelEfficiency, Factor::kLoadBalance, Factor::kCommunicationEfficiency}) {
    EXPECT_NEAR(*v[parent], product(parent), 1e-12) << place;
  }
  for (const Factor factor : {Factor::kLoadBalance, Factor::kSerialization, Factor::kTransfer}) {
    EXPECT_GT(*v[factor], 0) << place;
  }
  EXPECT_LE(*v[Factor::kLoadBalance], 1 + 1e-12) << place;
  EXPECT_LE(t.largest_useful, t.ideal_elapsed * (1 + kClockError)) << place;
  const bool flagged = factors.diagnostics.count(Anomaly::kIdealAboveMeasured) > 0;
  EXPECT_EQ(t.ideal_elapsed > t.elapsed, flagged) << place;
  // Useful and MPI time make up the windows, to the tick.
  Tick covered = 0;
  for (const RankCut& rank : cut.ranks) {
    if (!rank.present) continue;
    if (cut.span == Span::kWhole) covered += rank.window.length();
    if (cut.span == Span::kEach) {
      for (const Interval& iteration : rank.iterations) covered += iteration.length();
    }
  }
  EXPECT_NEAR(t.total_useful + t.total_mpi, trace.Seconds(covered), 1e-9 * trace.Seconds(covered)) << place;
}

TEST(RealTraces, Invariants) {
  int traces = 0, phases = 0;
  for (const std::string& path : test::AllTraces()) {
    const Trace trace = ReadTrace(path);
    const Matching matching = MatchTrace(trace);
    for (const PhaseSpec& spec : PhasesToTry(trace)) {
      const PhaseCut cut = CutPhase(trace, spec);
      for (const RuleSet set : {RuleSet::kBsc, RuleSet::kCausal}) {
        FactorOptions options;
        options.rules.set = set;
        const std::string place = path + ", " + spec.name + ", " + ToString(cut.span) + ", " + ToString(set);
        ExpectInvariants(trace, cut, MeasurePhase(trace, matching, cut, options), place);
        ++phases;
      }
    }
    ++traces;
  }
  EXPECT_GT(traces, 8);
  EXPECT_GT(phases, 100);
}

// Every message and collective of the real traces finds its partners.
TEST(RealTraces, EverythingMatches) {
  for (const std::string& path : test::AllTraces()) {
    const Trace trace = ReadTrace(path);
    const Matching matching = MatchTrace(trace);
    EXPECT_EQ(matching.matched, matching.messages) << path;
    EXPECT_EQ(matching.diagnostics.count(Anomaly::kMessageSizeMismatch), 0u) << path;
    EXPECT_EQ(matching.diagnostics.count(Anomaly::kCollectiveMismatch), 0u) << path;
  }
}

TEST(RealTraces, SharedDataIsThere) {
  if (test::SharedTraces().empty()) {
    GTEST_SKIP() << "no traces under " << test::SharedDataFolder() << "; set FARSCALE_SHARED_DATA to test on more";
  }
  EXPECT_GT(test::SharedTraces().size(), 30u);
}

}  // namespace
}  // namespace farscale
