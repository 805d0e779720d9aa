#include "report/digest.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "factors/anomalies.h"
#include "factors/scaling.h"
#include "report/factor_text.h"
#include "report/figures.h"
#include "report/sections.h"

namespace farscale {
namespace {

using Data = ReportData;

constexpr double kGood = 0.8, kFair = 0.5;  // efficiencies, as POP colours them
constexpr std::size_t kWidestPhase = 24;    // columns, in a table
constexpr const char* kNothing = "–";

// The largest run of a phase, with the means of its repeats.
void AddLargestRun(const std::vector<FactorRow>& rows, const TerminalStyle& style, Data& text) {
  FactorRow largest = rows.back();
  for (const FactorType& type : AllFactors()) {
    double sum = 0, count = 0;
    for (const FactorRow& row : rows) {
      if (row.cores != largest.cores || !row.values[type.factor]) continue;
      sum += *row.values[type.factor];
      ++count;
    }
    if (count > 1) largest.values[type.factor] = sum / count;
  }
  const Factor factor =
      largest.values[Factor::kGlobalEfficiency] ? Factor::kGlobalEfficiency : Factor::kParallelEfficiency;
  if (!largest.values[factor]) return;
  const double value = *largest.values[factor];
  const Tone tone = value >= kGood ? Tone::kGood : value >= kFair ? Tone::kFair : Tone::kBad;
  text["ownEfficiency"] = NameInSentence(factor);
  text["run"] =
      fmt::format("{} @ {}", style.Painted(FormatFactor(value), tone), FormatCores(static_cast<double>(largest.cores)));
  const auto loss = FindLargestLoss(largest);
  if (!loss) return;
  std::string name = NameInSentence(loss->first);
  constexpr std::string_view kLong = "computation ";  // its names are twice as long as those of other factors
  if (name.starts_with(kLong)) name = "comp. " + name.substr(kLong.size());
  text["loss"] = name;
}

// The time to speak of; null where none is reliable.
const ProjectedTime* MainTime(const PhaseProjection& projection) {
  if (!projection.key_results || !projection.key_results->time) return nullptr;
  const std::vector<ProjectedTime>& targets = projection.key_results->time->targets;
  const std::optional<double> cores = MainTarget(projection, Factor::kSpeedup);
  const auto target = cores ? std::ranges::find(targets, *cores, &ProjectedTime::cores) : targets.end();
  return target == targets.end() ? nullptr : &*target;
}

// Something is predicted of the phase, but no time.
bool IsWithoutTime(const PhaseProjection& projection) {
  const FactorProjection* headline = projection.obstacle.empty() ? Headline(projection) : nullptr;
  return headline != nullptr && projection.key_results && MainTarget(projection, headline->factor) &&
         MainTime(projection) == nullptr;
}

// Predictions for reliable targets: times, or efficiencies where not all rows of a table have times.
void AddPrediction(const PhaseProjection& projection, bool shows_times, Data& text) {
  if (!projection.key_results) return;
  const auto add = [&](double cores, const std::string& value, const std::string& name) {
    text["target"] = FormatCores(cores);
    text["value"] = value;
    text["ownPredicted"] = name;
  };
  if (const ProjectedTime* time = shows_times ? MainTime(projection) : nullptr)
    return add(time->cores, FormatTime(*time), "time of an iteration");
  const FactorProjection* headline = Headline(projection);
  const std::optional<double> cores = headline != nullptr ? MainTarget(projection, headline->factor) : std::nullopt;
  if (!cores) return;
  const auto target = std::ranges::find(headline->targets, *cores, &ProjectedValue::cores);
  if (target == headline->targets.end()) return;
  add(*cores,
      fmt::format("{} ({})", FormatFactor(target->value), FormatBounds(headline->factor, target->interval80, "–")),
      NameInSentence(headline->factor));
}

std::string NameInDigest(const PhaseKey& key, const Results& results) {
  const std::string name = NameOfPhase(key, results.table.Series().size() > 1);
  return name.empty() ? "all runs" : name;
}

// A row of digest.txt.mustache; what is not known is a dash. Also what `run`, `value` and `until` of this phase are:
// `ownEfficiency`, `ownPredicted` and `ownLevel`.
Data PhaseRow(const PhaseKey& key, const std::vector<FactorRow>& rows, const Results& results, bool shows_times,
              const TerminalStyle& style) {
  const PhaseProjection* projection = FindPhase(results.projections, key);
  Data text = {{"name", Shorten(NameInDigest(key, results), kWidestPhase)},
               {"run", kNothing},
               {"loss", kNothing},
               {"target", ""},
               {"value", kNothing},
               {"until", kNothing},
               {"next", kNothing},
               {"ownEfficiency", ""},
               {"ownPredicted", ""},
               {"ownLevel", ""}};
  AddLargestRun(rows, style, text);
  if (const std::optional<KeptEfficiency> kept = FindKeptEfficiency(rows, projection)) {
    const std::string count = ShortCount(*kept);
    if (!count.empty()) text["until"] = count;
    text["ownLevel"] = fmt::format("{:g}", 100 * kept->level);
  }
  if (projection == nullptr || !projection->obstacle.empty()) return text;
  AddPrediction(*projection, shows_times, text);
  if (const RunChoice* run = SuggestedRun(*projection))
    text["next"] = FormatCores(run->cores) + (run->is_repeat ? " again" : "");
  return text;
}

// Parallel efficiency of the largest run without all noise that is removed; empty where that changes nothing.
std::string WithoutNoise(const PhaseKey& key, const Results& results) {
  if (results.variants.empty() || !results.variants.back().is_noise) return "";
  const std::vector<FactorRow> measured = results.table.Rows(key), quiet = results.variants.back().table.Rows(key);
  if (measured.empty() || quiet.empty()) return "";
  const std::optional<double>&before = measured.back().values[Factor::kParallelEfficiency],
        &after = quiet.back().values[Factor::kParallelEfficiency];
  if (!before || !after || *after <= *before || FormatFactor(*after) == FormatFactor(*before)) return "";
  return FormatFactor(*after);
}

// The tags of digest_notes.txt.mustache.
Data NoteText(const PhaseKey& key, const PhaseProjection* projection, const Results& results) {
  Data note = {{"noise", WithoutNoise(key, results)}, {"obstacle", ""},        {"missing", ""},
               {"heldBack", Data::array()},           {"isUnreliable", false}, {"misfits", ""}};
  if (projection == nullptr) return note;
  if (!projection->obstacle.empty()) {
    if (!KnowsSplits(results.splits, key)) note["obstacle"] = projection->obstacle;  // else they stand in its place
    return note;
  }
  const std::optional<ReliableRange>& range = projection->reliable_range;
  note["missing"] = DescribeMissing(*projection);
  if (const FactorProjection* headline = projection->fitted_cores.empty() ? nullptr : Headline(*projection)) {
    for (const DataPoint& run : headline->measured) {
      const auto target = std::ranges::find(headline->targets, run.cores, &ProjectedValue::cores);
      if (run.cores <= projection->fitted_cores.back() || target == headline->targets.end()) continue;
      note["heldBack"].push_back({{"cores", FormatCores(run.cores)},
                                  {"factor", NameInSentence(headline->factor)},
                                  {"measured", FormatFactor(run.value)},
                                  {"predicted", FormatFactor(target->value)},
                                  {"interval", FormatBounds(headline->factor, target->interval80, "–")}});
    }
  }
  note["isUnreliable"] =
      range && (range->reach == ReliableRange::Reach::kOnlyMeasured || range->reach == ReliableRange::Reach::kMisfit);
  // Factors whose curves miss their points by so much that following them further is a guess.
  std::vector<std::string> misfits;
  for (const FactorProjection& factor : projection->factors) {
    const bool is_fitted = !factor.is_product && IsUsable(factor.fit.outcome) && !factor.fit.sigma_is_assumed;
    if (is_fitted && factor.fit.sigma >= kLargeDeviation) misfits.push_back(NameInSentence(factor.factor));
  }
  note["misfits"] = ListInWords(std::move(misfits));
  return note;
}

// One line for all phases with the same note.
std::vector<std::string> DigestNotes(const Results& results, const Partials& texts) {
  std::vector<std::string> sentences;
  std::vector<std::vector<std::string>> phases;
  const std::vector<PhaseKey> keys = results.table.Keys();
  for (const PhaseKey& key : keys) {
    const Data note = NoteText(key, FindPhase(results.projections, key), results);
    for (const std::string& sentence : RenderSentences(texts, "digest_notes.txt", note)) {
      const auto known = std::ranges::find(sentences, sentence);
      if (known == sentences.end()) {
        sentences.push_back(sentence);
        phases.push_back({NameInDigest(key, results)});
      } else {
        phases[static_cast<std::size_t>(known - sentences.begin())].push_back(NameInDigest(key, results));
      }
    }
  }
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    if (phases[i].size() < keys.size()) sentences[i] = Join(phases[i], ", ") + ": " + sentences[i];
  }
  std::ranges::move(NextStepsForTargets(results.projections, texts), std::back_inserter(sentences));
  if (const std::string outside = OutsideOfPhases(results, kMuchOutside); !outside.empty())
    sentences.push_back("Outside the phases: " + outside + ".");
  for (const Finding& finding : results.table.findings) {
    if (finding.id == anomaly::kTimesOnly.id) sentences.push_back("Note: " + finding.sentence + ".");
  }
  return sentences;
}

// The text that all phases have which have one; empty where they differ.
std::string Shared(const Data& phases, const char* tag) {
  std::string shared;
  for (const Data& phase : phases) {
    const std::string own = phase[tag].get<std::string>();
    if (!shared.empty() && !own.empty() && own != shared) return "";
    if (shared.empty()) shared = own;
  }
  return shared;
}

std::vector<FactorRow> LongestRows(const Results& results) {
  const std::vector<std::string> series = results.table.Series();
  return series.empty() ? std::vector<FactorRow>() : LongestPhase(results.table, series.front());
}

// Wide if that fits.
std::string RenderFitting(const Partials& texts, const std::string& name, Data data, const TerminalStyle& style) {
  std::string text;
  for (const bool is_wide : {true, false}) {
    data["isWide"] = is_wide;
    text = RenderText(texts, name, data);
    if (IsWithin(text, style.columns)) break;
  }
  return text;
}

}  // namespace

std::string FormatBatch(const std::vector<ListedStudy>& rows, const Partials& texts, const TerminalStyle& style) {
  const bool shows_times = std::ranges::none_of(rows, [](const ListedStudy& row) {
    if (!row.results) return false;
    const std::vector<FactorRow> longest = LongestRows(*row.results);
    const PhaseProjection* projection =
        longest.empty() ? nullptr : FindPhase(row.results->projections, longest.front().Key());
    return projection != nullptr && IsWithoutTime(*projection);
  });
  Data studies = Data::array();
  std::string level;
  for (const ListedStudy& row : rows) {
    const std::vector<FactorRow> longest = row.results ? LongestRows(*row.results) : std::vector<FactorRow>();
    Data study = {{"name", kNothing},  {"run", kNothing},   {"loss", kNothing}, {"target", ""},
                  {"value", kNothing}, {"until", kNothing}, {"ownLevel", ""}};
    if (!longest.empty()) study = PhaseRow(longest.front().Key(), longest, *row.results, shows_times, style);
    const std::string phase = study["name"].get<std::string>();
    study["phase"] = phase;
    study["name"] = row.name;
    study["link"] = row.results ? row.report : "";
    study["isFailed"] = row.is_failed;
    if (study["ownLevel"] != "") level = study["ownLevel"].get<std::string>();
    studies.push_back(std::move(study));
  }
  const auto kept = std::ranges::count(rows, true, &ListedStudy::is_up_to_date);
  const Data batch = {{"studies", std::move(studies)},
                      {"level", level},
                      {"count", std::to_string(rows.size())},
                      {"upToDate", kept > 0 ? std::to_string(kept) : ""}};
  return RenderFitting(texts, "batch.txt", batch, style);
}

std::string FormatDigest(const Results& results, const Partials& texts, const TerminalStyle& style) {
  Data phases = Data::array();
  bool has_predictions = false;
  const bool shows_times = std::ranges::none_of(results.projections, IsWithoutTime);
  for (const PhaseKey& key : results.table.Keys()) {
    const PhaseProjection* projection = FindPhase(results.projections, key);
    phases.push_back(PhaseRow(key, results.table.Rows(key), results, shows_times, style));
    has_predictions |= projection != nullptr && !projection->factors.empty() && projection->obstacle.empty();
  }
  if (phases.empty()) return "";
  Data digest = {{"level", Shared(phases, "ownLevel")},
                 {"efficiency", Shared(phases, "ownEfficiency")},
                 {"predicted", Shared(phases, "ownPredicted")},
                 {"hasPredictions", has_predictions},
                 {"counts", ""},
                 {"phases", std::move(phases)}};
  const std::vector<double>* counts = nullptr;  // that were fitted, where all projected phases have the same
  bool are_same = true;
  for (const PhaseProjection& projection : results.projections) {
    if (projection.fitted_cores.empty()) continue;
    are_same = are_same && (counts == nullptr || *counts == projection.fitted_cores);
    counts = &projection.fitted_cores;
  }
  if (are_same && counts != nullptr && counts->size() >= 2) {
    digest["counts"] = std::to_string(counts->size());
    digest["first"] = FormatCores(counts->front());
    digest["last"] = FormatCores(counts->back());
  }
  std::vector<std::string> sentences = DigestNotes(results, texts);
  std::ranges::move(RenderSentences(texts, "digest_legend.txt", digest), std::back_inserter(sentences));
  return RenderFitting(texts, "digest.txt", digest, style) + WrapSentences(sentences, style.columns);
}

}  // namespace farscale
