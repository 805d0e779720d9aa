#include "report/digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "factors/anomalies.h"
#include "factors/scaling.h"
#include "report/factor_text.h"
#include "report/figures.h"
#include "report/kept_efficiency.h"
#include "report/key_results.h"
#include "report/phase_share.h"
#include "report/reliability.h"
#include "report/summary.h"
#include "report/target_text.h"

namespace farscale {
namespace {

constexpr double kLargeDeviation = 0.03;    // of measured values from the curve, as in the summary
constexpr double kGood = 0.8, kFair = 0.5;  // of efficiencies, as POP colours them
constexpr std::size_t kWidestPhase = 24;    // columns, in a table
constexpr const char* kNothing = "–";

// Tags of digest.txt.mustache; what is not known is a dash.
struct PhaseText {
  std::string name, run, loss, target, value, until, next;
  std::string efficiency, predicted, level;  // what `run`, `value` and `until` are; not printed in every row
  FARSCALE_TAGS(name, run, loss, target, value, until, next)
};

// A run that was measured and not fitted, and what the others predict for it.
struct HeldBackText {
  std::string cores, factor, measured, predicted, interval;
  FARSCALE_TAGS(cores, factor, measured, predicted, interval)
};

struct NoteText {
  std::string obstacle, misfits, missing, noise;
  bool is_unreliable = false;
  std::vector<HeldBackText> held_back;
  FARSCALE_TAGS(obstacle, misfits, missing, noise, is_unreliable, held_back)
};

// A study of a batch, by its longest phase. Tags of batch.txt.mustache.
struct StudyText {
  std::string name, phase, run, loss, target, value, until, next, link;
  bool is_failed = false;
  FARSCALE_TAGS(name, phase, run, loss, target, value, until, next, link, is_failed)
};

struct BatchText {
  std::vector<StudyText> studies;
  std::string level, count, up_to_date;  // how many of them; empty: none
  bool is_wide = true;
  FARSCALE_TAGS(studies, level, count, up_to_date, is_wide)
};

// `efficiency` and `predicted`: what is shown of the largest run, and at a target. Empty: not the same in all phases.
struct DigestText {
  std::vector<PhaseText> phases;
  std::string level, counts, first, last, efficiency, predicted;
  bool is_wide = true, has_predictions = false;
  FARSCALE_TAGS(phases, level, counts, first, last, efficiency, predicted, is_wide, has_predictions)
};

Tone ToneAt(double efficiency) {
  return efficiency >= kGood ? Tone::kGood : efficiency >= kFair ? Tone::kFair : Tone::kBad;
}

std::optional<Factor> EfficiencyOf(const FactorRow& row) {
  for (const Factor factor : {Factor::kGlobalEfficiency, Factor::kParallelEfficiency}) {
    if (row.values[factor]) return factor;
  }
  return std::nullopt;
}

void AddLargestRun(const FactorRow& row, const TerminalStyle& style, PhaseText& text) {
  const std::optional<Factor> factor = EfficiencyOf(row);
  if (!factor) return;
  const double value = *row.values[*factor];
  text.efficiency = NameInSentence(*factor);
  text.run = fmt::format("{} @ {}", style.Painted(FormatFactor(value), ToneAt(value)),
                         FormatCores(static_cast<double>(row.cores)));
  const std::optional<LargestLoss> loss = LargestLossOf(row);
  if (!loss) return;
  text.loss = NameInSentence(loss->factor);
  constexpr std::string_view kLong = "computation ";  // its names are twice as long as those of other factors
  if (text.loss.starts_with(kLong)) text.loss = "comp. " + text.loss.substr(kLong.size());
}

// The time to speak of; null where none is reliable.
const ProjectedTime* RunTimeOf(const PhaseProjection& projection) {
  if (!projection.key_results || !projection.key_results->time) return nullptr;
  const std::vector<ProjectedTime>& targets = projection.key_results->time->targets;
  const std::optional<double> cores = TargetToSpeakOf(projection, Factor::kSpeedup);
  const auto target = cores ? std::ranges::find(targets, *cores, &ProjectedTime::cores) : targets.end();
  return target == targets.end() ? nullptr : &*target;
}

// Whether something is predicted of the phase, and that is no time.
bool IsWithoutTime(const PhaseProjection& projection) {
  const FactorProjection* headline = projection.obstacle.empty() ? HeadlineOf(projection) : nullptr;
  return headline != nullptr && projection.key_results && TargetToSpeakOf(projection, headline->factor) &&
         RunTimeOf(projection) == nullptr;
}

// Of reliable targets: times, or efficiencies where not all rows of a table have times.
void AddPrediction(const PhaseProjection& projection, bool shows_times, PhaseText& text) {
  if (!projection.key_results) return;
  if (const ProjectedTime* time = shows_times ? RunTimeOf(projection) : nullptr) {
    text.target = FormatCores(time->cores);
    text.value = FormatTime(*time);
    text.predicted = "time of an iteration";
    return;
  }
  const FactorProjection* headline = HeadlineOf(projection);
  if (headline == nullptr) return;
  const std::optional<double> cores = TargetToSpeakOf(projection, headline->factor);
  if (!cores) return;
  const auto target = std::ranges::find(headline->targets, *cores, &ProjectedValue::cores);
  if (target == headline->targets.end()) return;
  text.target = FormatCores(*cores);
  text.value =
      fmt::format("{} ({})", FormatFactor(target->value), FormatBounds(headline->factor, target->interval80, "–"));
  text.predicted = NameInSentence(headline->factor);
}

std::string NameInDigest(const PhaseKey& key, const Results& results) {
  const std::string name = NameOfPhase(key, results.table.Series().size() > 1);
  return name.empty() ? "all runs" : name;
}

// The largest run of a phase, with the means of its repeats.
FactorRow LargestRun(const std::vector<FactorRow>& rows) {
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
  return largest;
}

PhaseText TextOf(const PhaseKey& key, const std::vector<FactorRow>& rows, const Results& results, bool shows_times,
                 const TerminalStyle& style) {
  const PhaseProjection* projection = FindPhase(results.projections, key);
  PhaseText text{NameInDigest(key, results), kNothing, kNothing, "", kNothing, kNothing, kNothing, "", "", ""};
  AddLargestRun(LargestRun(rows), style, text);
  if (const std::optional<KeptEfficiency> kept = KeptEfficiencyOf(rows, projection)) {
    const std::string count = ShortCount(*kept);
    if (!count.empty()) text.until = count;
    text.level = fmt::format("{:g}", 100 * kept->level);
  }
  if (projection == nullptr || !projection->obstacle.empty()) return text;
  AddPrediction(*projection, shows_times, text);
  if (const RunChoice* run = SuggestedRun(*projection)) {
    text.next = FormatCores(run->cores) + (run->is_repeat ? " again" : "");
  }
  return text;
}

// Factors whose curves miss their points by so much that following them further is a guess.
void AddMisfits(const PhaseProjection& projection, NoteText& note) {
  std::vector<std::string> names;
  for (const FactorProjection& factor : projection.factors) {
    const bool is_fitted = !factor.is_product && IsUsable(factor.fit.outcome) && !factor.fit.sigma_is_assumed;
    if (!is_fitted || factor.fit.sigma < kLargeDeviation) continue;
    names.push_back(NameInSentence(factor.factor));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    note.misfits += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
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

// Runs beyond the fitted ones that are among the targets.
std::vector<HeldBackText> HeldBackOf(const PhaseProjection& projection) {
  std::vector<HeldBackText> texts;
  const FactorProjection* headline = HeadlineOf(projection);
  if (headline == nullptr || projection.fitted_cores.empty()) return texts;
  for (const DataPoint& run : headline->measured) {
    const auto target = std::ranges::find(headline->targets, run.cores, &ProjectedValue::cores);
    if (run.cores <= projection.fitted_cores.back() || target == headline->targets.end()) continue;
    texts.push_back({FormatCores(run.cores), NameInSentence(headline->factor), FormatFactor(run.value),
                     FormatFactor(target->value), FormatBounds(headline->factor, target->interval80, "–")});
  }
  return texts;
}

NoteText NoteOf(const PhaseKey& key, const PhaseProjection* projection, const Results& results) {
  NoteText note;
  note.noise = WithoutNoise(key, results);
  if (projection == nullptr) return note;
  if (!projection->obstacle.empty()) {
    if (!KnowsSplits(results.splits, key)) note.obstacle = projection->obstacle;  // else they stand in its place
    return note;
  }
  note.missing = DescribeMissing(*projection);
  note.held_back = HeldBackOf(*projection);
  const std::optional<ReliableRange>& range = projection->reliable_range;
  note.is_unreliable =
      range && (range->reach == ReliableRange::Reach::kOnlyMeasured || range->reach == ReliableRange::Reach::kMisfit);
  AddMisfits(*projection, note);
  return note;
}

// One line for all phases about which the same is to be said.
std::vector<std::string> NotesOf(const Results& results, const Partials& texts) {
  std::vector<std::string> sentences;
  std::vector<std::vector<std::string>> phases;
  const std::vector<PhaseKey> keys = results.table.Keys();
  for (const PhaseKey& key : keys) {
    const NoteText note = NoteOf(key, FindPhase(results.projections, key), results);
    for (const std::string& sentence : RenderSentences(texts, "digest_notes.txt", ToData(note))) {
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

// Of the phases that are projected, where all have the same.
void AddFittedCounts(const Results& results, DigestText& text) {
  const std::vector<double>* counts = nullptr;
  for (const PhaseProjection& projection : results.projections) {
    if (projection.fitted_cores.empty()) continue;
    if (counts != nullptr && *counts != projection.fitted_cores) return;
    counts = &projection.fitted_cores;
  }
  if (counts == nullptr || counts->size() < 2) return;
  text.counts = std::to_string(counts->size());
  text.first = FormatCores(counts->front());
  text.last = FormatCores(counts->back());
}

// What all phases have that have it; empty where they differ.
std::string Shared(const std::vector<PhaseText>& phases, std::string PhaseText::*member) {
  std::string shared;
  for (const PhaseText& phase : phases) {
    const std::string& own = phase.*member;
    if (!shared.empty() && !own.empty() && own != shared) return "";
    if (shared.empty()) shared = own;
  }
  return shared;
}

DigestText DigestOf(const Results& results, const TerminalStyle& style) {
  DigestText text;
  const bool shows_times = std::ranges::none_of(results.projections, IsWithoutTime);
  for (const PhaseKey& key : results.table.Keys()) {
    const std::vector<FactorRow> rows = results.table.Rows(key);
    const PhaseProjection* projection = FindPhase(results.projections, key);
    text.phases.push_back(TextOf(key, rows, results, shows_times, style));
    text.phases.back().name = Shorten(text.phases.back().name, kWidestPhase);
    if (projection == nullptr) continue;
    text.has_predictions |= !projection->factors.empty() && projection->obstacle.empty();
  }
  text.level = Shared(text.phases, &PhaseText::level);
  text.efficiency = Shared(text.phases, &PhaseText::efficiency);
  text.predicted = Shared(text.phases, &PhaseText::predicted);
  AddFittedCounts(results, text);
  return text;
}

std::vector<FactorRow> LongestPhaseOf(const Results& results) {
  const std::vector<std::string> series = results.table.Series();
  return series.empty() ? std::vector<FactorRow>() : LongestPhase(results.table, series.front());
}

StudyText StudyTextOf(const ListedStudy& row, bool shows_times, const TerminalStyle& style, std::string& level) {
  const std::string dash = kNothing;
  StudyText text{row.name, dash, dash, dash, "", dash, dash, dash, "", row.is_failed};
  if (!row.results) return text;
  text.link = row.report;
  const std::vector<FactorRow> rows = LongestPhaseOf(*row.results);
  if (rows.empty()) return text;
  const PhaseText phase = TextOf(rows.front().Key(), rows, *row.results, shows_times, style);
  if (!phase.level.empty()) level = phase.level;
  text.phase = Shorten(phase.name, kWidestPhase);
  text.run = phase.run;
  text.loss = phase.loss;
  text.target = phase.target;
  text.value = phase.value;
  text.until = phase.until;
  text.next = phase.next;
  return text;
}

BatchText BatchTextOf(const std::vector<ListedStudy>& rows, const TerminalStyle& style) {
  BatchText text;
  const bool shows_times = std::ranges::none_of(rows, [](const ListedStudy& row) {
    if (!row.results) return false;
    const std::vector<FactorRow> longest = LongestPhaseOf(*row.results);
    const PhaseProjection* projection =
        longest.empty() ? nullptr : FindPhase(row.results->projections, longest.front().Key());
    return projection != nullptr && IsWithoutTime(*projection);
  });
  for (const ListedStudy& row : rows) text.studies.push_back(StudyTextOf(row, shows_times, style, text.level));
  const auto kept = std::ranges::count(rows, true, &ListedStudy::is_up_to_date);
  text.count = std::to_string(rows.size());
  if (kept > 0) text.up_to_date = std::to_string(kept);
  return text;
}

bool Fits(const std::string& text, std::size_t columns) {
  const std::vector<std::string> lines = Split(text, '\n');
  return std::ranges::all_of(lines, [&](const std::string& line) { return DisplayWidth(line) <= columns; });
}

std::string Wrapped(const std::vector<std::string>& sentences, std::size_t columns) {
  std::string text;
  for (const std::string& sentence : sentences) {
    for (const std::string& line : WrapText(sentence, columns, "  ")) text += line + "\n";
  }
  return text;
}

}  // namespace

std::string FormatBatch(const std::vector<ListedStudy>& rows, const Partials& texts, const TerminalStyle& style) {
  BatchText batch = BatchTextOf(rows, style);
  std::string text = RenderText(texts, "batch.txt", ToData(batch));
  if (!Fits(text, style.columns)) {
    batch.is_wide = false;
    text = RenderText(texts, "batch.txt", ToData(batch));
  }
  return text;
}

std::string FormatDigest(const Results& results, const Partials& texts, const TerminalStyle& style) {
  DigestText digest = DigestOf(results, style);
  if (digest.phases.empty()) return "";
  std::string text = RenderText(texts, "digest.txt", ToData(digest));
  if (!Fits(text, style.columns)) {
    digest.is_wide = false;
    text = RenderText(texts, "digest.txt", ToData(digest));
  }
  std::vector<std::string> sentences = NotesOf(results, texts);
  for (const std::string& line : RenderSentences(texts, "digest_legend.txt", ToData(digest))) sentences.push_back(line);
  return text + Wrapped(sentences, style.columns);
}

}  // namespace farscale
