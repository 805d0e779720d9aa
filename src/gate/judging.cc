#include "gate/judging.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "base/text.h"
#include "factors/anomalies.h"
#include "projection/reliable_range.h"
#include "stats/distributions.h"

namespace farscale {
namespace {

std::vector<double> ProjectedTargets(const PhaseProjection& projection) {
  std::vector<double> targets;
  for (const FactorProjection& factor : projection.factors) {
    for (const ProjectedValue& value : factor.targets) targets.push_back(value.cores);
    if (!targets.empty()) break;
  }
  return targets;
}

}  // namespace

std::pair<std::optional<double>, std::optional<IntervalBounds>> ProjectedAt(const PhaseProjection& projection,
                                                                            const Quantity& quantity, double cores,
                                                                            double confidence) {
  const auto at = [&](double value, double scale, const auto& interval80, const auto& interval95) {
    const bool is_wide = interval95 && (confidence > 0.875 || !interval80);
    const auto& nearest = is_wide ? interval95 : interval80;
    const std::optional<double> high = nearest ? std::optional<double>(nearest->high) : std::nullopt;
    std::optional<IntervalBounds> interval;
    value *= scale;
    if (high) interval = {nearest->low * scale, *high * scale};
    const double known = is_wide ? 0.95 : 0.8;
    if (interval && confidence != known) {
      const double wider = NormalReach(confidence) / NormalReach(known);
      interval = {std::max(0.0, value - wider * (value - interval->low)), value + wider * (interval->high - value)};
    }
    return std::pair(std::optional(value), interval);
  };
  if (!quantity.IsTime()) {
    const FactorProjection* found = projection.Find(quantity.factor);
    if (found == nullptr) return {};
    for (const ProjectedValue& value : found->targets) {
      if (value.cores == cores) return at(value.value, 1, value.interval80, value.interval95);
    }
    return {};
  }
  if (!projection.key_results || !projection.key_results->time) return {};
  const TimeEstimate& time = *projection.key_results->time;
  const double scale = quantity.kind == Quantity::Kind::kRuntime ? time.iterations : 1;
  for (const ProjectedTime& target : time.targets) {
    if (target.cores == cores) return at(target.seconds, scale, target.interval80, target.interval95);
  }
  return {};
}

GateData::GateData(const GateRules& gate_rules, const GateInput& gate_input)
    : rules(gate_rules),
      input(gate_input),
      table(input.results.table),
      compared(table),
      phases(table.Keys()),
      history(input.baseline.value_or(History())) {
  std::vector<std::pair<std::string, FactorTable*>> tables;
  for (MeasuredResults& entry : history) tables.emplace_back(NameOf(entry), &entry.table);
  tables.emplace_back(input.results.name, &compared);
  terms = AgreeOnTerms(tables).findings();
  std::set<double> targets(input.targets.begin(), input.targets.end());
  for (const Rule& rule : rules.rules) targets.insert(rule.cores.begin(), rule.cores.end());
  targets_.assign(targets.begin(), targets.end());
}

std::vector<PhaseKey> GateData::LostPhases() const {
  if (history.empty()) return {};
  std::vector<PhaseKey> lost = history.back().table.Keys();
  std::erase_if(lost, [&](const PhaseKey& key) { return std::ranges::find(phases, key) != phases.end(); });
  return lost;
}

std::vector<double> GateData::MeasuredCores(const PhaseKey& key) const {
  std::set<double> cores;
  for (const FactorRow& row : table.Rows(key)) cores.insert(static_cast<double>(row.cores));
  return {cores.begin(), cores.end()};
}

bool GateData::ResultsHaveTargets() const {
  const auto has = [&](const PhaseProjection& projection, double cores) {
    if (!projection.obstacle.empty() || projection.factors.empty()) return true;  // making it anew does not help
    return std::ranges::any_of(projection.factors, [&](const FactorProjection& factor) {
      return std::ranges::find(factor.targets, cores, &ProjectedValue::cores) != factor.targets.end();
    });
  };
  for (const PhaseKey& key : phases) {
    const PhaseProjection* projection = FindPhase(input.results.projections, key);
    if (projection == nullptr) return false;
    const std::vector<double> measured = MeasuredCores(key);
    for (const double cores : targets_) {
      const bool is_measured = std::ranges::find(measured, cores) != measured.end();
      if (!is_measured && !has(*projection, cores)) return false;
    }
  }
  return true;
}

std::vector<double> GateData::TargetsOfResults(const PhaseKey& key) const {
  const PhaseProjection* projection = FindPhase(input.results.projections, key);
  if (projection != nullptr) return ProjectedTargets(*projection);
  const std::vector<double> measured = MeasuredCores(key);
  return measured.empty() ? measured : DefaultTargets(measured.back());
}

std::vector<double> GateData::CoresToProject() const {
  std::set<double> cores(targets_.begin(), targets_.end());
  const bool any_target = std::ranges::find(rules.rules, Rule::Counts::kTargets, &Rule::counts) != rules.rules.end();
  for (const PhaseKey& key : phases) {
    if (!any_target || !input.targets.empty()) break;
    for (const double count : TargetsOfResults(key)) cores.insert(count);
  }
  return {cores.begin(), cores.end()};
}

std::vector<double> GateData::Targets(const PhaseKey& key) {
  const PhaseProjection* projection = Projection(key);
  if (projection == nullptr || ProjectedTargets(*projection).empty()) return {};
  if (input.targets.empty()) return TargetsOfResults(key);
  const std::set<double> asked(input.targets.begin(), input.targets.end());
  return {asked.begin(), asked.end()};
}

const PhaseProjection* GateData::Projection(const PhaseKey& key) {
  if (!projections_) {
    const bool has_all = !input.project_anew && ResultsHaveTargets();
    projections_ = has_all ? input.results.projections : input.project(table, CoresToProject());
  }
  return FindPhase(*projections_, key);
}

const PhaseProjection* GateData::ComparedProjection(const PhaseKey& key) {
  if (compared.reference == table.reference) return Projection(key);
  if (!compared_projections_) compared_projections_ = input.project(compared, CoresToProject());
  return FindPhase(*compared_projections_, key);
}

const PhaseProjection* GateData::BaselineProjection(const PhaseKey& key) {
  if (history.empty()) return nullptr;
  if (!baseline_) {
    std::vector<FactorTable> tables;
    const std::size_t most = std::min(history.size(), static_cast<std::size_t>(rules.window));
    for (std::size_t i = history.size() - most; i < history.size(); ++i) {
      if (!history[i].accepted.empty()) tables.clear();
      tables.push_back(history[i].table);
    }
    baseline_ = input.project(MergeRepeats(tables), CoresToProject());
  }
  return FindPhase(*baseline_, key);
}

std::string PlaceOf(const GateData& data, const PhaseKey& key) {
  const std::string phase = key.phase.IsUnnamed() ? "the run" : "phase " + key.phase.Text();
  const std::vector<std::string> own = data.table.Series();
  std::set<std::string> series(own.begin(), own.end());
  if (!data.history.empty()) {
    for (const std::string& other : data.history.back().table.Series()) series.insert(other);
  }
  if (series.size() < 2) return phase;
  return phase + (key.series.empty() ? " without a series" : " of series " + key.series);
}

std::string SubjectOf(const GateData& data, const Judgement& judgement) {
  return IdOf(judgement.quantity) + " of " + PlaceOf(data, judgement.Key());
}

std::string SubjectAt(const GateData& data, const Judgement& judgement, const std::vector<double>& cores) {
  return SubjectOf(data, judgement) + " at " + CoresInWords(cores);
}

Judgement Undecided(const GateData& data, std::size_t rule, const PhaseKey& key, bool is_change) {
  Judgement judgement;
  judgement.rule = rule;
  judgement.series = key.series;
  judgement.phase = key.phase;
  judgement.quantity = data.rules.rules[rule].quantity;
  judgement.is_change = is_change;
  return judgement;
}

Judgement Undecidable(Judgement judgement, const std::string& why) {
  judgement.verdict = Verdict::kUndecided;
  judgement.sentence = why + (why.ends_with('?') ? "" : ".");
  return judgement;
}

Verdict VerdictInDoubt(const Rule& rule, const Judgement& judgement) {
  return rule.undecided.value_or(judgement.is_projected ? Verdict::kUndecided : Verdict::kWarn);
}

std::string WhyUnknown(const GateData& data, const Quantity& quantity) {
  const bool needs_scaling = quantity.IsTime() || quantity.ComparesWithReference();
  if (data.table.scaling || !needs_scaling) return "";
  return "; how the runs scale is not known, give --scaling strong or weak";
}

std::string WhyNotCompared(const GateData& data, const Quantity& quantity) {
  if (!quantity.ComparesWithReference()) return "";
  for (const Finding& finding : data.terms) {
    if (finding.id == anomaly::kTermsDiffer.id) return "; " + finding.example;
  }
  return "";
}

std::string CoresInWords(const std::vector<double>& cores) {
  std::vector<std::string> words;
  for (const double count : cores) words.push_back(FormatCores(count));
  if (words.empty()) return "no cores";
  const std::string last = words.back();
  words.pop_back();
  return (words.empty() ? last : Join(words, ", ") + " and " + last) + (last == "1" ? " core" : " cores");
}

std::string ConfidenceText(double confidence) {
  const double missing = 100 * (1 - confidence);
  const int digits = std::clamp(static_cast<int>(std::ceil(-std::log10(missing) - 1e-9)) + 1, 0, 15);
  std::string text = fmt::format("{:.{}f}", 100 * confidence, digits);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text + " %";
}

// Values against bounds: min, max, warn.

namespace {

// Chosen: 95 % is usual for measurements; for projections, the interval that backtests calibrate.
constexpr double kMeasuredConfidence = 0.95;
constexpr double kProjectedConfidence = 0.8;

const Rule& RuleFor(const GateData& data, const Judgement& judgement) { return data.rules.rules[judgement.rule]; }

std::string Subject(const GateData& data, const Judgement& judgement) {
  return SubjectAt(data, judgement, judgement.cores);
}

// Shares end at 1.
double Limited(const Quantity& quantity, double high, double value) {
  const bool is_share = !quantity.IsTime() && Describe(quantity.factor).AtMostOne();
  return is_share ? std::max(value, std::min(high, 1.0)) : high;
}

// Below 0: worse than the bound.
double Beyond(const Quantity& quantity, double value, double bound) {
  return quantity.IsTime() ? bound - value : value - bound;
}

Judgement DecideLevel(const GateData& data, Judgement judgement, const FactorLogs& logs) {
  const Rule& rule = RuleFor(data, judgement);
  const double bound = *judgement.bound;
  const std::string worse = rule.quantity.IsTime() ? "above " : "below ";
  judgement.verdict = Verdict::kPass;
  std::string reason = "not " + worse + FormatQuantity(rule.quantity, bound);
  if (rule.Bound()) {
    const IntervalBounds value{*judgement.value, *judgement.value};
    const IntervalBounds& range = rule.by_value ? value : *judgement.interval;
    const auto [least, most] =
        std::minmax({Beyond(rule.quantity, range.low, bound), Beyond(rule.quantity, range.high, bound)});
    if (most < 0) {
      judgement.verdict = Verdict::kFail;
      reason = worse + FormatQuantity(rule.quantity, bound);
    } else if (least < 0) {
      judgement.verdict = VerdictInDoubt(rule, judgement);
      reason = fmt::format("too near to {} to tell", FormatQuantity(rule.quantity, bound));
    }
  }
  if (rule.warn && judgement.verdict == Verdict::kPass && Beyond(rule.quantity, *judgement.value, *rule.warn) < 0) {
    judgement.verdict = Verdict::kWarn;
    judgement.bound = rule.warn;
    reason = fmt::format("{}{}, where warnings begin", worse, FormatQuantity(rule.quantity, *rule.warn));
  }
  judgement.sentence =
      fmt::format("{} is {}{}", Subject(data, judgement), judgement.is_projected ? "projected to be " : "",
                  FormatQuantity(judgement.quantity, *judgement.value));
  if (judgement.interval && !rule.by_value) {
    judgement.sentence += fmt::format(" ({} interval {} to {})", ConfidenceText(judgement.confidence),
                                      FormatQuantity(judgement.quantity, judgement.interval->low),
                                      FormatQuantity(judgement.quantity, judgement.interval->high));
  }
  judgement.sentence += ", " + reason + ".";
  if (judgement.verdict != Verdict::kPass) judgement.blame = BlameForLoss(rule.quantity, logs);
  return judgement;
}

Judgement JudgeMeasured(const GateData& data, const Samples& samples, const SeriesNoise& noise, Judgement judgement) {
  const Rule& rule = RuleFor(data, judgement);
  const double cores = judgement.cores.front();
  judgement.runs = samples.values.size();
  if (judgement.runs < static_cast<std::size_t>(rule.min_runs)) {
    return Undecidable(judgement, fmt::format("{} was measured in {} of the {} runs that the rule asks for",
                                              Subject(data, judgement), judgement.runs, rule.min_runs));
  }
  const std::optional<Measurement> mean = NewestAt(samples, cores, noise);
  judgement.value = mean->value;
  judgement.confidence = rule.confidence.value_or(kMeasuredConfidence);
  const double reach = std::exp(mean->error * StudentQuantile(judgement.confidence, mean->freedom));
  judgement.interval = {mean->value / reach, Limited(rule.quantity, mean->value * reach, mean->value)};
  return DecideLevel(data, judgement, LogsOf({&data.table}, judgement.Key(), {cores}));
}

Judgement JudgeProjected(GateData& data, Judgement judgement) {
  const Rule& rule = RuleFor(data, judgement);
  const double cores = judgement.cores.front();
  judgement.is_projected = true;
  const PhaseProjection* projection = data.Projection(judgement.Key());
  const double confidence = rule.confidence.value_or(kProjectedConfidence);
  std::optional<double> value;
  std::optional<IntervalBounds> interval;
  if (projection != nullptr) std::tie(value, interval) = ProjectedAt(*projection, rule.quantity, cores, confidence);
  if (!value) {
    const std::string missing = projection == nullptr ? "" : DescribeMissing(*projection);
    const std::string why = missing.empty() ? WhyUnknown(data, rule.quantity) : ": " + missing;
    return Undecidable(judgement,
                       fmt::format("{} was neither measured nor can it be projected{}", Subject(data, judgement), why));
  }
  const Factor witness = rule.quantity.IsTime() ? Factor::kSpeedup : rule.quantity.factor;
  const double reach = ReliableUpTo(*projection, witness);
  if (cores > reach) {
    return Undecidable(judgement, fmt::format("{} lies beyond the reliable range, which ends at {}",
                                              Subject(data, judgement), FormatCoreCount(WholeCores(reach))));
  }
  judgement.value = value;
  judgement.confidence = confidence;
  judgement.interval = interval;
  if (interval) judgement.interval->high = Limited(rule.quantity, interval->high, *value);
  if (!judgement.interval && !rule.by_value) {
    return Undecidable(judgement, fmt::format("the interval of {} is unknown", Subject(data, judgement)));
  }
  return DecideLevel(data, judgement, LogsOf(*projection, cores));
}

// A count that is among the runs and not among the samples, or below all runs, stays undecided.
Judgement JudgeUnmeasured(GateData& data, Judgement judgement) {
  const double cores = judgement.cores.front();
  const std::vector<double> measured = data.MeasuredCores(judgement.Key());
  if (std::ranges::find(measured, cores) != measured.end()) {
    return Undecidable(judgement,
                       fmt::format("{} is unknown{}", Subject(data, judgement), WhyUnknown(data, judgement.quantity)));
  }
  if (!measured.empty() && cores < measured.front()) {
    return Undecidable(judgement, fmt::format("{} was not measured, and runs begin at {}", Subject(data, judgement),
                                              FormatCoreCount(measured.front())));
  }
  return JudgeProjected(data, std::move(judgement));
}

}  // namespace

std::vector<Judgement> JudgeLevels(GateData& data, std::size_t rule_index, const PhaseKey& key) {
  const Rule& rule = data.rules.rules[rule_index];
  Judgement base = Undecided(data, rule_index, key, false);
  base.bound = rule.Bound() ? rule.Bound() : rule.warn;
  const SamplesByCores samples = SamplesOf(data.table, key, rule.quantity);
  std::vector<double> measured;
  for (const auto& [cores, runs] : samples) measured.push_back(cores);
  const SeriesNoise noise =
      LearnNoise(CommitSeriesOf(data.history, key, rule.quantity), samples, measured, data.rules.noise);
  std::vector<double> counts = rule.cores;
  if (rule.counts == Rule::Counts::kAll || rule.counts == Rule::Counts::kMeasured) {
    counts.insert(counts.end(), measured.begin(), measured.end());
  } else if (rule.counts == Rule::Counts::kTargets) {
    counts = data.Targets(key);
  }
  std::vector<Judgement> judgements;
  for (const double cores : counts) {
    base.cores = {cores};
    const auto found = samples.find(cores);
    judgements.push_back(found != samples.end() ? JudgeMeasured(data, found->second, noise, base)
                                                : JudgeUnmeasured(data, base));
  }
  if (counts.empty()) {
    judgements.push_back(
        Undecidable(base, rule.counts == Rule::Counts::kTargets
                              ? fmt::format("{} is not projected to any core count", PlaceOf(data, key))
                              : SubjectOf(data, base) + " is unknown" + WhyUnknown(data, rule.quantity)));
  }
  return judgements;
}

}  // namespace farscale
