#include "factors/run_errors.h"

#include <cmath>

#include "factors/spread.h"

namespace farscale {
namespace {

// Deviations of factors and shares that are less than this together are rounding.
constexpr double kNoVariation = 1e-9;

// What one quantity is in the samples of a run; empty when it is not known.
template <typename ValueOf>
std::vector<double> Samples(const BlockSamples& run, ValueOf value_of) {
  std::vector<double> samples;
  for (std::size_t block = 0; block < run.values.size(); ++block) {
    const std::optional<double> value = value_of(run, block);
    if (!value) return {};
    samples.push_back(*value);
  }
  return samples;
}

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

// How the samples of several runs vary, whatever how much: the mean of their deviations, each of length 1, so that no
// run with much noise outweighs the others. Empty when none varies.
std::vector<double> PatternOf(const std::vector<std::vector<double>>& runs) {
  std::vector<double> pattern;
  for (const std::vector<double>& run : runs) {
    const std::vector<double> deviations = Centred(run);
    const double length = std::sqrt(Product(deviations, deviations));
    if (length < kNoVariation) continue;
    pattern.resize(deviations.size());
    for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] += deviations[i] / length;
  }
  return Product(pattern, pattern) > 0 ? pattern : std::vector<double>();
}

// The error of a run's samples once the pattern of the others is taken out of them, as much of it as there is. That
// takes one of the B - 1 directions in which they can vary; the others show the error.
double ErrorBeside(const std::vector<double>& own, const std::vector<std::vector<double>>& others,
                   const BlockSamples& run) {
  const std::vector<double> pattern = PatternOf(others);
  if (pattern.empty()) return JackknifeError(own, run.iterations, run.block_size);
  std::vector<double> rest = Centred(own);
  const double amount = Product(rest, pattern) / Product(pattern, pattern);
  for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= amount * pattern[i];
  const auto count = static_cast<double>(own.size());
  return JackknifeError(rest, run.iterations, run.block_size) * std::sqrt((count - 1) / (count - 2));
}

// The error of one quantity of a run; nothing when it is not known.
template <typename ValueOf>
std::optional<double> ErrorOf(const BlockSamples& run, const std::vector<const BlockSamples*>& others,
                              ValueOf value_of) {
  const std::vector<double> own = Samples(run, value_of);
  if (own.empty()) return std::nullopt;
  std::vector<std::vector<double>> of_others;
  for (const BlockSamples* other : others) {
    std::vector<double> samples = Samples(*other, value_of);
    if (!samples.empty()) of_others.push_back(std::move(samples));
  }
  return ErrorBeside(own, of_others, run);
}

std::optional<double> At(const std::vector<double>& samples, std::size_t block) {
  return samples.empty() ? std::nullopt : std::optional(samples[block]);
}

std::optional<double> Ratio(const std::vector<double>& a, const std::vector<double>& b, std::size_t block) {
  return a.empty() || b.empty() ? std::nullopt : std::optional(a[block] / b[block]);
}

RunErrors ErrorsOfRun(const BlockSamples& run, const std::vector<const BlockSamples*>& others) {
  using Run = const BlockSamples&;
  RunErrors errors;
  for (const FactorType& type : AllFactors()) {
    errors.standard_errors[type.factor] =
        ErrorOf(run, others, [&](Run r, std::size_t block) { return r.values[block][type.factor]; });
  }
  const auto error_of = [&](auto value_of) { return ErrorOf(run, others, value_of); };
  RelativeErrors& relative = errors.relative;
  relative.elapsed = *error_of([](Run r, std::size_t block) { return At(r.elapsed, block); });
  relative.useful = *error_of([](Run r, std::size_t block) { return At(r.useful, block); });
  relative.instructions = error_of([](Run r, std::size_t block) { return At(r.instructions, block); });
  relative.ipc = error_of([](Run r, std::size_t block) { return Ratio(r.instructions, r.cycles, block); });
  relative.frequency = error_of([](Run r, std::size_t block) { return Ratio(r.cycles, r.useful, block); });
  return errors;
}

// Once all runs are known, so is what they have in common.
void UseSamples(const std::vector<FactorRow*>& rows) {
  std::vector<BlockSamples> samples;
  std::vector<FactorRow*> sampled;
  for (FactorRow* row : rows) {
    if (!row->samples || !row->totals) continue;
    samples.push_back(*row->samples);
    sampled.push_back(row);
    row->samples.reset();
  }
  const std::vector<RunErrors> errors = ErrorsOf(samples);
  for (std::size_t i = 0; i < sampled.size(); ++i) {
    sampled[i]->standard_errors = errors[i].standard_errors;
    sampled[i]->totals->errors = errors[i].relative;
    if (sampled[i]->runtime) sampled[i]->runtime_error = *sampled[i]->runtime * errors[i].relative.elapsed;
  }
}

void AddComparisonErrors(FactorRow& row, const RelativeErrors& errors) {
  const auto set = [&](Factor factor, std::optional<double> relative) {
    std::optional<double>& known = row.standard_errors[factor];
    if (!known && row.values[factor] && relative) known = *row.values[factor] * *relative;
  };
  // avg t / T times the reference's work per Σ t: of the run itself only T is left in it.
  set(Factor::kGlobalEfficiency, errors.elapsed);
  set(Factor::kComputationScalability, errors.useful);
  set(Factor::kInstructionScaling, errors.instructions);
  set(Factor::kIpcScaling, errors.ipc);
  set(Factor::kFrequencyScaling, errors.frequency);
  set(Factor::kSpeedup, errors.elapsed);
}

}  // namespace

std::vector<RunErrors> ErrorsOf(const std::vector<BlockSamples>& runs) {
  std::vector<RunErrors> errors;
  for (const BlockSamples& run : runs) {
    std::vector<const BlockSamples*> others;
    for (const BlockSamples& other : runs) {
      if (&other != &run && other.iterations == run.iterations) others.push_back(&other);
    }
    errors.push_back(ErrorsOfRun(run, others));
  }
  return errors;
}

void AddErrors(const std::vector<FactorRow*>& rows) {
  UseSamples(rows);
  for (FactorRow* row : rows) {
    if (row->totals && row->totals->errors) AddComparisonErrors(*row, *row->totals->errors);
  }
}

}  // namespace farscale
