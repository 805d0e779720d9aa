// Runs replayed as other machines would run them take the time that they take there, within their intervals.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "planning/shortlist.h"
#include "study/run_study.h"
#include "study/scenario.h"
#include "study/study.h"
#include "support/traces.h"

namespace farscale {
namespace {

struct KnownMachine {
  std::string name;
  Link local, remote;
  std::int64_t cores_per_node;
};

struct KnownProgram {
  std::string name, phase;
};

// [shared/data/README.md]
const std::vector<KnownMachine> kMachines = {{"a", {0.3e-6, 9e9, 0.25e-6, 16384}, {0.8e-6, 12.5e9, 0.25e-6, 16384}, 16},
                                             {"b", {0.25e-6, 12e9, 0.15e-6, 32768}, {0.5e-6, 25e9, 0.15e-6, 32768}, 16},
                                             {"c", {1e-6, 5e9, 0, 65536}, {24e-6, 1.25e9, 0, 65536}, 4}};
const std::vector<KnownProgram> kPrograms = {
    {"hpcg", "cg_iter"}, {"lulesh", "cycle"}, {"pfft", "fft_step"}, {"mw", "round"}};

Scenario OfferOf(const KnownMachine& machine) {
  Scenario offer;
  offer.id = offer.name = machine.name;
  offer.is_noise = false;
  offer.network.emplace();
  offer.network->local = machine.local;
  offer.network->remote = machine.remote;
  offer.network->collectives = StandardCollectives();
  offer.network->sending = offer.network->receiving = 1;
  offer.terms.cores_per_node = machine.cores_per_node;
  return offer;
}

// The path of a run that the shared data has; empty: none.
std::string TraceOf(const KnownProgram& program, const KnownMachine& machine, int ranks) {
  const std::string wanted = fmt::format("/machines/{}-{}/{}/traces.otf2", machine.name, program.name, ranks);
  for (const std::string& path : test::TracesToTry()) {
    if (path.ends_with(wanted)) return path;
  }
  return "";
}

StudyResults Measured(const std::string& trace, const std::string& phase, const std::vector<Scenario>& offers) {
  Study study;
  study.runs = {{trace, std::nullopt, std::nullopt, "test"}};
  study.phases = {PhaseSpec::Region(phase)};
  study.scaling = Scaling::kStrong;
  study.finds_groups = false;
  return MeasureRuns(study, nullptr, offers);
}

struct Score {
  int pairs = 0, held = 0;
};

// The run of one machine, offered the others.
void Compare(const KnownProgram& program, const KnownMachine& own, int ranks, Score& score) {
  const std::string trace = TraceOf(program, own, ranks);
  std::vector<Scenario> offers;
  std::vector<double> seconds;
  for (const KnownMachine& other : kMachines) {
    const std::string there = other.name == own.name ? "" : TraceOf(program, other, ranks);
    if (there.empty()) continue;
    offers.push_back(OfferOf(other));
    seconds.push_back(Measured(there, program.phase, {}).table.rows.at(0).TimePerIteration().value());
  }
  if (trace.empty() || offers.empty()) return;
  const StudyResults runs = Measured(trace, program.phase, offers);
  Results results;
  results.table = runs.table;
  results.variants = runs.variants;
  const Shortlist list = ShortlistOf({&results});
  for (std::size_t i = 0; i < offers.size(); ++i) {
    const auto row = std::ranges::find(list.rows, offers[i].name, &ShortlistRow::machine);
    ASSERT_NE(row, list.rows.end());
    const double truth = results.table.rows[0].TimePerIteration().value() / seconds[i];
    score.held += row->speed->low <= truth && truth <= row->speed->high;
    ++score.pairs;
  }
}

TEST(RealOffers, SpeedsLieInTheirIntervals) {
  Score score;
  for (const KnownProgram& program : kPrograms) {
    for (const KnownMachine& own : kMachines) {
      for (const int ranks : {4, 8, 16, 27, 32, 64, 128}) Compare(program, own, ranks, score);
    }
  }
  if (score.pairs < 30) GTEST_SKIP() << "the shared data is not there";
  // 80 %, less one standard deviation of 66 runs.
  EXPECT_GE(score.held, 0.75 * score.pairs) << score.held << " of " << score.pairs;
}

}  // namespace
}  // namespace farscale
