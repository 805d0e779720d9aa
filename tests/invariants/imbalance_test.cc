// What holds for wait states, delay costs and critical paths of every program [docs/formulas.md, imbalance].
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "factors/phase_factors.h"
#include "imbalance/diagnosis.h"
#include "imbalance/loss_record.h"
#include "imbalance/loss_remedy.h"
#include "phases/phase_cut.h"
#include "replay/replay.h"
#include "results/cause_text.h"
#include "support/faulty_program.h"
#include "support/hybrid_program.h"
#include "support/random_program.h"
#include "support/traces.h"
#include "support/repeats.h"
#include "trace/location_trace.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

const std::uint64_t kLossPrograms = test::Repeats(1000);

// Differences of sums over that many seconds, which are rounded.
double Tolerance(double seconds) { return 1e-9 * (seconds + 1e-9); }

void ExpectTiles(const Diagnosis& diagnosis) {
  double longest = 0;
  for (const RankLosses& rank : diagnosis.ranks) {
    if (!rank.present) continue;
    double time = 0;
    for (std::size_t i = 0; i < rank.paths.size(); ++i) {
      const PathLosses& losses = rank.losses[i];
      time += diagnosis.IsOutside(rank.paths[i]) ? 0 : losses.time;
      EXPECT_LE(losses.Waiting(), losses.time + Tolerance(losses.time));
      EXPECT_GE(losses.indirect, 0);
      EXPECT_LE(losses.indirect, losses.Waiting() + Tolerance(losses.time));
      EXPECT_GE(losses.propagating, 0);
      EXPECT_LE(losses.propagating, losses.Waiting() + Tolerance(losses.time));
    }
    longest = std::max(longest, time);
    if (!diagnosis.recurs) {
      EXPECT_NEAR(time, diagnosis.window, Tolerance(diagnosis.window));
    }
  }
  const double length = diagnosis.recurs ? diagnosis.length : diagnosis.window;
  EXPECT_NEAR(longest, length, Tolerance(length));
  EXPECT_LE(longest, diagnosis.length + Tolerance(length));  // a run goes on after MPI_Finalize
}

// Costs add up to the waiting time, in all and by kind; direct waits are what short-term costs charge.
void ExpectConservation(const Diagnosis& diagnosis) {
  PathLosses sum;
  for (PathId path = 0; path < diagnosis.totals.size(); ++path) {
    PathLosses total = diagnosis.totals[path];
    const bool is_end = path == kAfterPhase && diagnosis.at_end > 0;
    if (diagnosis.IsOutside(path) || is_end) total.waiting = {};  // charged to nobody
    sum += total;
  }
  double unattributed = 0, costs = 0;
  for (std::size_t kind = 0; kind < kWaitKinds; ++kind) {
    const double of_kind = sum.short_term[kind] + sum.long_term[kind] + sum.exit_skew[kind];
    EXPECT_NEAR(of_kind + diagnosis.unattributed[kind], sum.waiting[kind],
                1e-9 * (1e-9 + sum.Waiting() + sum.LongTerm() + sum.ExitSkew()))
        << WaitKindNames()[kind].id;
    EXPECT_EQ(diagnosis.unattributed[kind], 0);  // who waits for another met it, or both begin with the phase
    unattributed += diagnosis.unattributed[kind];
    costs += of_kind;
    EXPECT_EQ(diagnosis.lost[kind], 0);
  }
  EXPECT_NEAR(costs + unattributed, sum.Waiting(), Tolerance(sum.Waiting()));
  if (sum.ExitSkew() == 0 && diagnosis.totals[kBetweenOccurrences].Waiting() == 0) {
    EXPECT_NEAR(sum.ShortTerm(), sum.Waiting() - sum.indirect, Tolerance(sum.Waiting()));
  }
}

void ExpectCriticalPath(const Diagnosis& diagnosis, const Trace& trace) {
  // Of phases that recur, what lies between their occurrences is part of all this.
  double critical = 0, imbalance = 0, impact = 0, costs = 0, waiting = 0;
  for (std::size_t path = 0; path < diagnosis.totals.size(); ++path) {
    const PathLosses& total = diagnosis.totals[path];
    critical += total.critical;
    imbalance += diagnosis.imbalance[path];
    costs += total.intra + total.inter;
    waiting += total.Waiting();
    impact += total.Execution() + total.intra + total.inter;
  }
  const double allocation = diagnosis.window * static_cast<double>(diagnosis.processes);
  EXPECT_NEAR(critical, diagnosis.window, Tolerance(diagnosis.window));
  if (!diagnosis.recurs) {
    EXPECT_NEAR(costs, waiting, Tolerance(allocation));
    EXPECT_NEAR(impact, allocation, Tolerance(allocation));
  }
  EXPECT_GE(imbalance, waiting / static_cast<double>(diagnosis.processes) - Tolerance(diagnosis.window));
  for (std::size_t i = 0; i < diagnosis.critical.size(); ++i) {
    const PathSegment& segment = diagnosis.critical[i];
    EXPECT_LE(segment.begin, segment.end);
    if (i > 0) {
      EXPECT_EQ(segment.begin, diagnosis.critical[i - 1].end);
    }
  }
  EXPECT_NEAR(trace.Seconds(diagnosis.critical.back().end - diagnosis.critical.front().begin), diagnosis.window,
              Tolerance(diagnosis.window));
}

// What is on the critical path has no slack at all, and nothing else is less than nothing.
void ExpectSlack(const Diagnosis& diagnosis) {
  for (std::size_t path = 0; path < diagnosis.totals.size(); ++path) {
    const PathLosses& total = diagnosis.totals[path];
    EXPECT_EQ(diagnosis.slack[path].has_value(), total.Execution() > 0);
    EXPECT_GE(diagnosis.slack[path].value_or(0), 0);
    if (total.critical > 0) {
      EXPECT_EQ(diagnosis.slack[path], 0);
      EXPECT_GE(total.nearly_critical, total.critical - Tolerance(diagnosis.window));
    }
    EXPECT_LE(total.nearly_critical, total.Execution() + Tolerance(total.time));
  }
  for (const PathSegment& segment : diagnosis.critical) {
    if (segment.begin == segment.end) continue;
    EXPECT_EQ(diagnosis.ranks[segment.rank].slack, 0);
  }
}

void ExpectInvariants(const Trace& trace, const PhaseCut& cut) {
  const Diagnosis diagnosis = Diagnose(trace, MatchTrace(trace), cut);
  ExpectTiles(diagnosis);
  ExpectConservation(diagnosis);
  ExpectCriticalPath(diagnosis, trace);
  ExpectSlack(diagnosis);
}

// Losses by load balance and by serialization, over all paths.
std::pair<double, double> SumLosses(const FactorLosses& losses) {
  std::pair<double, double> sums;
  for (const PathFactorLoss& loss : losses) {
    sums.first += loss.load_balance;
    sums.second += loss.serialization;
  }
  return sums;
}

double UsefulTime(const Trace& trace, const PhaseCut& cut, std::size_t rank) {
  const Interval& window = cut.ranks[rank].window;
  const RankTimeline& timeline = trace.timelines[rank];
  Tick useful = window.length();
  for (std::size_t call = window.begin.call; call < window.end.call; ++call)
    useful -= std::min(timeline.leave(call), window.end.tick) - std::max(timeline.enter(call), window.begin.tick);
  return trace.Seconds(useful);
}

// Messages take a tick where losses are split by factor, and none in the factors.
void ExpectLossesOfFactors(const Trace& trace, const PhaseCut& cut) {
  const Matching matching = MatchTrace(trace);
  const auto [load_balance, serialization] = SumLosses(SplitByFactor(trace, matching, cut, {}));
  double useful = 0;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) useful += UsefulTime(trace, cut, rank);
  if (useful <= 0) return;  // without computation there are no factors
  // Nor where all computation is that of devices.
  if (std::ranges::any_of(trace.regions, &Region::is_device_runtime)) return;
  const PhaseTotals totals = MeasurePhase(trace, matching, cut, FactorOptions()).totals;
  EXPECT_NEAR(Diagnose(trace, matching, cut).length, totals.elapsed, Tolerance(totals.elapsed));
  EXPECT_NEAR(load_balance, totals.largest_useful - totals.average_useful, 0.002 * totals.elapsed);
  EXPECT_NEAR(serialization, totals.ideal_elapsed - totals.largest_useful, 0.002 * totals.elapsed);
}

PhaseSpec Window(const Trace& trace, double begin, double length) {
  PhaseSpec window;
  window.name = "window";
  window.kind = PhaseSpec::Kind::kTimeWindow;
  const double run = trace.Seconds(trace.end() - trace.begin());
  window.window_begin = run * begin;
  window.window_end = run * std::min(1.0, begin + length);
  return window;
}

TEST(ImbalanceProperty, HoldsOnRandomPrograms) {
  for (std::uint64_t seed = 0; seed < kLossPrograms; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Trace trace = test::MakeRandomProgram(seed, test::VariedOptions(seed));
    ExpectInvariants(trace, CutPhase(trace, PhaseSpec::WholeRun()));
    if (HasFailure()) return;
  }
}

// All that a page says is to be done against what computation costs.
std::vector<std::string> RemediesOf(const LossRecord& losses) {
  std::vector<std::string> texts;
  for (const Cause& cause : losses.causes) texts.push_back(RemedyOf(cause, losses));
  texts.push_back(TextOf(RemedyForAll(losses)));
  for (const PathRecord& path : losses.paths) texts.push_back(TextOf(RemedyForPath(losses, path)));
  return texts;
}

// Whether what the table says against the loss of a path, or of all computation, is what its first cause asks for.
void ExpectAgreement(const LossRecord& losses, const std::string& path, const Remedy& remedy) {
  for (const Cause& cause : losses.causes) {
    if (!cause.in_everything && !path.empty() && cause.path != path) continue;
    const Approach wanted = ApproachOf(cause), said = ApproachOf(remedy);
    EXPECT_TRUE(wanted == Approach::kOther || said == Approach::kOther || wanted == said) << path;
    return;
  }
}

bool Says(const std::vector<std::string>& texts, std::initializer_list<const char*> phrases) {
  return std::ranges::any_of(texts, [&](const std::string& text) {
    return std::ranges::any_of(phrases, [&](const char* phrase) { return text.find(phrase) != std::string::npos; });
  });
}

// A page never advises another decomposition and says that none helps, and table and causes never want different
// things for one loss.
TEST(ImbalanceProperty, RemediesDoNotContradictEachOther) {
  constexpr std::size_t kFaults = 15, kPatterns = 11;
  for (std::size_t seed = 0; seed < kFaults * kPatterns; ++seed) {
    test::FaultyRun run;
    run.ranks = seed % 2 == 0 ? 16 : 12;
    if (static_cast<test::FaultyPattern>(seed % kPatterns) == test::FaultyPattern::kButterfly) run.ranks = 16;
    run.ranks_on_node = 4;
    run.iterations = 20;
    run.noise = seed % 3 == 0 ? 0.01 : 0;
    run.has_counters = seed % 4 != 0;
    run.pattern = static_cast<test::FaultyPattern>(seed % kPatterns);
    run.faults = {{static_cast<test::FaultKind>(seed % kFaults), 1, 0.4}};
    run.seed = seed;
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Trace trace = test::MakeFaulty(run);
    const Matching matching = MatchTrace(trace);
    const PhaseCut cut = CutPhase(trace, PhaseSpec::Region("step"));
    DiagnosisOptions options;
    options.finds_causes = true;
    options.grid = FindProcessGrid(trace, cut);
    options.shapes = 8;
    LossRecord losses = RecordOf(Diagnose(trace, matching, cut, options), "step");
    losses.by_factor = SplitByFactor(trace, matching, cut, {});
    ExpectAgreement(losses, "", RemedyForAll(losses));
    for (const PathRecord& path : losses.paths) ExpectAgreement(losses, path.path, RemedyForPath(losses, path));
    const std::vector<std::string> texts = RemediesOf(losses);
    const bool denies =
        Says(texts, {"o decomposition helps", "decomposition does not help", "No change of the program"});
    EXPECT_FALSE(denies && Says(texts, {"Weigh the parts", "weigh the parts", "nother decomposition,", "boundaries",
                                        "Decompose differently"}));
    EXPECT_FALSE(Says(texts, {"Leave this node out"}) && Says(texts, {"Decompose differently"}));
    if (HasFailure()) return;
  }
}

TEST(ImbalanceProperty, HoldsInWindowsOfRandomPrograms) {
  for (std::uint64_t seed = 0; seed < test::Repeats(300u); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Trace trace = test::MakeRandomProgram(seed, test::VariedOptions(seed));
    const double begin = static_cast<double>(seed % 10) / 20;
    ExpectInvariants(trace, CutPhase(trace, Window(trace, begin, 0.1 + static_cast<double>(seed % 4) / 10)));
    if (HasFailure()) return;
  }
}

// By thread, in the whole run, in a phase that recurs and in a window.
TEST(ImbalanceProperty, HoldsOnThreadsOfRandomPrograms) {
  for (std::uint64_t seed = 0; seed < test::Repeats(500u); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Trace trace = test::MakeHybridProgram(seed);
    const Trace threads = LocationTrace(trace);
    EXPECT_TRUE(threads.diagnostics.empty());
    EXPECT_TRUE(MatchTrace(threads).diagnostics.empty());
    for (const PhaseSpec& spec : {PhaseSpec::WholeRun(), PhaseSpec::Region("step"), Window(trace, 0.3, 0.4)}) {
      ExpectInvariants(threads, CutOfLocations(trace, CutPhase(trace, spec), threads));
    }
    if (HasFailure()) return;
  }
}

void DropSome(std::vector<TeamEvent>& events, std::mt19937_64& random) {
  std::erase_if(events, [&](const TeamEvent&) { return random() % 20 == 0; });
}

// Where records of teams are missing, these are left without waits, and all others are as they should be.
TEST(ImbalanceProperty, HoldsWhereRecordsOfTeamsAreMissing) {
  for (std::uint64_t seed = 0; seed < test::Repeats(300u); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Trace trace = test::MakeHybridProgram(seed);
    std::mt19937_64 random(seed);
    for (std::vector<TeamEvent>& of_rank : trace.team_threads.of_ranks) DropSome(of_rank, random);
    for (WorkerThread& worker : trace.team_threads.workers) DropSome(worker.team_events, random);
    const Trace threads = LocationTrace(trace);
    EXPECT_TRUE(MatchTrace(threads).diagnostics.empty());
    for (const PhaseSpec& spec : {PhaseSpec::WholeRun(), PhaseSpec::Region("step")}) {
      ExpectInvariants(threads, CutOfLocations(trace, CutPhase(trace, spec), threads));
    }
    if (HasFailure()) return;
  }
}

TEST(ImbalanceProperty, HoldsOnRealTraces) {
  for (const std::string& path : test::TracesToTry()) {
    SCOPED_TRACE(path);
    const Trace trace = ReadTrace(path);
    ExpectInvariants(trace, CutPhase(trace, PhaseSpec::WholeRun()));
    const PhaseCut window = CutPhase(trace, Window(trace, 0.3, 0.4));
    ExpectInvariants(trace, window);
    ExpectLossesOfFactors(trace, window);
    // Regions that recur: their length is that of their factors, and their losses add up to theirs.
    for (const RegionSummary& region : SummarizeRegions(trace)) {
      if (!region.IsLoop(trace)) continue;
      PhaseSpec spec = PhaseSpec::Region(region.name);
      spec.span = Span::kEach;
      const PhaseCut cut = CutPhase(trace, spec);
      ExpectInvariants(trace, cut);
      ExpectLossesOfFactors(trace, cut);
    }
  }
}

// Sums are largest minus average useful time, and ideal minus largest useful time, on every real trace.
TEST(ImbalanceProperty, FactorLossesAddUpOnRealTraces) {
  for (const std::string& path : test::TracesToTry()) {
    const Trace trace = ReadTrace(path);
    const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
    if (trace.size() < 2) continue;
    const Matching matching = MatchTrace(trace);
    const auto [load_balance, serialization] = SumLosses(SplitByFactor(trace, matching, cut, {}));
    double sum = 0, largest = 0, end = 0;
    const ReplayResult ideal = Replay(trace, matching, cut, {});
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      const double useful = UsefulTime(trace, cut, rank);
      sum += useful;
      largest = std::max(largest, useful);
      end = std::max(end, trace.Seconds(ideal.Duration()));
    }
    const double average = sum / static_cast<double>(trace.size());
    // The phase ends where MPI_Finalize is entered here, and messages take a tick.
    const double tolerance = 0.002 * end;
    EXPECT_NEAR(load_balance, largest - average, tolerance) << path;
    EXPECT_NEAR(load_balance + serialization, end - average, tolerance) << path;
  }
}

// LU and Sweep3D are wavefronts: whatever is lost in their iterations is lost along chains, on any number of ranks.
TEST(ImbalanceProperty, WavefrontsLoseTimeAlongChains) {
  std::size_t found = 0;
  for (const std::string& path : test::AllTraces()) {
    const bool is_lu = path.find("npb-lu") != std::string::npos;
    if (!is_lu && path.find("sweep3d") == std::string::npos) continue;
    const Trace trace = ReadTrace(path);
    const PhaseCut cut = CutPhase(trace, PhaseSpec::Region(is_lu ? "ssor_iter" : "inner_iter"));
    const Matching matching = MatchTrace(trace);
    DiagnosisOptions options;
    options.shapes = 3;
    LossRecord losses = RecordOf(Diagnose(trace, matching, cut, options), cut.spec.name);
    losses.by_factor = SplitByFactor(trace, matching, cut, {});
    EXPECT_EQ(RemedyForAll(losses).kind, Remedy::Kind::kBreakChain) << path;
    ++found;
  }
  EXPECT_GT(found, 0u);
}

}  // namespace
}  // namespace farscale
