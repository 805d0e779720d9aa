#include "report/studies/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <map>
#include <optional>

#include "base/files.h"
#include "base/text.h"
#include "base/version.h"
#include "factors/scaling.h"
#include "planning/shortlist.h"
#include "report/factor_text.h"
#include "report/overview.h"
#include "report/sampled_values.h"
#include "report/shown_results.h"

namespace farscale {
namespace {

constexpr const char* kUnknownCell = "–";
constexpr double kSecondsAnHour = 3600;
constexpr const char* kOwnMachine = "machine of the runs";

// A phase of a study. The numbers of the overview again, for a table; a dash where there is none.
struct PhaseOfStudy {
  std::string study, link, phase, heading, anchor, description;
  std::string obstacle;  // why there is no prediction
  std::string hours;     // core hours lost in the largest run; empty: unknown
  std::string limit, lost, kept, reach, gain;
  std::optional<ReportData> figure;
  Overview overview;
  FARSCALE_TAGS(study, link, phase, heading, anchor, description, obstacle, hours, limit, lost, kept, reach, gain,
                figure, overview)
};

// A study by its longest phase; the others fold out.
struct StudyRow {
  double lost_hours = 0;    // in the largest run
  std::string other_count;  // of phases; empty: none
  std::vector<PhaseOfStudy> rows, others;
  FARSCALE_TAGS(other_count, rows, others)
};

// Studies that the same factor limits; an empty name: none is known.
struct LimitedStudies {
  std::string limit;
  std::vector<const PhaseOfStudy*> phases;
};

// The tags of studies_verdict.txt.mustache: how many studies each factor limits, and the one that loses most.
struct VerdictLimit {
  std::string limit, count;
  bool is_one = false, is_first = false, is_last = false;
  FARSCALE_TAGS(limit, count, is_one, is_first, is_last)
};

struct StudiesVerdict {
  std::string count;  // of studies
  bool is_one = false;
  std::vector<VerdictLimit> limits;
  std::string largest, largest_limit, lost;
  FARSCALE_TAGS(count, is_one, limits, largest, largest_limit, lost)
};

// A machine in one study.
struct ShortlistCell {
  FARSCALE_TEXTS(machine, time, speed, cost)
};

struct ShortlistStudy {
  std::string study, phase, cores;
  bool is_predicted = false;
  std::vector<ShortlistCell> cells;
  FARSCALE_TAGS(study, phase, cores, is_predicted, cells)
};

// A machine over all studies.
struct ShortlistLine {
  FARSCALE_TEXTS(rank, machine, speed, cost)
};

struct ShortlistTable {
  std::vector<ShortlistLine> rows;
  std::vector<ShortlistStudy> studies;
  std::vector<std::string> sentences;
  bool has_predictions = false, has_costs = false, is_several = false;
  FARSCALE_TAGS(rows, studies, sentences, has_predictions, has_costs, is_several)
};

// The tags of shortlist.txt.mustache.
struct ShortlistText {
  std::string machine, speed, count;
  std::string equals;  // whose intervals overlap that of the fastest
  std::string cheapest, cost, dearest, as_cheap;
  bool is_own = false, is_one = false;
  FARSCALE_TAGS(machine, speed, count, equals, cheapest, cost, dearest, as_cheap, is_own, is_one)
};

struct StudiesText {
  std::string generator, choices, count;
  std::vector<std::string> failed;  // names of studies
  std::vector<std::string> verdict;
  std::optional<ShortlistTable> shortlist;
  std::vector<StudyRow> codes;
  FARSCALE_TAGS(generator, choices, count, failed, verdict, shortlist, codes)
};

// What the phases of all studies share.
struct SharedParts {
  const Partials& texts;
  ReportModel& model;
  std::set<std::string>& anchors;
  ReportData& choices;
  std::set<Factor>& named;
  std::optional<double> common;  // cores at which losses are compared
};

std::string LinkTo(const std::string& report, const std::string& folder) {
  if (report.empty()) return "";
  return std::filesystem::path(report).lexically_proximate(folder.empty() ? "." : folder).generic_string();
}

std::string ValueOf(const Overview& overview, std::size_t i) {
  if (i >= overview.numbers.size()) return kUnknownCell;
  const OverviewNumber& number = overview.numbers[i];
  return number.detail.empty() ? number.value : number.value + ", " + number.detail;
}

// `results` are as a report shows them.
PhaseOfStudy PhaseOf(const ListedStudy& study, const Results& results, const PhaseKey& key, const std::string& folder,
                     const SharedParts& parts) {
  const std::vector<FactorRow> rows = results.table.Rows(key);
  const PhaseProjection* projection = FindPhase(results.projections, key);
  PhaseOfStudy phase{.study = study.name,
                     .link = LinkTo(study.report, folder),
                     .phase = NameOfPhase(key, results.table.Series().size() > 1)};
  phase.heading = study.name + (phase.phase.empty() ? "" : ", " + phase.phase);
  phase.anchor = UniqueSlug(phase.heading, parts.anchors);
  phase.overview =
      OverviewWithoutFigures(results, rows, projection, {phase.heading, phase.anchor}, parts.texts, parts.common);
  phase.kept = ValueOf(phase.overview, 0);
  phase.reach = ValueOf(phase.overview, 1);
  phase.gain = ValueOf(phase.overview, 2);
  phase.limit = phase.lost = kUnknownCell;
  if (phase.overview.limit) {
    phase.limit = NameInSentence(phase.overview.limit->factor);
    phase.lost = FormatPercent(phase.overview.limit->share);
  }
  if (projection == nullptr || !projection->obstacle.empty()) {
    phase.obstacle = projection == nullptr ? "no projection was made" : projection->obstacle;
    return phase;
  }
  const std::string name = phase.anchor + "-efficiency.svg";
  phase.figure = AddChart(SmallMultiple(*projection, phase.heading), name, parts.model);
  phase.overview.small = (*phase.figure)["svg"].get<std::string>();
  SampledValues sampled = SampleValues({{kProjected, projection}}, phase.anchor);
  if (sampled.table) parts.choices.push_back(std::move(sampled.choices));
  for (const FactorProjection& factor : projection->factors) parts.named.insert(factor.factor);
  return phase;
}

double ShareOf(const PhaseOfStudy& phase) { return phase.overview.limit ? phase.overview.limit->share : 0; }

// Core hours that the largest run of a phase loses, by parallel efficiency where that is known; nothing where its time
// is unknown.
std::optional<double> LostCoreHours(const std::vector<FactorRow>& rows) {
  const FactorRow& largest = rows.back();
  for (const Factor factor : {Factor::kParallelEfficiency, Factor::kGlobalEfficiency}) {
    const std::optional<double>& efficiency = largest.values[factor];
    if (!efficiency || !largest.runtime) continue;
    return static_cast<double>(largest.cores) * *largest.runtime / kSecondsAnHour * std::max(0.0, 1 - *efficiency);
  }
  return std::nullopt;
}

// The study with its longest phase first.
StudyRow RowOf(const ListedStudy& study, const Results& shown, const std::string& folder, const SharedParts& parts) {
  StudyRow row;
  const std::vector<FactorRow> longest = LongestPhase(shown.table, shown.table.Series().front());
  for (const PhaseKey& key : shown.table.Keys()) {
    const bool is_longest = !longest.empty() && key == longest.front().Key();
    (is_longest ? row.rows : row.others).push_back(PhaseOf(study, shown, key, folder, parts));
  }
  if (row.rows.empty()) std::swap(row.rows, row.others);
  if (!row.others.empty()) row.other_count = FormatCount(row.others.size());
  if (const std::optional<double> hours = longest.empty() ? std::nullopt : LostCoreHours(longest)) {
    row.lost_hours = *hours;
    constexpr double kFewHours = 0.01;
    const std::string lost = *hours < kFewHours ? FormatSeconds(*hours * kSecondsAnHour) + " of core time"
                                                : FormatSignificant(*hours, 3) + " core hours";
    row.rows.front().hours =
        fmt::format("{} lost on {}", lost, FormatCoreCount(static_cast<double>(longest.back().cores)));
  }
  return row;
}

// By the factor that limits them, those first that lose most.
std::vector<LimitedStudies> ByLimit(const std::vector<StudyRow>& codes) {
  std::vector<const PhaseOfStudy*> phases;
  for (const StudyRow& code : codes) phases.push_back(&code.rows.front());
  std::ranges::stable_sort(phases, std::ranges::greater(), [](const PhaseOfStudy* phase) { return ShareOf(*phase); });
  std::vector<LimitedStudies> groups;
  for (const PhaseOfStudy* phase : phases) {
    const std::string limit = phase->overview.limit ? phase->limit : "";
    auto group = std::ranges::find(groups, limit, &LimitedStudies::limit);
    if (group == groups.end()) group = groups.insert(groups.end(), LimitedStudies{limit, {}});
    group->phases.push_back(phase);
  }
  return groups;
}

// Factors that limit most studies are named first. No sentence where nothing is lost.
std::vector<std::string> VerdictOn(const std::vector<StudyRow>& codes, const Partials& texts) {
  StudiesVerdict verdict;
  std::vector<LimitedStudies> limited = ByLimit(codes);
  std::erase_if(limited, [](const LimitedStudies& group) { return group.limit.empty(); });
  if (limited.empty()) return {};
  const PhaseOfStudy& worst = *limited.front().phases.front();
  const auto count = [](const LimitedStudies& group) { return group.phases.size(); };
  std::ranges::stable_sort(limited, std::ranges::greater(), count);
  for (const LimitedStudies& group : limited) {
    verdict.limits.push_back({group.limit, std::to_string(count(group)), count(group) == 1, false, false});
  }
  verdict.limits.front().is_first = verdict.limits.back().is_last = true;
  verdict.count = std::to_string(codes.size());
  verdict.is_one = codes.size() == 1;
  verdict.largest = worst.heading;
  verdict.largest_limit = worst.limit;
  verdict.lost = worst.lost;
  return RenderSentences(texts, "studies_verdict.txt", ToData(verdict));
}

Shortlist ShortlistOfStudies(const std::vector<ListedStudy>& studies) {
  static const Results kNone;
  std::vector<const Results*> results;
  for (const ListedStudy& study : studies) results.push_back(study.results ? &*study.results : &kNone);
  return ShortlistOf(results);
}

std::string NameOfMachine(const ShortlistRow& row) { return row.machine.empty() ? kOwnMachine : row.machine; }

// "1.42× (1.31–1.54)"
std::string RatioText(const Ratio& ratio) {
  const std::string value = fmt::format("{:.2f}×", ratio.value);
  if (ratio.low == ratio.high) return value;
  if (!std::isfinite(ratio.high)) return fmt::format("{} (more than {:.2f})", value, ratio.low);
  return fmt::format("{} ({:.2f}–{:.2f})", value, ratio.low, ratio.high);
}

// "0.0213 EUR"
std::string CostText(double cost, const std::string& currency) {
  return FormatSignificant(cost, 3) + (currency.empty() ? "" : " " + currency);
}

bool Overlap(const Ratio& a, const Ratio& b) { return a.low <= b.high && b.low <= a.high; }

// What is cheapest of several offers with prices.
void AddCheapest(const std::vector<ShortlistRow>& rows, ShortlistText& text) {
  std::vector<const ShortlistRow*> priced;
  for (const ShortlistRow& row : rows) {
    if (row.cost) priced.push_back(&row);
  }
  if (priced.size() < 2) return;
  std::ranges::stable_sort(priced, {}, [](const ShortlistRow* row) { return row->cost->value; });
  const ShortlistRow& least = *priced.front();
  const ShortlistRow& most = *priced.back();
  text.cheapest = least.machine;
  text.dearest = most.machine;
  text.cost = fmt::format("{:.2f}×", most.cost->value);
  std::vector<std::string> as_cheap;
  for (const ShortlistRow* row : priced) {
    if (row != &least && Overlap(*row->cost, *least.cost)) as_cheap.push_back(row->machine);
  }
  text.as_cheap = Join(as_cheap, ", ");
}

std::vector<std::string> SentencesOf(const Shortlist& list, const Partials& texts) {
  if (list.rows.empty() || !list.rows.front().speed) return {};
  const ShortlistRow& best = list.rows.front();
  ShortlistText text{.machine = best.machine,
                     .speed = RatioText(*best.speed),
                     .count = std::to_string(list.columns.size()),
                     .is_own = best.machine.empty(),
                     .is_one = list.columns.size() == 1};
  std::vector<std::string> equals;
  for (const ShortlistRow& row : list.rows) {
    if (&row != &best && row.speed && row.first_rank == 1) equals.push_back(NameOfMachine(row));
  }
  text.equals = Join(equals, ", ");
  AddCheapest(list.rows, text);
  return RenderSentences(texts, "shortlist.txt", ToData(text));
}

ShortlistStudy InStudy(const Shortlist& list, std::size_t column, const std::vector<ListedStudy>& studies) {
  const ShortlistColumn& head = list.columns[column];
  ShortlistStudy study{
      studies[head.study].name, NameOfPhase(head.phase, false), FormatCores(head.cores), head.is_predicted, {}};
  for (const ShortlistRow& row : list.rows) {
    const std::optional<MachineTime>& time = row.times[column];
    if (!time) continue;
    study.cells.push_back({NameOfMachine(row), FormatTime(time->seconds, time->interval80), RatioText(time->speed),
                           time->cost ? CostText(time->cost->value, row.currency) : kUnknownCell});
  }
  return study;
}

std::optional<ShortlistTable> TableOf(const Shortlist& list, const std::vector<ListedStudy>& studies,
                                      const Partials& texts) {
  if (list.columns.empty()) return std::nullopt;
  ShortlistTable table;
  table.sentences = SentencesOf(list, texts);
  table.is_several = list.columns.size() > 1;
  for (const ShortlistRow& row : list.rows) {
    std::string rank = row.speed ? std::to_string(row.first_rank) : kUnknownCell;
    if (row.last_rank > row.first_rank) rank = FormatRange(rank, std::to_string(row.last_rank));
    table.rows.push_back({rank, NameOfMachine(row), row.speed ? RatioText(*row.speed) : kUnknownCell,
                          row.cost ? RatioText(*row.cost) : kUnknownCell});
    for (const std::optional<MachineTime>& time : row.times) table.has_costs |= time && time->cost;
  }
  for (std::size_t column = 0; column < list.columns.size(); ++column) {
    table.studies.push_back(InStudy(list, column, studies));
    table.has_predictions |= list.columns[column].is_predicted;
  }
  return table;
}

}  // namespace

ReportModel BuildStudiesModel(const std::vector<ListedStudy>& studies, const std::string& folder,
                              const Partials& texts) {
  ReportModel model;
  StudiesText text{.generator = Generator(), .count = std::to_string(studies.size())};
  std::set<std::string> anchors = {"choices", "readout", "report", "shortlist", "theme"};
  ReportData choices = ReportData::array();
  std::set<Factor> named;
  std::list<Results> all_shown;
  std::vector<const Results*> known;
  for (const ListedStudy& study : studies) {
    if (study.results) {
      known.push_back(&all_shown.emplace_back(ShownResults(*study.results)));
    } else {
      text.failed.push_back(study.name);
    }
  }
  const SharedParts parts{texts, model, anchors, choices, named, CommonTarget(known)};
  auto shown = known.begin();
  for (const ListedStudy& study : studies) {
    if (!study.results) continue;
    if (!(*shown)->table.rows.empty()) text.codes.push_back(RowOf(study, **shown, folder, parts));
    ++shown;
  }
  std::ranges::stable_sort(text.codes, std::ranges::greater(),
                           [](const StudyRow& code) { return std::pair(code.lost_hours, ShareOf(code.rows.front())); });
  text.verdict = VerdictOn(text.codes, texts);
  text.shortlist = TableOf(ShortlistOfStudies(studies), studies, texts);
  text.choices = ToScriptJson({{"phases", choices}, {"names", NamesById(named)}});
  model.data = ToData(text);
  return model;
}

std::vector<std::string> SummarizeShortlist(const std::vector<ListedStudy>& studies, const Partials& texts) {
  return SentencesOf(ShortlistOfStudies(studies), texts);
}

std::vector<std::filesystem::path> WriteStudies(const std::vector<ListedStudy>& studies,
                                                const ReportTemplates& templates, const std::filesystem::path& folder,
                                                const std::set<ReportFormat>& formats) {
  const ReportModel model = BuildStudiesModel(studies, folder.string(), templates.partials);
  NamedTexts files;
  if (formats.contains(ReportFormat::kHtml)) files.emplace_back("index.html", RenderHtml(model, templates));
  if (formats.contains(ReportFormat::kMarkdown)) {
    files.emplace_back("index.md", RenderMarkdown(model, templates));
    for (const auto& [name, svg] : model.figures)
      files.emplace_back(std::filesystem::path("figures") / name, svg + "\n");
  }
  return WriteFiles(folder, files);
}

}  // namespace farscale
