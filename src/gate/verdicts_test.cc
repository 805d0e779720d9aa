#include "gate/verdicts.h"

#include <gmock/gmock.h>

#include <cmath>

#include "factors/factor_table.h"
#include "factors/scaling.h"
#include "trace/anomalies.h"

namespace farscale {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

FactorRow RowOf(std::int64_t cores, double balance, double transfer, const std::string& phase = "solve") {
  FactorRow row;
  row.phase = phase;
  row.cores = row.ranks = cores;
  row.values[Factor::kLoadBalance] = balance;
  row.values[Factor::kSerialization] = 1;
  row.values[Factor::kTransfer] = transfer;
  row.runtime = 100 / (balance * transfer) / static_cast<double>(cores);
  return row;
}

FactorTable TableOf(std::vector<FactorRow> rows) {
  FactorTable table;
  table.scaling = Scaling::kStrong;
  table.rows = std::move(rows);
  CompleteTable(table);
  return table;
}

GateReport JudgeTable(const std::string& rules, FactorTable table, std::optional<History> baseline = std::nullopt,
                      std::vector<PhaseProjection> projections = {}) {
  GateInput input;
  input.results.table = std::move(table);
  input.results.projections = projections;
  input.baseline = std::move(baseline);
  input.baseline_name = "old";
  input.project = [projections](const FactorTable&, const std::vector<double>&) { return projections; };
  return Judge(ParseRules(ConfigTable::Parse(rules, "gate.toml"), "gate.toml"), input);
}

Judgement Only(const GateReport& report) {
  EXPECT_EQ(report.judgements.size(), 1u);
  return report.judgements.empty() ? Judgement() : report.judgements.front();
}

History OneCommit(FactorTable table) { return {{"old.json", "a", "2026-11-20T12:00:00Z", "", std::move(table)}}; }

const char* const kMin = "[[rule]]\nfactor = \"parallelEfficiency\"\nmin = 0.75\n";

// 1 % of noise with 4 degrees of freedom: t = 2.776, so the 95 % interval of one run is ±2.8 %.
TEST(Levels, TheIntervalDecides) {
  EXPECT_EQ(Only(JudgeTable(kMin, TableOf({RowOf(64, 0.8, 0.98)}))).verdict, Verdict::kPass);  // 0.784
  EXPECT_EQ(Only(JudgeTable(kMin, TableOf({RowOf(64, 0.8, 0.95)}))).verdict, Verdict::kWarn);  // 0.76
  EXPECT_EQ(Only(JudgeTable(kMin, TableOf({RowOf(64, 0.8, 0.92)}))).verdict, Verdict::kWarn);  // 0.736
  const Judgement low = Only(JudgeTable(kMin, TableOf({RowOf(64, 0.8, 0.9)})));                // 0.72
  EXPECT_EQ(low.verdict, Verdict::kFail);
  EXPECT_NEAR(low.interval->high, 0.72 * std::exp(0.01 * 2.776), 1e-4);
  ASSERT_TRUE(low.blame);
  EXPECT_EQ(low.blame->factor, Factor::kLoadBalance);
  EXPECT_NEAR(low.blame->share, std::log(0.8) / std::log(0.72), 1e-12);
  EXPECT_THAT(low.sentence, HasSubstr("phase solve at 64 cores is 0.720"));
  EXPECT_THAT(low.sentence, HasSubstr("Load balance explains 68 % of the loss."));
}

TEST(Levels, AsTheRuleSays) {
  const FactorTable near = TableOf({RowOf(64, 0.8, 0.92)});  // 0.736
  const std::string rule = kMin;
  EXPECT_EQ(Only(JudgeTable(rule + "judge = \"value\"", near)).verdict, Verdict::kFail);
  EXPECT_EQ(Only(JudgeTable(rule + "undecided = \"fail\"", near)).verdict, Verdict::kFail);
  EXPECT_EQ(Only(JudgeTable(rule + "undecided = \"evidence\"", near)).verdict, Verdict::kUndecided);
  EXPECT_EQ(Only(JudgeTable(rule + "confidence = 0.6", near)).verdict, Verdict::kFail);
  EXPECT_EQ(Only(JudgeTable(rule + "min_runs = 2", near)).verdict, Verdict::kUndecided);
  const GateReport off = JudgeTable(rule + "judge = \"value\"\nseverity = \"warn\"", near);
  EXPECT_EQ(Only(off).verdict, Verdict::kWarn);
  EXPECT_EQ(off.ExitCode(), 0);
  EXPECT_EQ(Only(JudgeTable("[[rule]]\nfactor = \"parallelEfficiency\"\nwarn = 0.9\n", near)).verdict, Verdict::kWarn);
}

// Efficiencies of main threads alone do not pass; what they fail, they fail all the more, and times are those of all.
TEST(Levels, MainThreadsAlonePassNothing) {
  FactorTable table = TableOf({RowOf(64, 0.8, 0.98)});
  const Anomaly& alone = anomaly::kThreadsAtProcessLevel;
  table.findings.push_back({std::string(alone.id), alone.severity, std::string(alone.sentence), 1, 0, ""});
  const GateReport report = JudgeTable(kMin, table);
  EXPECT_EQ(Only(report).verdict, Verdict::kUndecided);
  EXPECT_EQ(report.ExitCode(), 4);
  EXPECT_THAT(Only(report).sentence, HasSubstr("efficiency of the main threads alone"));
  EXPECT_EQ(Only(JudgeTable("[[rule]]\nfactor = \"parallelEfficiency\"\nmin = 0.9\n", table)).verdict, Verdict::kFail);
  EXPECT_EQ(Only(JudgeTable("[[rule]]\nfactor = \"runtime\"\nmax = 3\n", table)).verdict, Verdict::kPass);
  for (FactorRow& row : table.rows) {  // measured with all threads
    row.values[Factor::kMpiParallelEfficiency] = row.values[Factor::kParallelEfficiency];
    row.values.SetPerfectOpenMp();
    row.values.SetPerfectOffload();
  }
  EXPECT_EQ(Only(JudgeTable(kMin, table)).verdict, Verdict::kPass);
}

// Global efficiency of 0.9 · 0.98 · 1.5 = 1.323 where caches hold more of the problem, passed or not; 0.882 needs no
// word.
TEST(Levels, SaysWhyAValueIsAbove110Percent) {
  FactorTable table = TableOf({RowOf(16, 0.9, 0.98), RowOf(64, 0.9, 0.98)});
  table.rows[1].runtime = *table.rows[1].runtime / 1.5;
  for (FactorRow& row : table.rows) {
    for (const Factor factor : {Factor::kComputationScalability, Factor::kGlobalEfficiency, Factor::kSpeedup}) {
      row.values[factor].reset();
    }
  }
  CompleteTable(table);
  const std::string rule = "[[rule]]\nfactor = \"globalEfficiency\"\nmin = 0.5\n";
  const GateReport report = JudgeTable(rule, table);
  ASSERT_EQ(report.judgements.size(), 2u);
  EXPECT_EQ(report.judgements[0].superlinear, "");
  EXPECT_EQ(report.judgements[1].verdict, Verdict::kPass);
  EXPECT_NEAR(*report.judgements[1].value, 1.323, 1e-9);
  const std::string why = "Efficiencies above 110 % come from computation scalability (1.500 on 64 cores)";
  EXPECT_THAT(report.judgements[1].sentence, HasSubstr(why));
  for (const std::string& text : {WriteGateTable(report), WriteGateMarkdown(report), WriteGateJson(report)}) {
    EXPECT_THAT(text, HasSubstr("Efficiencies above 110 % come from computation scalability"));
  }
}

// What puts every number in doubt stands above the verdicts.
TEST(Levels, ADoubtfulScalingIsSaidFirst) {
  FactorTable table = TableOf({RowOf(16, 0.9, 0.98), RowOf(64, 0.9, 0.98)});
  table.scaling = Scaling::kStrong;
  table.rows[1].runtime = *table.rows[1].runtime * 4;
  CheckScaling(table, "");
  const GateReport report = JudgeTable(kMin, table);
  EXPECT_THAT(WriteGateTable(report), HasSubstr("Warning: the work of the runs does not grow as their scaling says"));
  EXPECT_THAT(WriteGateMarkdown(report),
              HasSubstr("**⚠️ the work of the runs does not grow as their scaling says"));
  EXPECT_THAT(WriteGithubAnnotations(report), HasSubstr("::warning title=farscale gate::the work of the runs"));
}

// 20 phases share a chance of 1e-9 at 16 core counts and all of them: 1e-9 / 340 each, t of a few thousand with 4
// degrees of freedom and 1 % of noise is e^±50. Neither infinite, nor said to be certain.
TEST(Changes, IntervalsEndAtTheLargestConfidence) {
  std::vector<FactorRow> rows;
  for (int phase = 0; phase < 20; ++phase) {
    for (int cores = 1; cores <= 16; ++cores) rows.push_back(RowOf(cores, 0.8, 0.9, "p" + std::to_string(phase)));
  }
  const FactorTable table = TableOf(rows);
  const GateReport report =
      JudgeTable("[[rule]]\nfactor = \"parallelEfficiency\"\nconfidence = 0.999999999\nmax_drop = 0.03\n", table,
                 OneCommit(table));
  ASSERT_EQ(report.judgements.size(), 20u);
  for (const Judgement& judgement : report.judgements) {
    EXPECT_LT(judgement.confidence, 1);
    EXPECT_TRUE(std::isfinite(judgement.interval->high));
    EXPECT_THAT(judgement.sentence, testing::Not(HasSubstr("inf")));
    EXPECT_THAT(judgement.sentence, testing::Not(HasSubstr("(100 %")));
  }
}

TEST(Levels, TimesAreBetterWhenSmaller) {
  const FactorTable table = TableOf({RowOf(10, 1, 1)});  // 10 s
  const auto judge = [&](const char* more) {
    return Only(JudgeTable(std::string("[[rule]]\nfactor = \"timePerIteration\"\n") + more, table)).verdict;
  };
  EXPECT_EQ(judge("max = 11"), Verdict::kPass);
  EXPECT_EQ(judge("max = 10"), Verdict::kWarn);
  EXPECT_EQ(judge("max = 9"), Verdict::kFail);
  EXPECT_EQ(judge("max = 20\nwarn = 9"), Verdict::kWarn);
}

// Load balance 0.9 of "solve", 0.8 of its group "pme", 0.7 of "io", 0.6 of its group "pme", 0.5 of "solve / pp".
TEST(Levels, GroupsOfRanks) {
  std::vector<FactorRow> rows = {RowOf(64, 0.9, 1), RowOf(64, 0.8, 1), RowOf(64, 0.7, 1, "io"), RowOf(64, 0.6, 1, "io"),
                                 RowOf(64, 0.5, 1, "solve / pp")};
  rows[1].phase.group = rows[3].phase.group = "pme";
  const FactorTable table = TableOf(rows);
  const auto judge = [&](const std::string& rule) {
    return JudgeTable("[[rule]]\nfactor = \"loadBalance\"\nmin = 0.1\n" + rule, table).judgements;
  };
  const auto values = [&](const std::string& rule) {
    std::vector<double> found;
    for (const Judgement& judgement : judge(rule)) found.push_back(judgement.value.value_or(0));
    return found;
  };
  EXPECT_THAT(values(""), ElementsAre(0.9, 0.8, 0.7, 0.6, 0.5));
  EXPECT_THAT(values("phase = \"solve\""), ElementsAre(0.9));
  EXPECT_THAT(values("group = \"pme\""), ElementsAre(0.8, 0.6));
  EXPECT_THAT(values("phase = \"solve\"\ngroup = \"pme\""), ElementsAre(0.8));
  EXPECT_THAT(values("phase = \"solve / pme\""), ElementsAre(0.8));
  EXPECT_THAT(values("phase = \"solve / pp\""), ElementsAre(0.5));
  const Judgement judged = judge("phase = \"io\"\ngroup = \"pme\"").front();
  EXPECT_EQ(judged.phase, PhaseId("io", "pme"));
  EXPECT_THAT(judged.sentence, HasSubstr("loadBalance of phase io / pme at 64 cores is 0.600"));
  const Judgement missing = judge("phase = \"solve\"\ngroup = \"direct\"").front();
  EXPECT_EQ(missing.verdict, Verdict::kUndecided);
  EXPECT_EQ(missing.sentence, "group direct of phase solve is not in the results; there are pme.");
}

TEST(Levels, WhatIsMissingIsNoEvidence) {
  const FactorTable table = TableOf({RowOf(64, 0.9, 0.9)});
  const auto judge = [&](const std::string& rule) {
    const GateReport report = JudgeTable("[[rule]]\nmin = 0.5\n" + rule, table);
    EXPECT_EQ(report.ExitCode(), 4);
    return Only(report).sentence;
  };
  EXPECT_THAT(judge("factor = \"loadBalance\"\nphase = \"slove\""),
              HasSubstr("phase slove is not in the results; did you mean 'solve'?"));
  EXPECT_THAT(judge("factor = \"loadBalance\"\nphase = \"halo exchange\""),
              HasSubstr("phase halo exchange is not in the results; there are solve."));
  EXPECT_THAT(judge("factor = \"loadBalance\"\nseries = \"lulesh\""),
              HasSubstr("series lulesh is not in the results; they name no series."));
  EXPECT_THAT(judge("factor = \"ipcScaling\""), HasSubstr("ipcScaling of phase solve is unknown"));
  EXPECT_THAT(judge("factor = \"loadBalance\"\ncores = 32"), HasSubstr("runs begin at 64 cores"));
  EXPECT_THAT(judge("factor = \"loadBalance\"\ncores = 128"), HasSubstr("neither measured nor can it be projected"));
}

PhaseProjection ProjectionOf(double value, double low, double high, double data) {
  PhaseProjection projection;
  projection.phase = "solve";
  projection.fitted_cores = {32, 64};
  FactorProjection factor;
  factor.factor = Factor::kParallelEfficiency;
  factor.targets = {{1024, 16, value, IntervalBounds{low, high}, IntervalBounds{low / 2, 1}}};
  projection.factors = {factor};
  projection.reliable_range = ReliableRange{Factor::kParallelEfficiency, {}, data, ReliableRange::Reach::kUpTo};
  return projection;
}

TEST(Levels, ProjectedValuesUpToWhereTheyAreReliable) {
  const FactorTable table = TableOf({RowOf(32, 0.95, 0.95), RowOf(64, 0.9, 0.9)});
  const auto judge = [&](double value, double low, double high, double data) {
    return Only(
        JudgeTable(std::string(kMin) + "cores = 1024", table, std::nullopt, {ProjectionOf(value, low, high, data)}));
  };
  EXPECT_EQ(judge(0.8, 0.76, 0.84, 2000).verdict, Verdict::kPass);
  EXPECT_EQ(judge(0.7, 0.66, 0.74, 2000).verdict, Verdict::kFail);
  EXPECT_EQ(judge(0.7, 0.6, 0.8, 2000).verdict, Verdict::kUndecided);
  const Judgement beyond = judge(0.9, 0.88, 0.92, 500);
  EXPECT_EQ(beyond.verdict, Verdict::kUndecided);
  EXPECT_THAT(beyond.sentence, HasSubstr("which ends at 500 cores"));
  EXPECT_FALSE(beyond.value);
}

// 2.3263 / 1.9600 as far as the 95 % interval, 0.4 to 1: 0.8 - 1.1869 · 0.4, and 1 at most, since it is a share.
TEST(Levels, IntervalsOfProjectionsAtHighConfidence) {
  const FactorTable table = TableOf({RowOf(32, 0.95, 0.95), RowOf(64, 0.9, 0.9)});
  const Judgement judgement = Only(JudgeTable(std::string(kMin) + "cores = 1024\nconfidence = 0.98", table,
                                              std::nullopt, {ProjectionOf(0.8, 0.8, 0.84, 2000)}));
  ASSERT_TRUE(judgement.interval);
  EXPECT_NEAR(judgement.interval->low, 0.8 - 1.186934 * 0.4, 1e-6);
  EXPECT_EQ(judgement.interval->high, 1);
  EXPECT_THAT(judgement.sentence, HasSubstr("is projected to be 0.800 (98 % interval 0.325 to 1.000)"));
}

const char* const kDrop = "[[rule]]\nfactor = \"parallelEfficiency\"\nmax_drop = 0.03\n";

TEST(Changes, BeyondNoiseAndAllowanceFails) {
  const FactorTable old = TableOf({RowOf(64, 0.9, 0.9), RowOf(128, 0.9, 0.8)});
  EXPECT_EQ(Only(JudgeTable(kDrop, old, OneCommit(old))).verdict, Verdict::kPass);
  // One run each and no history: 4 % may be noise of 1 % that nobody has measured.
  const GateReport doubtful =
      JudgeTable(kDrop, TableOf({RowOf(64, 0.9, 0.865), RowOf(128, 0.9, 0.77)}), OneCommit(old));
  EXPECT_EQ(Only(doubtful).verdict, Verdict::kWarn);
  EXPECT_EQ(doubtful.ExitCode(), 0);
  const GateReport failed = JudgeTable(kDrop, TableOf({RowOf(64, 0.9, 0.75), RowOf(128, 0.9, 0.66)}), OneCommit(old));
  const Judgement judgement = Only(failed);
  EXPECT_EQ(judgement.verdict, Verdict::kFail);
  EXPECT_EQ(failed.ExitCode(), 1);
  EXPECT_THAT(judgement.cores, ElementsAre(64, 128));
  ASSERT_TRUE(judgement.blame);
  EXPECT_EQ(judgement.blame->factor, Factor::kTransfer);
  EXPECT_NEAR(judgement.blame->share, 1, 1e-12);
  EXPECT_THAT(judgement.sentence, HasSubstr("Transfer explains 100 % of what got worse."));
}

// Two runs that scatter by a third on either side: -6.9 % says nothing of the 3 % that are allowed. With an error e of
// the change, runs n and ln 0.97 = -0.0305, 2 (1.96 e / 0.0305)² runs would decide. The same with 0.5 % of scatter
// passes.
TEST(Changes, WhatNoiseHidesIsUndecided) {
  const auto judge = [](double scatter) {
    const FactorTable old = TableOf({RowOf(64, 0.9, 0.8), RowOf(64, 0.9, 0.8 * scatter)});
    const FactorTable now = TableOf({RowOf(64, 0.9, 0.745), RowOf(64, 0.9, 0.745 * scatter)});
    return JudgeTable(kDrop, now, OneCommit(old));
  };
  const GateReport hidden = judge(0.7);
  const Judgement judgement = Only(hidden);
  EXPECT_EQ(judgement.verdict, Verdict::kWarn);
  EXPECT_TRUE(judgement.is_hidden_by_noise);
  EXPECT_EQ(hidden.ExitCode(), 0);
  EXPECT_THAT(judgement.sentence, HasSubstr("runs before and after would decide"));
  EXPECT_THAT(WriteGateTable(hidden), HasSubstr("undecided"));
  EXPECT_EQ(Only(judge(0.995)).verdict, Verdict::kFail);
}

// The more runs, the fewer changes hide: at some number of them the same scatter decides.
TEST(Changes, RepeatsDecideWhatNoiseHides) {
  const auto judge = [](int runs) {
    std::vector<FactorRow> before, after;
    for (int run = 0; run < runs; ++run) {
      const double scatter = run % 2 == 0 ? 1.5 : 1 / 1.5;
      before.push_back(RowOf(64, 0.9, 0.5 * scatter));
      after.push_back(RowOf(64, 0.9, 0.5 * 0.95 * scatter));
    }
    return Only(JudgeTable(kDrop, TableOf(after), OneCommit(TableOf(before))));
  };
  EXPECT_TRUE(judge(2).is_hidden_by_noise);
  EXPECT_FALSE(judge(400).is_hidden_by_noise);
  EXPECT_EQ(judge(400).verdict, Verdict::kPass);
}

// Both sides known by the same interval: ln(0.84 / 0.76) / 2 = 0.05004 at 80 %, an error of 0.05004 / 1.28155 =
// 0.03905; of the difference 0.05522. At 99.9 % that is 3.29053 · 0.05522 = 0.18171 on either side.
TEST(Changes, ProjectionsHaveFiniteBounds) {
  const FactorTable table = TableOf({RowOf(32, 0.95, 0.95), RowOf(64, 0.9, 0.9)});
  const Judgement judgement = Only(
      JudgeTable(std::string(kDrop) + "cores = 1024", table, OneCommit(table), {ProjectionOf(0.8, 0.76, 0.84, 2000)}));
  ASSERT_TRUE(judgement.interval);
  EXPECT_NEAR(judgement.interval->low, std::exp(-0.18171) - 1, 1e-4);
  EXPECT_NEAR(judgement.interval->high, std::exp(0.18171) - 1, 1e-4);
  EXPECT_THAT(judgement.sentence, HasSubstr("(99.9 % interval of the change -16.6 to +19.9 %)"));
}

// Two commits are against five, which have one of the worse ones among them, three against four: only these show more
// than 5 %. What is said is of these: 0.81 of the four, and -0.0767 of the three as the mean of -0.1, -0.1 and -0.03.
TEST(Changes, ThatLastAreSaidOfTheWindowThatShowsThem) {
  const auto commit = [](double log) { return TableOf({RowOf(64, 0.9, 0.9 * std::exp(log))}); };
  History history;
  for (const double log : {0.0, 0.0, 0.0, 0.0, -0.1, -0.1}) {
    const std::string name = std::to_string(history.size() + 1);
    history.push_back({name + ".json", name, "2026-11-2" + name + "T12:00:00Z", "", commit(log)});
  }
  const Judgement judgement =
      Only(JudgeTable("noise = 0.2\n[[rule]]\nfactor = \"parallelEfficiency\"\nmax_drop = 0.05\nsince = "
                      "\"accepted\"\njudge = \"value\"",
                      commit(-0.03), history));
  EXPECT_EQ(judgement.verdict, Verdict::kFail);
  EXPECT_EQ(judgement.commits, 3U);
  EXPECT_NEAR(*judgement.before, 0.81, 1e-9);
  EXPECT_NEAR(*judgement.change, std::exp(-0.23 / 3) - 1, 1e-9);
  EXPECT_THAT(judgement.sentence, HasSubstr("in the last 3 commits, against 4 from"));
}

TEST(Changes, ValuesAloneWhereTheRuleSaysSo) {
  const FactorTable old = TableOf({RowOf(64, 0.9, 0.9)});
  const std::string rule = std::string(kDrop) + "judge = \"value\"";
  EXPECT_EQ(Only(JudgeTable(rule, TableOf({RowOf(64, 0.9, 0.87)}), OneCommit(old))).verdict, Verdict::kFail);
  EXPECT_EQ(Only(JudgeTable(rule, TableOf({RowOf(64, 0.9, 0.875)}), OneCommit(old))).verdict, Verdict::kPass);
}

// Twice the computation at the same efficiencies: no factor of the table moves, the time does.
TEST(Changes, AUniformSlowdownIsComputation) {
  FactorRow slow = RowOf(64, 0.9, 0.9);
  *slow.runtime *= 2;
  const Judgement judgement = Only(JudgeTable("[[rule]]\nfactor = \"timePerIteration\"\nmax_rise = 0.03\n",
                                              TableOf({slow}), OneCommit(TableOf({RowOf(64, 0.9, 0.9)}))));
  EXPECT_EQ(judgement.verdict, Verdict::kFail);
  ASSERT_TRUE(judgement.blame);
  EXPECT_EQ(judgement.blame->factor, Factor::kComputationScalability);
  EXPECT_NEAR(judgement.blame->effect, -std::log(2), 1e-12);
}

TEST(Changes, WithoutABaselineThereIsNoEvidence) {
  const FactorTable table = TableOf({RowOf(64, 0.9, 0.9)});
  EXPECT_THAT(Only(JudgeTable(kDrop, table)).sentence, HasSubstr("give --baseline"));
  EXPECT_THAT(Only(JudgeTable(kDrop, table, History())).sentence, HasSubstr("holds no results yet"));
  EXPECT_EQ(JudgeTable(kDrop, table, History()).ExitCode(), 4);
}

TEST(Changes, WhatTheResultsLostIsNoEvidence) {
  const FactorTable old =
      TableOf({RowOf(64, 0.9, 0.9), RowOf(128, 0.9, 0.8), RowOf(64, 0.9, 0.9, "io"), RowOf(128, 0.9, 0.9, "io")});
  const GateReport report = JudgeTable(kDrop, TableOf({RowOf(64, 0.9, 0.9)}), OneCommit(old));
  ASSERT_EQ(report.judgements.size(), 3u);
  EXPECT_EQ(report.judgements[0].verdict, Verdict::kPass);
  EXPECT_THAT(report.judgements[1].sentence, HasSubstr("at 128 cores is in the baseline and not in the results"));
  EXPECT_THAT(report.judgements[2].sentence, HasSubstr("phase io is in the baseline and not in the results"));
  EXPECT_EQ(report.ExitCode(), 4);
}

// Of two phases that had a group, one has lost it; a phase that reads like the lost one does not stand for it.
TEST(Changes, ALostGroupIsNoEvidence) {
  std::vector<FactorRow> rows = {RowOf(64, 0.9, 0.9), RowOf(64, 0.9, 0.9, "io"), RowOf(64, 0.9, 0.9, "io / pme")};
  rows[0].phase.group = rows[1].phase.group = "pme";
  const FactorTable old = TableOf(rows), now = TableOf({rows[0], rows[2]});
  const GateReport report = JudgeTable(std::string(kDrop) + "group = \"pme\"\n", now, OneCommit(old));
  ASSERT_EQ(report.judgements.size(), 2u);
  EXPECT_EQ(report.judgements[0].phase, PhaseId("solve", "pme"));
  EXPECT_EQ(report.judgements[0].verdict, Verdict::kPass);
  EXPECT_EQ(report.judgements[1].phase, PhaseId("io", "pme"));
  EXPECT_EQ(report.judgements[1].sentence, "phase io / pme is in the baseline and not in the results.");
  EXPECT_THAT(WriteGateJson(report), HasSubstr("\"phase\": \"io\",\n      \"group\": \"pme\""));
  const std::string metrics = WriteOpenMetrics(report, now);
  EXPECT_THAT(metrics, HasSubstr("phase=\"solve\",cores=\"64\",group=\"pme\""));
  EXPECT_THAT(metrics, HasSubstr("phase=\"io / pme\",cores=\"64\",factor"));
}

// The results of one program against those of another.
TEST(Changes, ABaselineOfAnotherSeriesIsNamed) {
  FactorTable ours = TableOf({RowOf(64, 0.9, 0.9)}), theirs = ours;
  ours.rows[0].series = "lammps";
  theirs.rows[0].series = "lulesh";
  const GateReport report = JudgeTable(kDrop, ours, OneCommit(theirs));
  ASSERT_EQ(report.judgements.size(), 2u);
  EXPECT_THAT(report.judgements[0].sentence, HasSubstr("of phase solve of series lammps, for it is of series lulesh."));
  EXPECT_EQ(report.judgements[1].sentence, "phase solve of series lulesh is in the baseline and not in the results.");
  theirs.rows[0].series = "";
  EXPECT_THAT(JudgeTable(kDrop, ours, OneCommit(theirs)).judgements[0].sentence,
              HasSubstr("of phase solve of series lammps, for its runs name no series."));
}

TEST(Changes, OnlyWhatIsKnownWhereTheRuleSaysSo) {
  const FactorTable table = TableOf({RowOf(64, 0.9, 0.9)});
  const GateReport report =
      JudgeTable(std::string(kDrop) + "[[rule]]\nfactor = \"ipcScaling\"\nmax_drop = 0.1\nif_known = true\n", table,
                 OneCommit(table));
  EXPECT_EQ(Only(report).verdict, Verdict::kPass);
}

}  // namespace
}  // namespace farscale
