#include "growth/loads/load_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <set>

#include "base/random.h"
#include "base/text.h"
#include "growth/read/call_sites.h"
#include "stats/distributions.h"

namespace farscale {
namespace {

constexpr double kExact = 1e-3;  // chosen: sizes of local extents that do not divide evenly differ by more
// Local extents, faces and volumes of evenly divided domains; simple ones first.
constexpr double kExponents[] = {0, -1, -0.5, 1, 0.5, -2, 2};

// Values of points, after the mean of every group is taken off.
template <typename Value>
std::vector<double> WithoutGroups(const std::vector<LawPoint>& points, const Value& value) {
  std::size_t groups = 0;
  for (const LawPoint& point : points) groups = std::max(groups, point.group + 1);
  std::vector<double> sum(groups, 0), weight(groups, 0), rest;
  for (const LawPoint& point : points) {
    sum[point.group] += point.weight * value(point);
    weight[point.group] += point.weight;
  }
  for (const LawPoint& point : points) rest.push_back(value(point) - sum[point.group] / weight[point.group]);
  return rest;
}

// The error of a law, as a standard deviation of logarithms.
double LawError(const ScalingLaw& law, const std::vector<LawPoint>& points) {
  const std::vector<double> rest = WithoutGroups(points, [&](const LawPoint& point) {
    return std::log(point.value) - std::log(law.Ratio(point.grid, RankGrid{}));
  });
  double sum = 0, weight = 0;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    sum += points[i].weight * rest[i] * rest[i];
    weight += points[i].weight;
  }
  return std::sqrt(sum / weight);
}

// Tries exponents of this dimension and those behind it; those of the others stand in `law`.
void TryExponents(const std::vector<LawPoint>& points, std::size_t dimension, ScalingLaw& law, double complexity,
                  double& best_score, ScalingLaw& best) {
  if (dimension == kMostDimensions) {
    law.error = LawError(law, points);
    const double score = std::max(law.error, kExact) * (1 + 0.2 * complexity);
    if (score < best_score) best = law;
    best_score = std::min(best_score, score);
    return;
  }
  const bool changes = std::ranges::any_of(points, [&](const LawPoint& point) {
    return point.grid.extents[dimension] != points.front().grid.extents[dimension];
  });
  for (const double exponent : std::span(kExponents).first(changes ? std::size(kExponents) : 1)) {
    law.exponents[dimension] = exponent;
    // Two dimensions with an exponent of one each are plainer than one with two.
    const double own = std::abs(exponent) > 1 ? std::abs(exponent) + 0.25 : std::abs(exponent);
    TryExponents(points, dimension + 1, law, complexity + own, best_score, best);
  }
  law.exponents[dimension] = 0;
}

// The power of the number of ranks by least squares of the logarithms.
ScalingLaw FitPower(const std::vector<LawPoint>& points) {
  const std::vector<double> x =
      WithoutGroups(points, [](const LawPoint& point) { return std::log(static_cast<double>(point.grid.Scale())); });
  const std::vector<double> y = WithoutGroups(points, [](const LawPoint& point) { return std::log(point.value); });
  double xx = 0, xy = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    xx += points[i].weight * x[i] * x[i];
    xy += points[i].weight * x[i] * y[i];
  }
  ScalingLaw law;
  law.power = xx > 0 ? xy / xx : 0;
  law.error = LawError(law, points);
  return law;
}

}  // namespace

double ScalingLaw::Ratio(const RankGrid& to, const RankGrid& from) const {
  double ratio = std::pow(static_cast<double>(to.Scale()) / static_cast<double>(from.Scale()), power);
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    if (exponents[d] != 0) ratio *= std::pow(static_cast<double>(to.extents[d]) / from.extents[d], exponents[d]);
  }
  return ratio;
}

std::string ScalingLaw::Text() const {
  std::vector<std::string> parts;
  if (power != 0) parts.push_back(fmt::format("P^{:.3g}", power));
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    if (exponents[d] != 0) parts.push_back(fmt::format("n{}^{:g}", "xyzt"[d], exponents[d]));
  }
  return parts.empty() ? "constant" : Join(parts, " ");
}

ScalingLaw FitScalingLaw(const std::vector<LawPoint>& points) {
  std::vector<LawPoint> positive;
  std::ranges::copy_if(points, std::back_inserter(positive), [](const LawPoint& point) { return point.value > 0; });
  std::set<std::int64_t> sizes;
  for (const LawPoint& point : positive) sizes.insert(point.grid.size());
  ScalingLaw best;
  if (sizes.size() > 1) {
    double score = INFINITY;
    ScalingLaw law;
    TryExponents(positive, 0, law, 0, score, best);
    const ScalingLaw power = FitPower(positive);
    if (std::max(power.error, kExact) * 1.5 < score) best = power;
  }
  best.runs = sizes.size();
  return best;
}

namespace {

// A power this near to a simple one is it; chosen: with domains of few cells, edges make as much of a difference.
constexpr double kSimple = 0.1;
// Probability that chance gives any class a law of its own, over all classes; chosen: a power of 0.06 that is none
// costs 12 % of load balance at eight times the ranks.
constexpr double kFalseLaws = 0.01;
constexpr std::size_t kFewestRunsOfLaw = 3;  // that a class must be seen in for a law of its own: two show no law
constexpr double kFalseTrend = 0.05;         // probability that chance alone changes instructions per cycle
// Below this, iterations do not differ by chance; chosen: traces have times in ticks of 1 ns of calls of 10 us.
constexpr double kNoNoise = 1e-4;

// Logarithm of the seconds that a rank computes in an iteration.
double LogCompute(const RunCalls& run, const RankCalls& calls, std::size_t iteration) {
  double sum = static_cast<double>(calls.compute_after[iteration]);
  for (std::uint32_t call = calls.FirstCall(iteration); call < calls.iteration_end[iteration]; ++call) {
    sum += static_cast<double>(calls.calls[call].compute);
  }
  return std::log(std::max(sum, 1.0) / run.ticks_per_second);
}

double MeanLog(const RunCalls& run, std::int64_t rank) {
  const RankCalls& calls = run.of_ranks[static_cast<std::size_t>(rank)];
  double sum = 0;
  for (std::size_t i = 0; i < calls.iteration_end.size(); ++i) sum += LogCompute(run, calls, i);
  return sum / static_cast<double>(calls.iteration_end.size());
}

// Logarithms: how many, their sum and that of their squares.
struct Cell {
  double count = 0, sum = 0, squares = 0;

  double Mean() const { return sum / count; }
  void Add(double value) {
    count += 1;
    sum += value;
    squares += value * value;
  }
  double Deviations() const { return std::max(0.0, squares - sum * sum / count); }
};
using Cells = std::map<RankClass, std::map<std::size_t, Cell>>;

// Logarithm of the ratio of the computation of a rank of the largest run of a class on the grid of another run to that
// on its own grid, as far as it repeats calls more or less often there. Grown ranks repeat the computation with the
// calls, so that no law must count it again.
double LogRepeated(const std::vector<RunCalls>& runs, const CallRules& rules, const RankClass& key,
                   const ClassRules& of_class, std::size_t to) {
  const auto [largest, donors] = of_class.Donors();
  const RunCalls& run = runs[largest];
  const RankCalls& calls = run.of_ranks[static_cast<std::size_t>(donors.front())];
  const RankGrid own = rules.grids[largest].SeenBy(ProgramOf(key)), other = rules.grids[to].SeenBy(ProgramOf(key));
  double there = 0, here = 0;
  for (std::size_t kind = 0; kind < of_class.kinds.size(); ++kind) {
    const std::size_t iteration = run.FirstOfKind(kind);
    if (iteration == run.kinds.size()) continue;
    const auto times = static_cast<double>(std::ranges::count(run.kinds, kind));
    const std::uint32_t first = calls.FirstCall(iteration);
    for (const auto& [grid, sum] : {std::pair(&other, &there), {&own, &here}}) {
      *sum += times * static_cast<double>(calls.compute_after[iteration]);
      for (const PlannedCall& call : PlanCalls(of_class.kinds[kind], kind, *grid, own))
        *sum += times * static_cast<double>(calls.calls[first + call.model].compute);
    }
  }
  return there > 0 && here > 0 ? std::log(there / here) : 0;
}

// Mean logarithms of the computation of ranks, without what follows from repeating calls more often; that goes to
// `repeated`: by what factor the ranks of every run compute longer for it, in the mean.
Cells CellsWithoutStages(const std::vector<RunCalls>& runs, const CallRules& rules, std::vector<double>& repeated) {
  Cells cells;
  std::vector<double> sums(runs.size()), counts(runs.size());
  for (const auto& [key, of_class] : rules.classes) {
    const bool has_stages = std::ranges::any_of(of_class.kinds, [](const std::vector<CallBlock>& blocks) {
      return std::ranges::any_of(blocks, [](const CallBlock& block) { return !block.counts.empty(); });
    });
    std::map<std::size_t, double> of_runs;
    for (const auto& [run, rank] : of_class.donors) {
      const auto [found, is_new] = of_runs.try_emplace(run, 0.0);
      if (is_new && has_stages) found->second = LogRepeated(runs, rules, key, of_class, run);
      cells[key][run].Add(MeanLog(runs[run], rank) - found->second);
      sums[run] += found->second;
      ++counts[run];
    }
  }
  for (std::size_t run = 0; run < runs.size(); ++run)
    repeated.push_back(counts[run] > 0 ? std::exp(sums[run] / counts[run]) : 1);
  return cells;
}

// Least squares of the logarithm of computation over that of the number of ranks, with a level of its own for every
// class.
struct Slope {
  double xx = 0, xy = 0, yy = 0;
  int points = 0;

  // `ranks`: how many every run has.
  void Add(const std::vector<double>& ranks, const std::map<std::size_t, Cell>& cells) {
    double weight = 0, x_mean = 0, y_mean = 0;
    for (const auto& [run, cell] : cells) {
      weight += cell.count;
      x_mean += cell.count * std::log(ranks[run]);
      y_mean += cell.sum;
    }
    x_mean /= weight;
    y_mean /= weight;
    for (const auto& [run, cell] : cells) {
      const double x = std::log(ranks[run]) - x_mean, y = cell.Mean() - y_mean;
      xx += cell.count * x * x;
      xy += cell.count * x * y;
      yy += cell.count * y * y;
      ++points;
    }
  }
  double Power() const { return xx > 0 ? xy / xx : 0; }
  double Rest() const { return std::max(0.0, yy - Power() * xy); }  // sum of squares that it leaves
};

double Simple(double power) {
  for (const double simple : {0.0, -1.0}) {
    if (std::abs(power - simple) < kSimple) return simple;
  }
  return power;
}

// The power of P that a quantity of the runs follows, and its standard error.
ScalingLaw FitRuns(const std::vector<RunCalls>& runs, const std::function<double(std::size_t)>& quantity) {
  std::map<std::size_t, Cell> cells;
  std::vector<double> ranks;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    cells[run].Add(std::log(quantity(run)));
    ranks.push_back(static_cast<double>(runs[run].ranks));
  }
  Slope slope;
  slope.Add(ranks, cells);
  const double freedom = slope.points - 2;
  const double error = freedom > 0 ? std::sqrt(slope.Rest() / freedom / slope.xx) : INFINITY;
  return {.power = slope.Power(), .error = error, .runs = runs.size()};
}

// Instructions follow a simple law unless they clearly do not, as time does without counters; those per cycle change
// only where that is more than chance, or much.
void FitCounterLaws(const std::vector<RunCalls>& runs, const std::vector<double>& repeated, LoadModel& model) {
  for (const RunCalls& run : runs) {
    if (run.instructions.value_or(0) <= 0 || run.cycles.value_or(0) <= 0) return;
  }
  const auto instructions = [&](std::size_t run) {
    return *runs[run].instructions / static_cast<double>(runs[run].ranks) / repeated[run];
  };
  model.instructions = FitRuns(runs, instructions);
  model.instructions->power = Simple(model.instructions->power);
  ScalingLaw per_cycle = FitRuns(runs, [&](std::size_t run) { return *runs[run].instructions / *runs[run].cycles; });
  const double freedom = static_cast<double>(runs.size()) - 2;
  const bool is_clear =
      freedom > 0 && std::abs(per_cycle.power) > StudentQuantile(1 - kFalseTrend / 2, freedom) * per_cycle.error;
  if (!is_clear && std::abs(per_cycle.power) < kSimple) per_cycle.power = 0;
  model.per_cycle = per_cycle;
}

// True if so many ranks of every run are of a class that its law is no accident of a few; chosen: edges of grids have
// ever fewer ranks, and parts of a program that do other work keep theirs.
bool IsLarge(const std::map<std::size_t, Cell>& of_runs, const std::vector<RunCalls>& runs) {
  constexpr double kLarge = 0.1;  // share of the ranks of a run
  return of_runs.size() == runs.size() && std::ranges::all_of(of_runs, [&](const auto& one) {
           return one.second.count >= kLarge * static_cast<double>(runs[one.first].ranks);
         });
}

// Powers of the classes that were seen in enough runs. Differences of ranks of a class and run, and residuals of the
// power of a class in three or more runs, give the standard error of powers; all classes are taken together, since most
// have few ranks.
void FitLaws(const std::vector<RunCalls>& runs, const CallRules& rules, LoadModel& model) {
  std::vector<double> scales, repeated;
  for (const RankGrid& grid : rules.grids) scales.push_back(static_cast<double>(grid.Scale()));
  const Cells cells = CellsWithoutStages(runs, rules, repeated);
  std::array<Slope, 2> all;  // one a program
  std::map<RankClass, Slope> slopes;
  double squares = 0, freedom = 0;
  for (const auto& [key, of_runs] : cells) {
    all[ProgramOf(key)].Add(scales, of_runs);
    for (const auto& [run, cell] : of_runs) {
      squares += cell.Deviations();
      freedom += cell.count - 1;
    }
    if (of_runs.size() < kFewestRunsOfLaw) continue;
    Slope& own = slopes[key];
    own.Add(scales, of_runs);
    squares += own.Rest();
    freedom += own.points - 2;
  }
  if (!rules.grids.back().HasTwo()) FitCounterLaws(runs, repeated, model);
  // With counters, time follows them; the clock is taken to be that of the largest run.
  const double power = model.instructions ? model.instructions->power - model.per_cycle->power : Simple(all[0].Power());
  model.common_law = {.power = power, .runs = runs.size()};
  model.second_law = {.power = Simple(all[1].Power()), .runs = runs.size()};
  if (slopes.empty() || freedom <= 0) return;  // nothing says how exact a power is
  const double clearly = StudentQuantile(1 - kFalseLaws / static_cast<double>(slopes.size()), freedom);
  for (const auto& [key, own] : slopes) {
    const double error = std::sqrt(squares / freedom / own.xx), away = std::abs(own.Power() - model.Law(key).power);
    if (away <= clearly * error || (away > kSimple && !IsLarge(cells.at(key), runs))) continue;
    const double of_class = away > kSimple ? Simple(own.Power()) : own.Power();
    model.laws[key] = {.power = of_class, .error = error, .runs = cells.at(key).size()};
  }
  // Small classes that are far from the law of all follow that of a large one that is near theirs: edges of a part of
  // the ranks do its work.
  const std::map<RankClass, ScalingLaw> laws = model.laws;
  for (const auto& [key, own] : slopes) {
    const double of_class = own.Power();
    if (laws.contains(key) || std::abs(of_class - model.Law(key).power) <= kSimple) continue;
    for (const auto& [other, law] : laws) {
      const bool is_near = ProgramOf(other) == ProgramOf(key) && std::abs(of_class - law.power) <= kSimple;
      if (is_near && !model.laws.contains(key)) model.laws[key] = law;
    }
  }
}

double StandardDeviation(double squares, double freedom) { return freedom > 0 ? std::sqrt(squares / freedom) : 0; }

// The deviation of an iteration that all ranks have in common, and the noise that is left.
void FitIterations(const RunCalls& run, const std::vector<std::size_t>& donors, LoadModel& model) {
  const std::size_t iterations = run.iterations();
  model.common.assign(iterations, 0);
  if (donors.size() < 2 || iterations < 2) return;
  std::vector<std::vector<double>> values;  // logarithms by donor, less its mean over the iterations of the same kind
  for (const std::size_t rank : donors) {
    const RankCalls& calls = run.of_ranks[rank];
    std::map<std::size_t, Cell> kinds;
    std::vector<double>& of_rank = values.emplace_back();
    for (std::size_t i = 0; i < iterations; ++i) {
      of_rank.push_back(LogCompute(run, calls, i));
      kinds[run.kinds[i]].Add(of_rank.back());
    }
    for (std::size_t i = 0; i < iterations; ++i) of_rank[i] -= kinds[run.kinds[i]].Mean();
  }
  double left = 0;
  for (std::size_t i = 0; i < iterations; ++i) {
    Cell cell;
    for (const std::vector<double>& of_rank : values) cell.Add(of_rank[i]);
    model.common[i] = cell.Mean();
    left += cell.Deviations();
  }
  const std::size_t freedom = (donors.size() - 1) * (iterations - 1);
  model.noise = StandardDeviation(left, static_cast<double>(freedom));
  if (model.noise < kNoNoise) model.noise = 0;
}

}  // namespace

const ScalingLaw& LoadModel::Law(const RankClass& of_class) const {
  const auto found = laws.find(of_class);
  if (found != laws.end()) return found->second;
  return ProgramOf(of_class) > 0 ? second_law : common_law;
}

double LoadModel::DrawPersistent(std::size_t donor, Random& random) const {
  if (spread <= 0 || ranks < 2) return 1;
  // Silverman's rule of thumb [Silverman86, eq. 3.31].
  const double width = std::min(1.0, 1.06 * std::pow(static_cast<double>(ranks), -0.2));
  const double own = persistent[donor];
  return std::exp(std::sqrt(1 - width * width) * own + width * spread * random.Normal() - own);
}

LoadModel FitLoadModel(const std::vector<RunCalls>& runs, const CallRules& rules) {
  LoadModel model;
  FitLaws(runs, rules, model);
  // Constant deviations of the donors of the largest run from their classes.
  const RunCalls& largest = runs.back();
  model.persistent.assign(static_cast<std::size_t>(largest.ranks), 0);
  double squares = 0, freedom = 0;
  std::vector<std::size_t> donors;
  for (const auto& [key, of_class] : rules.classes) {
    const std::vector<std::int64_t> ranks = of_class.DonorsIn(runs.size() - 1);
    if (ranks.empty()) continue;
    double mean = 0;
    for (const std::int64_t rank : ranks) mean += MeanLog(largest, rank);
    mean /= static_cast<double>(ranks.size());
    for (const std::int64_t rank : ranks) {
      const double deviation = MeanLog(largest, rank) - mean;
      donors.push_back(static_cast<std::size_t>(rank));
      model.persistent[donors.back()] = deviation;
      squares += deviation * deviation;
    }
    freedom += static_cast<double>(ranks.size()) - 1;
  }
  model.ranks = donors.size();
  model.spread = StandardDeviation(squares, freedom);
  FitIterations(largest, donors, model);
  return model;
}

}  // namespace farscale
