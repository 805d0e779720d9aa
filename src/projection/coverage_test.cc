// Intervals hold as often as they claim where the truth is known: simulated studies of known laws. The intervals expect
// that a factor drifts away from every law, as measured ones do [docs/formulas.md, intervals]. So they hold as often as
// they say for laws that drift, and more often for laws that do not.
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "factors/factor_table.h"
#include "models/weights.h"
#include "projection/projection.h"
#include "results/results_json.h"
#include "support/models.h"
#include "support/repeats.h"

namespace farscale {
namespace {

// A law that measured values follow.
struct Law {
  std::string model;
  int dimension;
  std::vector<double> parameters;

  std::string Name() const { return model + std::to_string(dimension); }
  double At(double cores) const { return test::AllModels().Get(model, "test").Evaluate(cores, dimension, parameters); }
};

// At 512 cores they lose between a tenth and three tenths.
const std::vector<Law> kLaws = {{"amdahl", 1, {0.98, 0.9995}},  {"amdahl", 2, {0.97, 0.99}},
                                {"amdahl", 3, {0.96, 0.95}},    {"pipeline", 1, {0.98, 0.6}},
                                {"logarithm", 1, {0.02, 0.97}}, {"power", 1, {0.99, 0.05}},
                                {"constant", 1, {0.9}},         {"saturation", 3, {0.8, 0.4}}};

const std::vector<std::vector<double>> kDesigns = {{16, 32, 64, 128, 256, 512}, {16, 64, 128, 512}};
constexpr double kLargest = 512;
const std::vector<double> kRatios = {2, 4, 8};

// What was run, and what larger runs would show.
struct Study {
  std::string law;
  std::vector<DataPoint> points;
  std::map<double, double> larger;  // by ratio
};

// Noise of a run: its relative standard deviation, and whether the table states it.
struct RunNoise {
  double relative;
  bool is_stated;
};

// A law with nothing but noise.
Study Exact(const Law& law, const std::vector<double>& design, const RunNoise& noise, Random& random) {
  const auto measure = [&](double cores) {
    return std::min(1.0, law.At(cores) * (1 + noise.relative * random.Normal()));
  };
  Study study{law.Name(), {}, {}};
  for (const double cores : design) {
    study.points.push_back({cores, measure(cores), std::nullopt});
    if (noise.is_stated) study.points.back().standard_error = noise.relative * study.points.back().value;
  }
  for (const double ratio : kRatios) study.larger[ratio] = measure(ratio * kLargest);
  return study;
}

// A law as far as measured series follow one [docs/formulas.md, weights and intervals]: runs scatter by a share of
// their loss, the more the further they are from the largest; beyond it the loss drifts away with every doubling, and
// in some studies a new one comes up, as the constants of the intervals have it.
Study Drifting(const Law& law, const std::vector<double>& design, Random& random) {
  const double scatter = std::clamp(0.05 * std::exp(1.2 * random.Normal()), 0.002, 0.6);
  Study study{law.Name(), {}, {}};
  for (const double cores : design) study.points.push_back({cores, law.At(cores), std::nullopt});
  const std::vector<double> shapes = ShapesOf(study.points);
  for (std::size_t i = 0; i < design.size(); ++i) {
    double& value = study.points[i].value;
    value = std::min(1.0, value * std::exp(scatter * shapes[i] / value * random.Normal()));
  }
  const IntervalConstants& constants = test::AllModels().intervals();
  const double drift = constants.DriftAt(scatter) * random.Normal();
  const double new_loss =
      random.Uniform() < constants.new_loss_share ? constants.NewLossAt(scatter) * random.Exponential() : 0;
  for (const double ratio : kRatios) {
    const double doublings = std::log2(ratio), value = law.At(ratio * kLargest);
    const double loss = -std::log(value) * std::exp(drift * doublings) + new_loss * doublings +
                        scatter * LogShape(value) * random.Normal();
    study.larger[ratio] = std::exp(-std::max(0.0, loss));
  }
  return study;
}

FactorTable TableOf(const std::vector<Study>& studies) {
  FactorTable table;
  for (std::size_t i = 0; i < studies.size(); ++i) {
    for (const DataPoint& point : studies[i].points) {
      FactorRow row;
      row.series = std::to_string(1000 + i);
      row.cores = row.ranks = static_cast<std::int64_t>(point.cores);
      row.values[Factor::kLoadBalance] = point.value;
      row.standard_errors[Factor::kLoadBalance] = point.standard_error;
      table.rows.push_back(row);
    }
  }
  CompleteTable(table);
  return table;
}

std::vector<PhaseProjection> ProjectAll(const std::vector<Study>& studies, std::uint64_t seed = 1) {
  ProjectionOptions options{{}, {}, {}};
  for (const double ratio : kRatios) options.targets.push_back(ratio * kLargest);
  options.seed = seed;
  return Project(TableOf(studies), test::AllModels(), options);
}

// How many of the larger runs lie within the intervals.
struct Covered {
  double in80 = 0;
  double in95 = 0;
  double count = 0;
};

using Coverage = std::map<double, Covered>;  // by ratio

// Judges every projection against the larger runs of its study; the intervals must be proper ones, too.
Coverage Judge(const std::vector<Study>& studies) {
  Coverage coverage;
  std::size_t next = 0;
  for (const PhaseProjection& projection : ProjectAll(studies)) {
    const Study& study = studies[next++];
    for (const ProjectedValue& target : projection.Find(Factor::kLoadBalance)->targets) {
      const IntervalBounds inner = *target.interval80, outer = *target.interval95;
      EXPECT_TRUE(0 <= outer.low && outer.low <= inner.low && inner.high <= outer.high && outer.high <= 1) << study.law;
      EXPECT_TRUE(Contains(inner, target.value)) << study.law;
      const double measured = study.larger.at(target.ratio);
      Covered& covered = coverage[target.ratio];
      ++covered.count;
      covered.in80 += Contains(inner, measured) ? 1 : 0;
      covered.in95 += Contains(outer, measured) ? 1 : 0;
    }
  }
  EXPECT_EQ(next, studies.size());
  return coverage;
}

// Eight times as many studies give 98 % and 99.8 %.
TEST(Coverage, OfLawsWithNothingButNoise) {
  if (test::IsBrief()) GTEST_SKIP() << "a share of many studies, counted by scripts/check --full";
  Random random(1);
  std::vector<Study> studies;
  for (const Law& law : kLaws) {
    for (const std::vector<double>& design : kDesigns) {
      for (const RunNoise& noise : {RunNoise{0.003, false}, {0.01, false}, {0.01, true}, {0.03, true}}) {
        studies.push_back(Exact(law, design, noise, random));
      }
    }
  }
  for (const auto& [ratio, covered] : Judge(studies)) {
    EXPECT_GE(covered.in80 / covered.count, 0.80) << "at " << ratio;
    EXPECT_GE(covered.in95 / covered.count, 0.95) << "at " << ratio;
  }
}

// Standard deviation of a share that is found in so many studies.
double ErrorOfShare(double share, double studies) { return std::sqrt(share * (1 - share) / studies); }

// Five times as many studies give 79 % and 93 % at each ratio.
TEST(Coverage, OfLawsThatDrift) {
  if (test::IsBrief()) GTEST_SKIP() << "a share of many studies, counted by scripts/check --full";
  constexpr int kRepeats = 12;
  Random random(2);
  std::vector<Study> studies;
  for (const Law& law : kLaws) {
    for (int i = 0; i < kRepeats; ++i)
      studies.push_back(Drifting(law, kDesigns[static_cast<std::size_t>(i % 2)], random));
  }
  for (const auto& [ratio, covered] : Judge(studies)) {
    EXPECT_NEAR(covered.in80 / covered.count, 0.80, 3 * ErrorOfShare(0.80, covered.count)) << "at " << ratio;
    EXPECT_NEAR(covered.in95 / covered.count, 0.95, 3 * ErrorOfShare(0.95, covered.count)) << "at " << ratio;
  }
}

TEST(Coverage, SameForTheSameSeedAndAtAnyThreadCount) {
  Random random(3);
  const std::vector<Study> studies = {Exact(kLaws[0], kDesigns[0], {0.01, true}, random),
                                      Drifting(kLaws[3], kDesigns[1], random)};
  std::vector<std::string> texts;
  for (const std::size_t threads : {1u, 4u}) {
    const tbb::global_control control(tbb::global_control::max_allowed_parallelism, threads);
    texts.push_back(WriteProjectionJson(ProjectAll(studies, 1)));
  }
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_NE(texts[0], WriteProjectionJson(ProjectAll(studies, 2)));
}

}  // namespace
}  // namespace farscale
