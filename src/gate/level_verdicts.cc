// Values against bounds: min, max, warn.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "gate/judging.h"
#include "projection/reliable_range.h"
#include "stats/distributions.h"

namespace farscale {
namespace {

// Chosen: 95 % is usual for measurements; for projections, the interval that backtests calibrate.
constexpr double kMeasuredConfidence = 0.95;
constexpr double kProjectedConfidence = 0.8;

class LevelJudge {
 public:
  LevelJudge(GateData& data, std::size_t rule, const PhaseKey& key)
      : data_(data),
        rule_(data.rules().rules[rule]),
        key_(key),
        base_(Undecided(data, rule, key, Judgement::Check::kLevel)) {
    base_.bound = rule_.Bound() ? rule_.Bound() : rule_.warn;
    samples_ = SamplesOf(data.table(), key, rule_.quantity);
    const CommitSeries series = CommitSeriesOf(data.history(), key, rule_.quantity);
    std::vector<double> cores;
    for (const auto& [count, runs] : samples_) cores.push_back(count);
    noise_ = LearnNoise(series, samples_, cores, data.rules().noise);
  }

  std::vector<Judgement> All() {
    std::vector<double> counts = rule_.cores;
    if (rule_.counts == Rule::Counts::kAll || rule_.counts == Rule::Counts::kMeasured) {
      for (const auto& [cores, runs] : samples_) counts.push_back(cores);
    } else if (rule_.counts == Rule::Counts::kTargets) {
      counts = data_.Targets(key_);
    }
    std::vector<Judgement> judgements;
    for (const double cores : counts) judgements.push_back(At(cores));
    if (counts.empty()) {
      judgements.push_back(
          Undecidable(base_, rule_.counts == Rule::Counts::kTargets
                                 ? fmt::format("{} is not projected to any core count", PlaceOf(data_, key_))
                                 : SubjectOf(data_, base_) + " is unknown" + WhyUnknown(data_, rule_.quantity)));
    }
    return judgements;
  }

 private:
  std::string Subject(double cores) const { return SubjectAt(data_, base_, {cores}); }

  Judgement At(double cores) {
    Judgement judgement = base_;
    judgement.cores = {cores};
    const auto found = samples_.find(cores);
    if (found != samples_.end()) return Measured(judgement, found->second);
    const std::vector<double> measured = data_.MeasuredCores(key_);
    if (std::ranges::find(measured, cores) != measured.end()) {
      return Undecidable(judgement, fmt::format("{} is unknown{}", Subject(cores), WhyUnknown(data_, rule_.quantity)));
    }
    if (!measured.empty() && cores < measured.front()) {
      return Undecidable(judgement, fmt::format("{} was not measured, and runs begin at {}", Subject(cores),
                                                FormatCoreCount(measured.front())));
    }
    return Projected(judgement);
  }

  Judgement Measured(Judgement judgement, const Samples& samples) {
    const double cores = judgement.cores.front();
    judgement.runs = samples.values.size();
    if (judgement.runs < static_cast<std::size_t>(rule_.min_runs)) {
      return Undecidable(judgement, fmt::format("{} was measured in {} of the {} runs that the rule asks for",
                                                Subject(cores), judgement.runs, rule_.min_runs));
    }
    const std::optional<Measurement> mean = NewestAt(samples, cores, noise_);
    judgement.value = mean->value;
    judgement.confidence = rule_.confidence.value_or(kMeasuredConfidence);
    const double reach = std::exp(mean->error * StudentQuantile(judgement.confidence, mean->freedom));
    judgement.interval = {mean->value / reach, Limited(mean->value * reach, mean->value)};
    const FactorLogs logs = LogsOf({&data_.table()}, key_, {cores});
    return Decide(judgement, logs);
  }

  // Shares end at 1.
  double Limited(double high, double value) const {
    const bool is_share = !rule_.quantity.IsTime() && Describe(rule_.quantity.factor).AtMostOne();
    return is_share ? std::max(value, std::min(high, 1.0)) : high;
  }

  Judgement Projected(Judgement judgement) {
    const double cores = judgement.cores.front();
    judgement.is_projected = true;
    const PhaseProjection* projection = data_.Projection(key_);
    const auto projected = projection == nullptr ? std::nullopt : ProjectedAt(*projection, rule_.quantity, cores);
    if (!projected) {
      const std::string missing = projection == nullptr ? "" : DescribeMissing(*projection);
      const std::string why = missing.empty() ? WhyUnknown(data_, rule_.quantity) : ": " + missing;
      return Undecidable(judgement,
                         fmt::format("{} was neither measured nor can it be projected{}", Subject(cores), why));
    }
    const Factor witness = rule_.quantity.IsTime() ? Factor::kSpeedup : rule_.quantity.factor;
    const double reach = ReliableUpTo(*projection, witness);
    if (cores > reach) {
      return Undecidable(judgement, fmt::format("{} lies beyond the reliable range, which ends at {}", Subject(cores),
                                                FormatCoreCount(WholeCores(reach))));
    }
    judgement.value = projected->value;
    judgement.confidence = rule_.confidence.value_or(kProjectedConfidence);
    judgement.interval = projected->IntervalAt(judgement.confidence);
    if (judgement.interval) judgement.interval->high = Limited(judgement.interval->high, projected->value);
    if (!judgement.interval && !rule_.by_value) {
      return Undecidable(judgement, fmt::format("the interval of {} is unknown", Subject(cores)));
    }
    return Decide(judgement, LogsOf(*projection, cores));
  }

  // Below 0: worse than the bound.
  double Beyond(double value, double bound) const { return rule_.quantity.IsTime() ? bound - value : value - bound; }

  Judgement Decide(Judgement judgement, const FactorLogs& logs) {
    const std::optional<double> bound = rule_.Bound() ? rule_.Bound() : rule_.warn;
    const std::string worse = rule_.quantity.IsTime() ? "above " : "below ";
    judgement.verdict = Verdict::kPass;
    std::string reason = "not " + worse + FormatQuantity(rule_.quantity, *bound);
    if (rule_.Bound()) {
      const IntervalBounds value{*judgement.value, *judgement.value};
      const IntervalBounds& range = rule_.by_value ? value : *judgement.interval;
      const auto [least, most] = std::minmax({Beyond(range.low, *bound), Beyond(range.high, *bound)});
      if (most < 0) {
        judgement.verdict = Verdict::kFail;
        reason = worse + FormatQuantity(rule_.quantity, *bound);
      } else if (least < 0) {
        judgement.verdict = VerdictInDoubt(rule_, judgement);
        reason = fmt::format("too near to {} to tell", FormatQuantity(rule_.quantity, *bound));
      }
    }
    if (rule_.warn && judgement.verdict == Verdict::kPass && Beyond(*judgement.value, *rule_.warn) < 0) {
      judgement.verdict = Verdict::kWarn;
      judgement.bound = rule_.warn;
      reason = fmt::format("{}{}, where warnings begin", worse, FormatQuantity(rule_.quantity, *rule_.warn));
    }
    judgement.sentence = Sentence(judgement, reason);
    if (judgement.verdict != Verdict::kPass) judgement.blame = BlameForLoss(rule_.quantity, logs);
    return judgement;
  }

  std::string Sentence(const Judgement& judgement, const std::string& reason) const {
    std::string text =
        fmt::format("{} is {}{}", Subject(judgement.cores.front()), judgement.is_projected ? "projected to be " : "",
                    FormatQuantity(rule_.quantity, *judgement.value));
    if (judgement.interval && !rule_.by_value) {
      text += fmt::format(" ({} interval {} to {})", ConfidenceText(judgement.confidence),
                          FormatQuantity(rule_.quantity, judgement.interval->low),
                          FormatQuantity(rule_.quantity, judgement.interval->high));
    }
    return text + ", " + reason + ".";
  }

  GateData& data_;
  const Rule& rule_;
  PhaseKey key_;
  Judgement base_;
  SamplesByCores samples_;
  SeriesNoise noise_;
};

}  // namespace

std::vector<Judgement> JudgeLevels(GateData& data, std::size_t rule, const PhaseKey& key) {
  return LevelJudge(data, rule, key).All();
}

}  // namespace farscale
