#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "factors/factor_table.h"
#include "projection/model_settings.h"
#include "report/figures.h"
#include "report/sections.h"

namespace farscale {
namespace {

using Data = ReportData;

constexpr std::size_t kFewCounts = 4;
constexpr double kNoLoss = 0.9995;  // prints as 1.000

// The efficiency to talk about: parallel efficiency, else the widest that is there.
std::optional<Factor> Headline(const FactorRow& row) {
  for (const Factor factor : {Factor::kParallelEfficiency, Factor::kGlobalEfficiency}) {
    if (row.values[factor]) return factor;
  }
  return std::nullopt;
}

// The factors whose product is `whole`; empty where they are not known.
std::vector<Factor> LossesOf(Factor whole, const std::vector<Factor>& known) {
  std::vector<Factor> parts = PartsOf(whole, known);
  std::erase(parts, whole);
  return parts;
}

Data NamedValue(Factor factor, const std::string& value) {
  return Data{{"name", NameInSentence(factor)}, {"value", value}};
}

// The efficiency that is named is one that the largest loss is a part of. False without an efficiency.
Data LargestRunText(const std::vector<FactorRow>& rows) {
  const std::optional<Factor> headline = rows.empty() ? std::nullopt : Headline(rows.back());
  if (!headline) return false;
  const FactorRow& largest = rows.back();
  const auto named = [&](Factor factor) { return NamedValue(factor, FormatFactor(*largest.values[factor])); };
  const auto loss = FindLargestLoss(largest);
  Data text = named(loss ? loss->second : *headline);
  text["cores"] = FormatCores(static_cast<double>(largest.cores));
  text["loss"] = loss ? named(loss->first) : Data(false);
  const bool is_other = loss && loss->second != *headline && loss->first != *headline;
  text["headline"] = is_other ? named(*headline) : Data(false);
  return text;
}

// The target nearest to eight times the largest run, and the last one unless that one is unknown already.
Data SummaryTargets(const PhaseProjection& projection) {
  const FactorProjection* headline = projection.Find(Factor::kParallelEfficiency);
  if (headline == nullptr || headline->targets.empty()) headline = projection.Find(Factor::kGlobalEfficiency);
  if (headline == nullptr || headline->targets.empty()) return Data::array();
  const auto distance = [](const ProjectedValue& target) { return std::fabs(std::log(target.ratio / 8)); };
  std::vector<ProjectedValue> shown = {*std::ranges::min_element(headline->targets, {}, distance)};
  if (headline->targets.back().cores != shown.front().cores) shown.push_back(headline->targets.back());
  Data texts = Data::array();
  for (const ProjectedValue& target : shown) {
    const Reliability level = ReliabilityOf(projection, headline->factor, target.cores);
    texts.push_back({{"cores", FormatCores(target.cores)},
                     {"ratio", FormatRatio(target.ratio)},
                     {"name", NameInSentence(headline->factor)},
                     {"value", FormatFactor(target.value)},
                     {"interval", FormatBounds(headline->factor, target.interval80, "–")},
                     {"measured", MeasuredAt(*headline, target.cores)},
                     {"isReliable", level == Reliability::kReliable},
                     {"isUncertain", level == Reliability::kUncertain}});
    if (level == Reliability::kUnknown) break;  // said once
  }
  return texts;
}

Data DominanceText(const PhaseProjection& projection) {
  const auto [ranges, end] = DominanceWithinReliableRange(projection);
  Data factors = Data::array();
  for (const Dominance& range : ranges) {
    factors.push_back(
        {{"name", NameInSentence(range.factor)}, {"cores", FormatCores(range.cores)}, {"isFirst", factors.empty()}});
  }
  std::vector<Factor> fitted;
  for (const FactorProjection& factor : projection.factors) {
    if (!factor.is_product && !factor.curve.empty()) fitted.push_back(factor.factor);
  }
  const std::optional<Factor> whole = WholeAmong(fitted);  // a single factor is compared with nothing
  const bool is_compared = whole && LossesAmong(fitted).size() > 1;
  return {{"whole", is_compared ? NameInSentence(*whole) : ""},
          {"factors", std::move(factors)},
          {"isBounded", end.has_value()}};
}

// The tags of summary.txt.mustache; the projection may be null.
Data SummaryText(const std::vector<FactorRow>& rows, const PhaseProjection* projection) {
  Data text = {{"largestRun", LargestRunText(rows)},
               {"superlinear", WhySuperlinear(rows, projection)},
               {"obstacle", projection != nullptr ? projection->obstacle : ""},
               {"targets", Data::array()},
               {"range", false},
               {"predictors", false},
               {"missing", ""},
               {"isLossless", false},
               {"dominance", false},
               {"misfits", Data::array()},
               {"fitted", false}};
  if (projection == nullptr || !projection->obstacle.empty()) return text;
  const std::string missing = Capital(DescribeMissing(*projection));
  const auto is_perfect = [&](const Dominance& dominance) {
    const FactorProjection* factor = projection->Find(dominance.factor);
    return factor != nullptr && std::ranges::none_of(factor->curve, [](const auto& at) { return at.value < kNoLoss; });
  };
  const bool is_lossless = !projection->dominance.empty() && std::ranges::all_of(projection->dominance, is_perfect);
  text["targets"] = SummaryTargets(*projection);
  text["range"] = ReliableRangeText(*projection);
  text["predictors"] = PredictorText(*projection);
  text["missing"] = missing.empty() ? "" : missing + ".";
  text["isLossless"] = is_lossless;
  if (!projection->dominance.empty() && !is_lossless) text["dominance"] = DominanceText(*projection);
  // Curves that miss their points by so much that following them further is a guess.
  std::vector<Factor> fitted;
  for (const FactorProjection& factor : projection->factors) {
    if (!factor.is_product && IsUsable(factor.fit.outcome)) fitted.push_back(factor.factor);
  }
  for (const Factor factor : LossesAmong(fitted)) {
    const FittedModel& fit = projection->Find(factor)->fit;
    if (fit.sigma_is_assumed || fit.sigma < kLargeDeviation) continue;
    text["misfits"].push_back(NamedValue(factor, FormatSignificant(fit.sigma, 2)));
  }
  const std::vector<double>& counts = projection->fitted_cores;
  if (counts.empty()) return text;
  text["fitted"] = {{"count", std::to_string(counts.size())},
                    {"first", FormatCores(counts.front())},
                    {"last", FormatCores(counts.back())},
                    {"isFew", counts.size() < kFewCounts}};
  return text;
}

using Kind = CountBound::Kind;

constexpr double kWantedLevel = 0.75;

// The share of a run that lies in no phase. Ranks are in a phase for less than it takes from its first
// begin to its last end, which no phase can be longer than.
double OutsideShare(const Results& results, const RunRecord& run) {
  double covered = run.coverage;
  for (const FactorRow& row : results.table.rows) {
    if (row.cores != run.cores || row.repeat != run.repeat || !row.runtime) continue;
    covered = std::max(covered, *row.runtime / run.seconds);
  }
  return std::clamp(1 - covered, 0.0, 1.0);
}

}  // namespace

std::optional<std::pair<Factor, Factor>> FindLargestLoss(const FactorRow& row) {
  std::vector<Factor> known;
  for (const FactorType& type : AllFactors()) {
    if (row.values[type.factor]) known.push_back(type.factor);
  }
  for (const Factor whole : {Factor::kGlobalEfficiency, Factor::kParallelEfficiency}) {
    const std::vector<Factor> losses = LossesOf(whole, known);
    if (losses.empty() || !row.values[whole]) continue;
    const Factor worst = *std::min_element(losses.begin(), losses.end(),
                                           [&](Factor a, Factor b) { return *row.values[a] < *row.values[b]; });
    if (*row.values[worst] >= 1) return std::nullopt;
    const std::vector<Factor> inner = LossesOf(Factor::kParallelEfficiency, known);
    const bool is_inner = std::find(inner.begin(), inner.end(), worst) != inner.end();
    const bool names_inner = is_inner && row.values[Factor::kParallelEfficiency];
    return std::pair(worst, names_inner ? Factor::kParallelEfficiency : whole);
  }
  return std::nullopt;
}

std::vector<std::string> SummarizePhase(const std::vector<FactorRow>& rows, const PhaseProjection* projection,
                                        const Partials& texts) {
  return RenderSentences(texts, "summary.txt", SummaryText(rows, projection));
}

std::vector<std::string> DescribeCertainty(const PhaseProjection& projection, const Partials& texts) {
  return RenderSentences(texts, "certainty.txt", SummaryText({}, &projection));
}

std::optional<KeptEfficiency> FindKeptEfficiency(const std::vector<FactorRow>& rows,
                                                 const PhaseProjection* projection) {
  const auto all_know = [&](Factor factor) {
    return std::ranges::all_of(rows, [&](const FactorRow& row) { return row.values[factor].has_value(); });
  };
  const Factor factor = all_know(Factor::kGlobalEfficiency) ? Factor::kGlobalEfficiency : Factor::kParallelEfficiency;
  if (rows.empty() || !all_know(factor)) return std::nullopt;
  double level = kWantedLevel;
  if (projection != nullptr && projection->key_results && !projection->key_results->levels.empty()) {
    const auto distance = [](const LevelCounts& one) { return std::fabs(one.level - kWantedLevel); };
    level = std::ranges::min_element(projection->key_results->levels, {}, distance)->level;
  }
  std::map<double, std::vector<const FactorRow*>> runs;
  for (const FactorRow& row : rows) runs[static_cast<double>(row.cores)].push_back(&row);
  std::map<double, double> measured;  // medians over the repeats of each core count
  for (const auto& [cores, repeats] : runs)
    measured[cores] = *MedianOf(repeats, [&](const FactorRow& row) { return row.values[factor]; });
  KeptEfficiency kept{factor, level, {{Kind::kBelow, measured.begin()->first}, {}, {}}};
  for (const auto& [cores, value] : measured) {
    if (value >= level) kept.count.value = {Kind::kAt, cores};
  }
  kept.smallest = measured.begin()->first;
  kept.largest = measured.rbegin()->first;
  kept.at_largest = measured.rbegin()->second;
  const FactorProjection* curve = projection == nullptr ? nullptr : projection->Find(factor);
  if (curve != nullptr && !curve->curve.empty() && projection->obstacle.empty()) {
    kept.count = LargestCountKeeping(*projection, *curve, level, measured);
    kept.reliability = ReliabilityOf(*projection, factor, kept.count.value);
  } else if (kept.count.value == CountBound{Kind::kAt, kept.largest}) {
    kept.count.value.kind = Kind::kMoreThan;
  }
  return kept;
}

std::string ShortCount(const CountBound& bound) {
  const std::string cores = FormatCores(bound.cores);
  if (bound.kind == Kind::kBelow) return "<" + cores;
  return bound.kind == Kind::kMoreThan ? cores + "+" : cores;
}

std::string ShortCount(const KeptEfficiency& kept) {
  const CountEstimate& count = kept.count;
  const std::string value = ShortCount(count.value);
  const bool has_interval = count.low && count.high;
  const std::string interval = has_interval ? FormatRange(ShortCount(*count.low), ShortCount(*count.high), "–") : "";
  if (kept.reliability == Reliability::kUnknown) return "";
  if (kept.reliability == Reliability::kUncertain) return has_interval ? "(" + interval + ")" : "";
  return has_interval && interval != value ? fmt::format("{} ({})", value, interval) : value;
}

std::string ShareOfRun(const Results& results, const std::vector<FactorRow>& rows, const PhaseId& phase) {
  if (results.table.Series().size() > 1) return "";  // runs of different programs may have the same cores
  std::vector<std::string> shares;
  std::string left_out;
  for (const FactorRow* row : {&rows.front(), &rows.back()}) {
    const auto run = std::ranges::find_if(results.runs, [&](const RunRecord& one) {
      return one.error.empty() && one.cores == row->cores && one.repeat == row->repeat;
    });
    if (run == results.runs.end() || !row->runtime || !(run->seconds > 0)) return "";
    const std::string cores = shares.empty() ? FormatCoreCount(static_cast<double>(row->cores))
                                             : FormatCores(static_cast<double>(row->cores));
    const auto marks = std::ranges::find(run->phases, phase.name, &PhaseMarks::phase);
    double share = *row->runtime / run->seconds;
    if (marks != run->phases.end() && marks->Count() > marks->LeftOut())
      share *= static_cast<double>(marks->Count()) / static_cast<double>(marks->Count() - marks->LeftOut());
    if (row == &rows.front() || rows.front().cores != rows.back().cores) {
      shares.push_back(fmt::format("{} {}on {}", FormatPercent(std::min(1.0, share)),
                                   shares.empty() ? "of the run time " : "", cores));
    }
    if (row != &rows.back() || marks == run->phases.end() || marks->LeftOut() == 0) continue;
    left_out = fmt::format("; {} of {} iterations excluded as disturbed", FormatCount(marks->LeftOut()),
                           FormatCount(marks->Count()));
  }
  return Join(shares, ", ") + left_out;
}

std::string OutsideOfPhases(const Results& results, double least) {
  if (results.table.Series().size() > 1) return "";
  const RunRecord *smallest = nullptr, *largest = nullptr;
  for (const RunRecord& run : results.runs) {
    if (!run.error.empty() || !(run.seconds > 0) || !(run.coverage > 0)) continue;
    if (smallest == nullptr || run.cores < smallest->cores) smallest = &run;
    if (largest == nullptr || run.cores > largest->cores) largest = &run;
  }
  if (largest == nullptr) return "";
  const double first = OutsideShare(results, *smallest), last = OutsideShare(results, *largest);
  if (std::max(first, last) < least) return "";
  std::string text = fmt::format("{} of the run time on {}", FormatPercent(first),
                                 FormatCoreCount(static_cast<double>(smallest->cores)));
  if (largest->cores == smallest->cores) return text;
  return text + fmt::format(", {} on {}", FormatPercent(last), FormatCores(static_cast<double>(largest->cores)));
}

}  // namespace farscale
