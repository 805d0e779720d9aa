#include "report/compared_counts.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "report/decomposition.h"

namespace farscale {
namespace {

using Kind = Contribution::Kind;

// Rows err independently of their reference; what is compared with it has the error of both.
Measurement WithReference(Measurement measured, const ComparedSide& side, Factor factor, std::int64_t cores,
                          const Noise& noise) {
  const RowReading value = [&](const FactorRow& row) { return row.values[factor]; };
  const RowReading error = [&](const FactorRow& row) { return row.standard_errors[factor]; };
  if (!ComparesWithReference(factor) || cores == side.reference) return measured;
  const RunValues at = side.ValuesAt(side.reference, value, error);
  if (const auto reference = Measure(at.values, at.errors, noise)) {
    measured.error = std::hypot(measured.error, reference->error);
  }
  return measured;
}

class CountComparer {
 public:
  explicit CountComparer(const ComparedSides& sides) : sides_(sides) {}

  ComparedCount CompareAt(std::int64_t cores) const {
    ComparedCount count;
    count.cores = static_cast<double>(cores);
    count.is_common = sides_.before.Counts().count(cores) > 0 && sides_.after.Counts().count(cores) > 0;
    FactorValues before, after;
    for (const FactorType& type : AllFactors()) {
      const ComparedNumber number = NumberOf(cores, type.factor);
      if (!number.before && !number.after) continue;
      count.factors.push_back({type.factor, number});
      if (!number.change) continue;
      before[type.factor] = number.before;
      after[type.factor] = number.after;
    }
    count.seconds = NumberOf(cores, std::nullopt);
    count.efficiency = ExplainWhole(before, after, count.whole);
    const bool has_time = count.efficiency && count.whole == Factor::kGlobalEfficiency && count.seconds.change;
    if (has_time && sides_.before.scaling) {
      count.time = ExplainTime(*count.seconds.before, *count.seconds.after, *count.efficiency);
      SplitBase(*count.time);
    }
    return count;
  }

 private:
  ComparedNumber NumberOf(std::int64_t cores, std::optional<Factor> factor) const {
    const RowReading value = [&](const FactorRow& row) { return factor ? row.values[*factor] : SecondsOfRow(row); };
    const RowReading error = [&](const FactorRow& row) {
      if (factor) return row.standard_errors[*factor];
      return row.runtime_error ? std::optional(*row.runtime_error / row.iterations) : std::nullopt;
    };
    // Repeats that agree by luck, or because a table is rounded, do not make the noise 0.
    const std::optional<Noise> repeats = NoiseBetweenRepeats(sides_, value);
    const Noise noise = repeats ? Pool(*repeats, Noise{}) : Noise{};
    ComparedNumber number;
    std::optional<Measurement> measured[2];
    for (const ComparedSide* side : {&sides_.before, &sides_.after}) {
      const RunValues at = side->ValuesAt(cores, value, error);
      std::optional<Measurement>& one = measured[side == &sides_.after ? 1 : 0];
      one = Measure(at.values, at.errors, noise);
      if (one && factor) one = WithReference(*one, *side, *factor, cores, noise);
    }
    if (measured[0]) number.before = measured[0]->value;
    if (measured[1]) number.after = measured[1]->value;
    const bool means_the_same = !factor || sides_.Compares(*factor);
    if (measured[0] && measured[1] && means_the_same) number.change = ChangeBetween(*measured[0], *measured[1]);
    return number;
  }

  std::optional<double> LogarithmAtReference(const RowReading& value) const {
    const std::optional<double> before = sides_.before.AtReference(value), after = sides_.after.AtReference(value);
    return before && after ? std::optional(std::log(*after / *before)) : std::nullopt;
  }

  // What the reference run computes takes instructions over their rate; the rate is IPC times frequency.
  void SplitBase(Decomposition& time) const {
    const auto instructions = LogarithmAtReference([](const FactorRow& row) -> std::optional<double> {
      return row.totals && row.totals->instructions ? std::optional(*row.totals->instructions / row.iterations)
                                                    : std::nullopt;
    });
    const auto ipc = LogarithmAtReference([](const FactorRow& row) -> std::optional<double> {
      if (!row.totals || !row.totals->instructions || !row.totals->cycles) return std::nullopt;
      return *row.totals->instructions / *row.totals->cycles;
    });
    const auto base = std::find_if(time.parts.begin(), time.parts.end(),
                                   [](const Contribution& part) { return part.kind == Kind::kBase; });
    if (!instructions || base == time.parts.end()) return;
    std::vector<Contribution> parts = {{Kind::kBaseInstructions, {}, *instructions}};
    const double rate = base->logarithm - *instructions;
    if (ipc) {
      parts.push_back({Kind::kBaseIpc, {}, -*ipc});
      parts.push_back({Kind::kBaseFrequency, {}, rate + *ipc});
    } else {
      parts.push_back({Kind::kBaseRate, {}, rate});
    }
    time.parts.insert(time.parts.erase(base), parts.begin(), parts.end());
  }

  const ComparedSides& sides_;
};

}  // namespace

std::optional<Noise> NoiseBetweenRepeats(const ComparedSides& sides, const RowReading& value) {
  std::vector<std::vector<double>> repeats;
  const RowReading none = [](const FactorRow&) { return std::optional<double>(); };
  for (const ComparedSide* side : {&sides.before, &sides.after}) {
    for (const std::int64_t cores : side->Counts()) {
      repeats.push_back(side->ValuesAt(cores, value, none).values);
    }
  }
  return NoiseOfRepeats(repeats);
}

std::vector<ComparedCount> CompareCounts(const ComparedSides& sides) {
  std::set<std::int64_t> counts = sides.before.Counts();
  const std::set<std::int64_t> others = sides.after.Counts();
  counts.insert(others.begin(), others.end());
  std::vector<ComparedCount> compared;
  for (const std::int64_t cores : counts) compared.push_back(CountComparer(sides).CompareAt(cores));
  return compared;
}

}  // namespace farscale
