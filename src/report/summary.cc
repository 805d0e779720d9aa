#include "report/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/format.h"
#include "base/text.h"
#include "factors/superlinear.h"
#include "projection/curve.h"
#include "projection/factor_parts.h"
#include "report/evidence.h"
#include "report/figures.h"

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

struct LargestLoss {
  Factor factor = Factor::kLoadBalance;
  Factor whole = Factor::kParallelEfficiency;  // of which it is a part: parallel efficiency if it is one of that, too
};

// The smallest of the factors that make up the widest efficiency that is known in parts.
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

// The efficiency that is named is one that the largest loss is a part of.
void SayMeasured(const std::vector<FactorRow>& rows, std::vector<std::string>& sentences) {
  const FactorRow& largest = rows.back();
  const std::optional<Factor> headline = HeadlineOf(largest);
  if (!headline) return;
  const auto say = [&](Factor factor) { return FormatFactor(*largest.values[factor]); };
  const std::optional<LargestLoss> loss = LargestLossOf(largest);
  const Factor whole = loss ? loss->whole : *headline;
  std::string sentence =
      fmt::format("At {} cores, the largest run, {} is {}", FormatCores(static_cast<double>(largest.cores)),
                  NameInSentence(whole), say(whole));
  if (whole != *headline && loss->factor != *headline)
    sentence += fmt::format(" ({} {})", NameInSentence(*headline), say(*headline));
  if (loss) sentence += fmt::format("; {} costs most ({})", NameInSentence(loss->factor), say(loss->factor));
  sentences.push_back(sentence + ".");
}

void SayProjected(const PhaseProjection& projection, std::vector<std::string>& sentences) {
  const FactorProjection* headline = projection.Find(Factor::kParallelEfficiency);
  if (headline == nullptr || headline->targets.empty()) headline = projection.Find(Factor::kGlobalEfficiency);
  if (headline == nullptr || headline->targets.empty()) return;
  // The target nearest to eight times the largest run, and the last one.
  const auto nearest = std::min_element(headline->targets.begin(), headline->targets.end(),
                                        [](const ProjectedValue& a, const ProjectedValue& b) {
                                          return std::fabs(std::log(a.ratio / 8)) < std::fabs(std::log(b.ratio / 8));
                                        });
  std::set<double> said;
  for (const ProjectedValue& target : {*nearest, headline->targets.back()}) {
    if (!said.insert(target.cores).second) continue;
    const std::string runs = MeasuredAt(*headline, target.cores);
    const std::string end = runs.empty() ? "." : "; the run there measured " + runs + ".";
    if (!IsEvidence(projection, headline->factor, target.cores)) {
      sentences.push_back(fmt::format(
          "At {} cores, {} the largest fitted run, there is no evidence: the 80 % interval of {} is {}{}",
          FormatCores(target.cores), FormatRatio(target.ratio), NameInSentence(headline->factor),
          !target.interval80
              ? "unknown"
              : fmt::format("{} to {}", FormatFactor(target.interval80->low), FormatFactor(target.interval80->high)),
          end));
      continue;
    }
    std::string sentence =
        fmt::format("At {} cores, {} the largest fitted run, {} is projected as {}", FormatCores(target.cores),
                    FormatRatio(target.ratio), NameInSentence(headline->factor), FormatFactor(target.value));
    sentence += target.interval80 ? fmt::format(" (80 % interval {} to {})", FormatFactor(target.interval80->low),
                                                FormatFactor(target.interval80->high))
                                  : " (interval unknown)";
    sentences.push_back(sentence + end);
  }
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

// " of global efficiency": of which efficiency factors are compared.
std::string OfWhole(const PhaseProjection& projection) {
  std::vector<Factor> fitted;
  for (const FactorProjection& factor : projection.factors) {
    if (!factor.is_product && !factor.curve.empty()) fitted.push_back(factor.factor);
  }
  const std::optional<Factor> whole = WholeAmong(fitted);
  return whole && LossesAmong(fitted).size() > 1 ? " of " + NameInSentence(*whole) : "";
}

void SayDominance(const PhaseProjection& projection, std::vector<std::string>& sentences) {
  if (projection.dominance.empty()) return;
  if (!LosesAnything(projection)) {
    sentences.push_back("No factor costs anything at the core counts shown.");
    return;
  }
  const KnownDominance known = DominanceWithinEvidence(projection);
  std::string sentence =
      Capital(NameInSentence(known.ranges.front().factor)) + " dominates the loss" + OfWhole(projection);
  if (known.ranges.size() == 1) {
    sentences.push_back(sentence + (known.end ? " as far as there is evidence." : " at every core count shown."));
    return;
  }
  sentence += " at first";
  for (std::size_t i = 1; i < known.ranges.size(); ++i) {
    sentence += fmt::format(", {} from {} cores on", NameInSentence(known.ranges[i].factor),
                            FormatCores(known.ranges[i].cores));
  }
  sentences.push_back(sentence + (known.end ? ", as far as there is evidence." : "."));
}

// Curves that miss their points by so much that following them further is a guess.
void SayMisfits(const PhaseProjection& projection, std::vector<std::string>& sentences) {
  std::vector<Factor> fitted;
  for (const FactorProjection& factor : projection.factors) {
    if (!factor.is_product && IsUsable(factor.fit.outcome)) fitted.push_back(factor.factor);
  }
  std::vector<std::string> misfits;
  for (const Factor factor : LossesAmong(fitted)) {
    const FittedModel& fit = projection.Find(factor)->fit;
    if (fit.sigma_is_assumed || fit.sigma < kLargeDeviation) continue;
    misfits.push_back(fmt::format("{} (typically off by {})", NameInSentence(factor), FormatSignificant(fit.sigma, 2)));
  }
  if (misfits.empty()) return;
  sentences.push_back("The runs do not lie on any of the models for " + Join(misfits, ", ") +
                      ": more core counts would tell whether that is noise or another law.");
}

void SayEvidence(const PhaseProjection& projection, std::vector<std::string>& sentences) {
  const std::size_t counts = projection.fitted_cores.size();
  if (counts == 0) return;
  std::string sentence =
      fmt::format("The fits rest on {} core counts from {} to {}", counts, FormatCores(projection.fitted_cores.front()),
                  FormatCores(projection.fitted_cores.back()));
  sentence += counts < kFewCounts
                  ? ": too few to tell the models apart, so the intervals rest on what is usual for other codes."
                  : "; the intervals include what the runs scatter, what they leave open about models and their "
                    "parameters, and how far "
                    "other codes drift from every model.";
  sentences.push_back(sentence);
}

}  // namespace

std::vector<std::string> SummarizePhase(const std::vector<FactorRow>& rows, const PhaseProjection* projection) {
  std::vector<std::string> sentences;
  if (!rows.empty()) SayMeasured(rows, sentences);
  const std::string superlinear = WhySuperlinear(rows, projection);
  if (!superlinear.empty()) sentences.push_back(superlinear);
  if (projection == nullptr) return sentences;
  if (!projection->obstacle.empty()) {
    sentences.push_back("There is no projection: " + projection->obstacle + ".");
    return sentences;
  }
  SayProjected(*projection, sentences);
  if (const std::string horizon = DescribeHorizon(*projection); !horizon.empty()) sentences.push_back(horizon);
  if (const std::string missing = DescribeMissing(*projection); !missing.empty()) {
    sentences.push_back(Capital(missing) + ".");
  }
  SayDominance(*projection, sentences);
  SayMisfits(*projection, sentences);
  SayEvidence(*projection, sentences);
  return sentences;
}

}  // namespace farscale
