#include "factors/spread.h"

#include <algorithm>
#include <cmath>

#include "factors/useful_time.h"

namespace farscale {
namespace {

constexpr std::size_t kMostBlocks = 20;   // chosen: the error of the error is then below 20 %, and memory small
constexpr std::size_t kFewestBlocks = 3;  // chosen: two deviations at least
constexpr double kRounding = 1e-9;        // chosen: of factors and shares, equal samples that took different ways

// Sums over some iterations.
struct IterationSums {
  std::vector<Tick> useful, paused, elapsed, ideal;  // one a rank
  std::vector<ThreadTicks> threads;                  // the same, where they are known
  std::vector<DeviceTicks> devices;
  double instructions = 0;
  double cycles = 0;
  double seconds = 0;  // as the profiles of the iterations have it
  double ideal_seconds = 0;
  double estimated_ideal = 0;

  explicit IterationSums(std::size_t ranks)
      : useful(ranks), paused(ranks), elapsed(ranks), ideal(ranks), threads(ranks) {}
};

// `all`: all iterations, with those that no block has.
PhaseTotals Without(const IterationSums& block, const IterationSums& all, const Trace& trace, const PhaseCut& cut,
                    const PhaseTicks& ticks, const PhaseTotals& whole) {
  std::vector<Tick> useful = ticks.useful, paused = ticks.paused;
  for (std::size_t rank = 0; rank < useful.size(); ++rank) {
    useful[rank] -= block.useful[rank];
    paused[rank] -= block.paused[rank];
  }
  PhaseTotals totals = SumRanks(trace, cut, useful, paused);
  const auto longest_without = [&](const std::vector<Tick>& of_block, const std::vector<Tick>& of_all) {
    Tick longest = 0;
    for (std::size_t rank = 0; rank < of_all.size(); ++rank) longest = std::max(longest, of_all[rank] - of_block[rank]);
    return trace.Seconds(longest);
  };
  const bool is_each = cut.span == Span::kEach;
  totals.elapsed = is_each ? longest_without(block.elapsed, all.elapsed) : whole.elapsed - block.seconds;
  if (whole.ideal_elapsed > 0) {
    totals.ideal_elapsed =
        is_each ? longest_without(block.ideal, all.ideal) : whole.ideal_elapsed - block.ideal_seconds;
  }
  if (ticks.states != nullptr) {
    std::vector<ThreadTicks> threads = ticks.threads;
    for (std::size_t rank = 0; rank < threads.size(); ++rank) threads[rank] -= block.threads[rank];
    UseThreads(trace, cut, threads, totals);
  }
  std::vector<DeviceTicks> devices = ticks.devices;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    devices[i].kernels -= block.devices[i].kernels;
    devices[i].active -= block.devices[i].active;
  }
  totals.devices = DeviceTimesOf(trace, devices, totals.elapsed);
  if (whole.instructions) totals.instructions = *whole.instructions - block.instructions;
  if (whole.cycles) totals.cycles = *whole.cycles - block.cycles;
  if (whole.estimated_ideal) {
    totals.estimated_ideal = ClampEstimate(all.estimated_ideal - block.estimated_ideal, totals);
  }
  return totals;
}

// Sums over the blocks, and over all iterations with those left over.
std::pair<std::vector<IterationSums>, IterationSums> SumBlocks(const Trace& trace, const PhaseCut& cut,
                                                               const ReplayResult& replay, const FactorOptions& options,
                                                               const PhaseTicks& ticks, const PhaseFactors& factors) {
  const std::size_t count = BlocksOf(cut.iterations).first, size = BlocksOf(cut.iterations).second;
  std::vector<IterationSums> blocks(count, IterationSums(trace.size()));
  IterationSums all(trace.size());
  for (std::size_t k = 0; k < factors.profiles.size(); ++k) {
    const IterationProfile& profile = factors.profiles[k];
    all.estimated_ideal += profile.largest_useful;
    if (k / size >= count) continue;
    IterationSums& block = blocks[k / size];
    block.estimated_ideal += profile.largest_useful;
    block.seconds += profile.elapsed;
    block.ideal_seconds += profile.ideal;
  }
  for (std::size_t block = 0; block < count; ++block) {
    blocks[block].devices = TicksOfDevices(trace, cut, [&](std::size_t rank) -> std::vector<Interval> {
      if (!cut.ranks[rank].present) return {};
      const auto first = cut.ranks[rank].iterations.begin() + static_cast<std::ptrdiff_t>(block * size);
      return {first, first + static_cast<std::ptrdiff_t>(size)};
    });
  }
  std::optional<std::size_t> instructions, cycles;
  if (factors.totals.instructions) {
    instructions = ChooseCounter(trace, CounterMeaning::kInstructions, options.counters);
  }
  if (factors.totals.cycles) cycles = ChooseCounter(trace, CounterMeaning::kCycles, options.counters);
  const auto count_of = [&](std::size_t rank, std::optional<std::size_t> counter, const Interval& interval) -> double {
    if (!counter) return 0;
    const double counted = ticks.states != nullptr ? ticks.states->UsefulCount(trace, rank, *counter, interval)
                                                   : UsefulCount(trace.timelines[rank], *counter, interval);
    return counted * trace.counters[*counter].scale;
  };
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    const RankCut& rank_cut = cut.ranks[rank];
    for (std::size_t k = 0; rank_cut.present && k < rank_cut.iterations.size(); ++k) {
      const Interval& iteration = rank_cut.iterations[k];
      const Tick ideal = replay.TimeAt(timeline, rank_cut, rank, iteration.end) -
                         replay.TimeAt(timeline, rank_cut, rank, iteration.begin);
      all.elapsed[rank] += iteration.length();
      all.ideal[rank] += ideal;
      if (k / size >= count) continue;
      IterationSums& block = blocks[k / size];
      block.useful[rank] += UsefulTicks(timeline, iteration);
      block.paused[rank] += PausedTicks(timeline, iteration);
      if (ticks.states != nullptr) block.threads[rank] += ticks.states->In(rank, iteration);
      block.elapsed[rank] += iteration.length();
      block.ideal[rank] += ideal;
      block.instructions += count_of(rank, instructions, iteration);
      block.cycles += count_of(rank, cycles, iteration);
    }
  }
  return {std::move(blocks), std::move(all)};
}

}  // namespace

std::pair<std::size_t, std::size_t> BlocksOf(std::size_t iterations) {
  if (iterations < kFewestBlocks) return {0, 1};
  const std::size_t size = (iterations + kMostBlocks - 1) / kMostBlocks;
  return {iterations / size, size};
}

double JackknifeError(const std::vector<double>& samples, std::size_t iterations, std::size_t block_size) {
  // Differences to the first sample instead of to the mean: equal samples give no rounding.
  const auto count = static_cast<double>(samples.size());
  double sum = 0, squares = 0;
  for (const double sample : samples) {
    sum += sample - samples.front();
    squares += (sample - samples.front()) * (sample - samples.front());
  }
  const double deviations = std::max(0.0, squares - sum * sum / count);
  const auto n = static_cast<double>(iterations), m = static_cast<double>(block_size);
  const double error = std::sqrt((n - m) / (m * count) * deviations);
  return error < kRounding ? 0 : error;
}

std::optional<BlockSamples> SampleBlocks(const Trace& trace, const PhaseCut& cut, const ReplayResult& replay,
                                         const FactorOptions& options, const PhaseTicks& ticks,
                                         const PhaseFactors& factors) {
  const auto [count, size] = BlocksOf(cut.iterations);
  if (count == 0) return std::nullopt;
  const bool is_even = std::all_of(cut.ranks.begin(), cut.ranks.end(), [&](const RankCut& rank) {
    return !rank.present || rank.iterations.size() == cut.iterations;
  });
  if (!is_even) return std::nullopt;
  const auto [blocks, all] = SumBlocks(trace, cut, replay, options, ticks, factors);
  const PhaseTotals& whole = factors.totals;
  const auto n = static_cast<double>(cut.iterations);
  const double longer = n / (n - static_cast<double>(size));  // fewer iterations are left
  BlockSamples samples;
  samples.iterations = cut.iterations;
  samples.block_size = size;
  for (const IterationSums& block : blocks) {
    const PhaseTotals sample = Without(block, all, trace, cut, ticks, whole);
    const bool has_work = sample.largest_useful > 0 && sample.UsefulOfAll() > 0 && sample.elapsed > 0 &&
                          (sample.ideal_elapsed > 0 || whole.ideal_elapsed == 0) &&
                          sample.instructions.value_or(1) > 0 && sample.cycles.value_or(1) > 0;
    if (!has_work) return std::nullopt;
    samples.values.push_back(FactorsOf(sample, options.rules.set));
    samples.elapsed.push_back(longer * sample.elapsed / whole.elapsed);
    samples.useful.push_back(longer * sample.UsefulOfAll() / whole.UsefulOfAll());
    if (whole.instructions) samples.instructions.push_back(longer * *sample.instructions / *whole.instructions);
    if (whole.cycles) samples.cycles.push_back(longer * *sample.cycles / *whole.cycles);
  }
  return samples;
}

namespace {

// Deviations of factors and shares that are less than this together are rounding; chosen, as kRounding.
constexpr double kNoVariation = 1e-9;

std::vector<double> Centred(std::vector<double> samples) {
  double mean = 0;
  for (const double sample : samples) mean += sample / static_cast<double>(samples.size());
  for (double& sample : samples) sample -= mean;
  return samples;
}

double Product(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// The error of a run's samples once the pattern of the others is taken out of them, as much of it as there is. That
// takes one of the B - 1 directions in which they can vary; the others show the error.
double ErrorBeside(const std::vector<double>& own, const std::vector<std::vector<double>>& others,
                   const BlockSamples& run) {
  // The mean of the deviations of the others, each of length 1, so that no run with much noise outweighs the rest.
  std::vector<double> pattern;
  for (const std::vector<double>& other : others) {
    const std::vector<double> deviations = Centred(other);
    const double length = std::sqrt(Product(deviations, deviations));
    if (length < kNoVariation) continue;
    pattern.resize(deviations.size());
    for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] += deviations[i] / length;
  }
  if (!(Product(pattern, pattern) > 0)) return JackknifeError(own, run.iterations, run.block_size);
  std::vector<double> rest = Centred(own);
  const double amount = Product(rest, pattern) / Product(pattern, pattern);
  for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= amount * pattern[i];
  const auto count = static_cast<double>(own.size());
  return JackknifeError(rest, run.iterations, run.block_size) * std::sqrt((count - 1) / (count - 2));
}

}  // namespace

std::vector<std::pair<FactorValues, RelativeErrors>> ErrorsOf(const std::vector<BlockSamples>& runs) {
  // The samples of every quantity of every run: of the factors, then of what RelativeErrors are of. Empty where one is
  // not known.
  std::vector<std::vector<std::vector<double>>> samples;
  const auto ratios = [](const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<double> of_values;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) of_values.push_back(a[i] / b[i]);
    return of_values;
  };
  for (const BlockSamples& run : runs) {
    std::vector<std::vector<double>>& all = samples.emplace_back();
    for (const FactorType& type : AllFactors()) {
      std::vector<double>& of_factor = all.emplace_back();
      for (const FactorValues& values : run.values) {
        if (values[type.factor]) of_factor.push_back(*values[type.factor]);
      }
      if (of_factor.size() < run.values.size()) of_factor.clear();
    }
    all.insert(all.end(), {run.elapsed, run.useful, run.instructions});
    all.insert(all.end(), {ratios(run.instructions, run.cycles), ratios(run.cycles, run.useful)});
  }
  std::vector<std::pair<FactorValues, RelativeErrors>> errors(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto error_of = [&](std::size_t quantity) -> std::optional<double> {
      if (samples[i][quantity].empty()) return std::nullopt;
      std::vector<std::vector<double>> others;
      for (std::size_t j = 0; j < runs.size(); ++j) {
        const bool is_alike = j != i && runs[j].iterations == runs[i].iterations;
        if (is_alike && !samples[j][quantity].empty()) others.push_back(samples[j][quantity]);
      }
      return ErrorBeside(samples[i][quantity], others, runs[i]);
    };
    auto& [of_factors, relative] = errors[i];
    for (std::size_t k = 0; k < kFactorCount; ++k) of_factors[static_cast<Factor>(k)] = error_of(k);
    relative = {*error_of(kFactorCount), *error_of(kFactorCount + 1), error_of(kFactorCount + 2),
                error_of(kFactorCount + 3), error_of(kFactorCount + 4)};
  }
  return errors;
}

void AddErrors(const std::vector<FactorRow*>& rows) {
  // Once all runs are known, so is what they have in common.
  std::vector<BlockSamples> samples;
  std::vector<FactorRow*> sampled;
  for (FactorRow* row : rows) {
    if (!row->samples || !row->totals) continue;
    samples.push_back(*row->samples);
    sampled.push_back(row);
    row->samples.reset();
  }
  const auto errors = ErrorsOf(samples);
  for (std::size_t i = 0; i < sampled.size(); ++i) {
    const auto& [of_factors, relative] = errors[i];
    sampled[i]->standard_errors = of_factors;
    sampled[i]->totals->errors = relative;
    if (sampled[i]->runtime) sampled[i]->runtime_error = *sampled[i]->runtime * relative.elapsed;
  }
  for (FactorRow* row : rows) {
    if (!row->totals || !row->totals->errors) continue;
    const RelativeErrors& of_row = *row->totals->errors;
    const auto set = [&](Factor factor, std::optional<double> relative) {
      std::optional<double>& known = row->standard_errors[factor];
      if (!known && row->values[factor] && relative) known = *row->values[factor] * *relative;
    };
    // avg t / T times the reference's work per Σ t: of the run itself only T is left in it.
    set(Factor::kGlobalEfficiency, of_row.elapsed);
    set(Factor::kComputationScalability, of_row.useful);
    set(Factor::kInstructionScaling, of_row.instructions);
    set(Factor::kIpcScaling, of_row.ipc);
    set(Factor::kFrequencyScaling, of_row.frequency);
    set(Factor::kSpeedup, of_row.elapsed);
  }
}

}  // namespace farscale
