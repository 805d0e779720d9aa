#include "report/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "factors/table_check.h"
#include "projection/curve.h"
#include "projection/model_settings.h"
#include "report/reliability.h"
#include "report/figures.h"
#include "report/predictors.h"

namespace farscale {
namespace {

constexpr std::size_t kFewCounts = 4;
constexpr double kNoLoss = 0.9995;        // prints as 1.000
constexpr double kLargeDeviation = 0.03;  // of measured values from the curve, as much as factors matter by

std::string Capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

// The efficiency to talk about: parallel efficiency, else the widest that is there.
std::optional<Factor> HeadlineOf(const FactorRow& row) {
  for (const Factor factor : {Factor::kParallelEfficiency, Factor::kGlobalEfficiency}) {
    if (row.values[factor]) return factor;
  }
  return std::nullopt;
}

std::vector<Factor> FactorsOf(const FactorRow& row) {
  std::vector<Factor> factors;
  for (const FactorType& type : AllFactors()) {
    if (row.values[type.factor]) factors.push_back(type.factor);
  }
  return factors;
}

// What `whole` is the product of; empty where that is not known.
std::vector<Factor> LossesOf(Factor whole, const std::vector<Factor>& known) {
  std::vector<Factor> parts = PartsOf(whole, known);
  std::erase(parts, whole);
  return parts;
}

struct NamedValue {
  FARSCALE_TEXTS(name, value)
};

// The efficiency that is named is one that the largest loss is a part of.
struct LargestRunText {
  std::string cores, name, value;
  std::optional<NamedValue> headline, loss;
  FARSCALE_TAGS(cores, name, value, headline, loss)
};

struct TargetText {
  std::string cores, ratio, name, value, interval, measured;
  bool is_reliable = false, is_uncertain = false;
  FARSCALE_TAGS(cores, ratio, name, value, interval, measured, is_reliable, is_uncertain)
};

struct DominantText {
  std::string name, cores;
  bool is_first = false;
  FARSCALE_TAGS(name, cores, is_first)
};

struct DominanceText {
  std::string whole;
  std::vector<DominantText> factors;
  bool is_bounded = false;
  FARSCALE_TAGS(whole, factors, is_bounded)
};

struct FittedText {
  std::string count, first, last;
  bool is_few = false;
  FARSCALE_TAGS(count, first, last, is_few)
};

// The tags of summary.txt.mustache.
struct SummaryText {
  std::optional<LargestRunText> largest_run;
  std::string superlinear, obstacle;
  std::vector<TargetText> targets;
  std::optional<ReliableRangeText> range;
  std::optional<PredictorText> predictors;
  std::string missing;
  bool is_lossless = false;
  std::optional<DominanceText> dominance;
  std::vector<NamedValue> misfits;
  std::optional<FittedText> fitted;
  FARSCALE_TAGS(largest_run, superlinear, obstacle, targets, range, predictors, missing, is_lossless, dominance,
                misfits, fitted)
};

std::optional<LargestRunText> LargestRun(const std::vector<FactorRow>& rows) {
  if (rows.empty()) return std::nullopt;
  const FactorRow& largest = rows.back();
  const std::optional<Factor> headline = HeadlineOf(largest);
  if (!headline) return std::nullopt;
  const auto named = [&](Factor factor) {
    return NamedValue{NameInSentence(factor), FormatFactor(*largest.values[factor])};
  };
  const std::optional<LargestLoss> loss = LargestLossOf(largest);
  const NamedValue whole = named(loss ? loss->whole : *headline);
  LargestRunText text{FormatCores(static_cast<double>(largest.cores)), whole.name, whole.value, {}, {}};
  if (loss) text.loss = named(loss->factor);
  if (loss && loss->whole != *headline && loss->factor != *headline) text.headline = named(*headline);
  return text;
}

// The target nearest to eight times the largest run, and the last one unless that one is unknown already.
std::vector<TargetText> Targets(const PhaseProjection& projection) {
  const FactorProjection* headline = projection.Find(Factor::kParallelEfficiency);
  if (headline == nullptr || headline->targets.empty()) headline = projection.Find(Factor::kGlobalEfficiency);
  if (headline == nullptr || headline->targets.empty()) return {};
  const auto distance = [](const ProjectedValue& target) { return std::fabs(std::log(target.ratio / 8)); };
  std::vector<ProjectedValue> shown = {*std::ranges::min_element(headline->targets, {}, distance)};
  if (headline->targets.back().cores != shown.front().cores) shown.push_back(headline->targets.back());
  std::vector<TargetText> texts;
  for (const ProjectedValue& target : shown) {
    const Reliability level = ReliabilityOf(projection, headline->factor, target.cores);
    texts.push_back({FormatCores(target.cores), FormatRatio(target.ratio), NameInSentence(headline->factor),
                     FormatFactor(target.value), FormatBounds(headline->factor, target.interval80, "–"),
                     MeasuredAt(*headline, target.cores), level == Reliability::kReliable,
                     level == Reliability::kUncertain});
    if (level == Reliability::kUnknown) break;  // said once
  }
  return texts;
}

bool LosesAnything(const PhaseProjection& projection) {
  for (const Dominance& dominance : projection.dominance) {
    const FactorProjection* factor = projection.Find(dominance.factor);
    if (factor == nullptr) return true;
    for (const ProjectedValue& value : factor->curve) {
      if (value.value < kNoLoss) return true;
    }
  }
  return false;
}

// Of which efficiency factors are compared; empty where there is one factor only.
std::string WholeInSentence(const PhaseProjection& projection) {
  std::vector<Factor> fitted;
  for (const FactorProjection& factor : projection.factors) {
    if (!factor.is_product && !factor.curve.empty()) fitted.push_back(factor.factor);
  }
  const std::optional<Factor> whole = WholeAmong(fitted);
  return whole && LossesAmong(fitted).size() > 1 ? NameInSentence(*whole) : "";
}

DominanceText DominanceOf(const PhaseProjection& projection) {
  const KnownDominance known = DominanceWithinReliableRange(projection);
  DominanceText text{WholeInSentence(projection), {}, known.end.has_value()};
  for (const Dominance& range : known.ranges) {
    text.factors.push_back({NameInSentence(range.factor), FormatCores(range.cores), text.factors.empty()});
  }
  return text;
}

// Curves that miss their points by so much that following them further is a guess.
std::vector<NamedValue> Misfits(const PhaseProjection& projection) {
  std::vector<Factor> fitted;
  for (const FactorProjection& factor : projection.factors) {
    if (!factor.is_product && IsUsable(factor.fit.outcome)) fitted.push_back(factor.factor);
  }
  std::vector<NamedValue> misfits;
  for (const Factor factor : LossesAmong(fitted)) {
    const FittedModel& fit = projection.Find(factor)->fit;
    if (fit.sigma_is_assumed || fit.sigma < kLargeDeviation) continue;
    misfits.push_back({NameInSentence(factor), FormatSignificant(fit.sigma, 2)});
  }
  return misfits;
}

void AddProjection(const PhaseProjection& projection, SummaryText& text) {
  text.obstacle = projection.obstacle;
  if (!projection.obstacle.empty()) return;
  text.targets = Targets(projection);
  text.range = ReliableRangeOf(projection);
  text.predictors = PredictorsOf(projection);
  if (text.missing = Capital(DescribeMissing(projection)); !text.missing.empty()) text.missing += ".";
  text.is_lossless = !projection.dominance.empty() && !LosesAnything(projection);
  if (!projection.dominance.empty() && !text.is_lossless) text.dominance = DominanceOf(projection);
  text.misfits = Misfits(projection);
  const std::vector<double>& counts = projection.fitted_cores;
  if (counts.empty()) return;
  text.fitted = FittedText{std::to_string(counts.size()), FormatCores(counts.front()), FormatCores(counts.back()),
                           counts.size() < kFewCounts};
}

}  // namespace

std::optional<LargestLoss> LargestLossOf(const FactorRow& row) {
  const std::vector<Factor> known = FactorsOf(row);
  for (const Factor whole : {Factor::kGlobalEfficiency, Factor::kParallelEfficiency}) {
    const std::vector<Factor> losses = LossesOf(whole, known);
    if (losses.empty() || !row.values[whole]) continue;
    const Factor worst = *std::min_element(losses.begin(), losses.end(),
                                           [&](Factor a, Factor b) { return *row.values[a] < *row.values[b]; });
    if (*row.values[worst] >= 1) return std::nullopt;
    const std::vector<Factor> inner = LossesOf(Factor::kParallelEfficiency, known);
    const bool is_inner = std::find(inner.begin(), inner.end(), worst) != inner.end();
    const bool names_inner = is_inner && row.values[Factor::kParallelEfficiency];
    return LargestLoss{worst, names_inner ? Factor::kParallelEfficiency : whole};
  }
  return std::nullopt;
}

std::vector<std::string> SummarizePhase(const std::vector<FactorRow>& rows, const PhaseProjection* projection,
                                        const Partials& texts) {
  SummaryText text{.largest_run = LargestRun(rows), .superlinear = WhySuperlinear(rows, projection)};
  if (projection != nullptr) AddProjection(*projection, text);
  return RenderSentences(texts, "summary.txt", ToData(text));
}

std::vector<std::string> DescribeCertainty(const PhaseProjection& projection, const Partials& texts) {
  SummaryText text;
  AddProjection(projection, text);
  return RenderSentences(texts, "certainty.txt", ToData(text));
}

}  // namespace farscale
