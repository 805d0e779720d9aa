#include "report/digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <optional>

#include "base/files.h"
#include "base/text.h"
#include "factors/scaling.h"
#include "planning/shortlist.h"
#include "report/sections.h"
#include "report/figures.h"

namespace farscale {
namespace {

using Data = ReportData;

constexpr const char* kUnknownCell = "–";
constexpr double kSecondsAnHour = 3600;
constexpr const char* kOwnMachine = "machine of the runs";

// A phase of a study: its tags, and what studies are sorted by.
struct PhaseOfStudy {
  Data tags;
  std::string heading, limit;  // an empty limit: unknown
  double share = 0;            // share of the time that the limit takes
  double lost_hours = 0;       // that the study loses in its largest run
};

using StudyOnPage = std::vector<PhaseOfStudy>;  // the longest phase first; the others fold out

std::string ShownNumber(const Data& numbers, std::size_t i) {
  if (i >= numbers.size()) return kUnknownCell;
  const std::string value = numbers[i]["value"], detail = numbers[i]["detail"];
  return detail.empty() ? value : value + ", " + detail;
}

// `results` are as a report shows them.
PhaseOfStudy DescribePhase(const ListedStudy& study, const Results& results, const PhaseKey& key,
                           const std::string& folder, const ReportParts& parts) {
  const std::vector<FactorRow> rows = results.table.Rows(key);
  const PhaseProjection* projection = FindPhase(results.projections, key);
  const bool is_projected = projection != nullptr && projection->obstacle.empty();
  const std::string name = NameOfPhase(key, results.table.Series().size() > 1);
  const std::string heading = study.name + (name.empty() ? "" : ", " + name);
  const std::string anchor = UniqueSlug(heading, parts.anchors);
  Data overview = OverviewWithoutFigures(results, rows, projection, {heading, anchor}, parts.texts, parts.common);
  const auto largest = FindCostliest(rows, projection, parts.common);
  Data figure = false;
  if (is_projected) {
    figure = AddChart(SmallMultiple(*projection, heading), anchor + "-efficiency.svg", parts.model);
    overview["small"] = figure["svg"];
    auto [sampled, choices] = SampleValues({{kProjected, projection}}, anchor);
    if (sampled != false) parts.choices.push_back(std::move(choices));
    for (const FactorProjection& factor : projection->factors) parts.used.insert(factor.factor);
  }
  const std::string limit = largest ? NameInSentence(largest->first) : "";
  const double share = largest ? largest->second : 0;
  const std::filesystem::path base = folder.empty() ? "." : folder;
  const std::string link =
      study.report.empty() ? "" : std::filesystem::path(study.report).lexically_proximate(base).generic_string();
  const Data& numbers = overview["numbers"];
  // The numbers of the overview again, for a table; a dash where there is none.
  return {{{"study", study.name},
           {"link", link},
           {"phase", name},
           {"heading", heading},
           {"anchor", anchor},
           {"description", ""},
           {"obstacle", projection == nullptr ? "no projection was made" : projection->obstacle},
           {"hours", ""},
           {"limit", largest ? limit : kUnknownCell},
           {"lost", largest ? FormatPercent(share) : kUnknownCell},
           {"kept", ShownNumber(numbers, 0)},
           {"reach", ShownNumber(numbers, 1)},
           {"gain", ShownNumber(numbers, 2)},
           {"figure", std::move(figure)},
           {"overview", overview}},
          heading,
          limit,
          share};
}

StudyOnPage DescribeStudy(const ListedStudy& study, const Results& shown, const std::string& folder,
                          const ReportParts& parts) {
  StudyOnPage phases;
  const std::vector<FactorRow> longest = LongestPhase(shown.table, shown.table.Series().front());
  for (const PhaseKey& key : shown.table.Keys()) {
    const bool is_longest = !longest.empty() && key == longest.front().Key();
    phases.insert(is_longest ? phases.begin() : phases.end(), DescribePhase(study, shown, key, folder, parts));
  }
  if (longest.empty()) return phases;
  // Core hours that the largest run loses, by parallel efficiency where that is known.
  const FactorRow& largest = longest.back();
  const std::optional<double>& parallel = largest.values[Factor::kParallelEfficiency];
  const std::optional<double>& efficiency = parallel ? parallel : largest.values[Factor::kGlobalEfficiency];
  if (efficiency && largest.runtime) {
    const double hours =
        static_cast<double>(largest.cores) * *largest.runtime / kSecondsAnHour * std::max(0.0, 1 - *efficiency);
    phases.front().lost_hours = hours;
    constexpr double kFewHours = 0.01;
    const std::string lost = hours < kFewHours ? FormatSeconds(hours * kSecondsAnHour) + " of core time"
                                               : FormatSignificant(hours, 3) + " core hours";
    phases.front().tags["hours"] =
        fmt::format("{} lost on {}", lost, FormatCoreCount(static_cast<double>(largest.cores)));
  }
  return phases;
}

// The number of studies that each factor limits, and the study that loses most: factors that limit most studies are
// named first. No sentence where nothing is lost.
std::vector<std::string> StudiesVerdict(const std::vector<StudyOnPage>& codes, const Partials& texts) {
  std::vector<const PhaseOfStudy*> phases;
  for (const StudyOnPage& code : codes) {
    if (!code.front().limit.empty()) phases.push_back(&code.front());
  }
  if (phases.empty()) return {};
  std::ranges::stable_sort(phases, std::ranges::greater(), &PhaseOfStudy::share);
  std::vector<std::pair<std::string, std::size_t>> limits;  // and how many studies they limit
  for (const PhaseOfStudy* phase : phases) {
    auto limit = std::ranges::find(limits, phase->limit, &std::pair<std::string, std::size_t>::first);
    if (limit == limits.end()) limit = limits.insert(limits.end(), {phase->limit, 0});
    ++limit->second;
  }
  std::ranges::stable_sort(limits, std::ranges::greater(), &std::pair<std::string, std::size_t>::second);
  Data list = Data::array();
  for (std::size_t i = 0; i < limits.size(); ++i) {
    list.push_back({{"limit", limits[i].first},
                    {"count", std::to_string(limits[i].second)},
                    {"isOne", limits[i].second == 1},
                    {"isFirst", i == 0},
                    {"isLast", i + 1 == limits.size()}});
  }
  const PhaseOfStudy& worst = *phases.front();
  return RenderSentences(texts, "studies_verdict.txt",
                         {{"count", std::to_string(codes.size())},
                          {"isOne", codes.size() == 1},
                          {"limits", std::move(list)},
                          {"largest", worst.heading},
                          {"largestLimit", worst.limit},
                          {"lost", FormatPercent(worst.share)}});
}

Shortlist ShortlistOfStudies(const std::vector<ListedStudy>& studies) {
  static const Results kNoResults;
  std::vector<const Results*> results;
  for (const ListedStudy& study : studies) results.push_back(study.results ? &*study.results : &kNoResults);
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

std::vector<std::string> ShortlistSentences(const Shortlist& list, const Partials& texts) {
  if (list.rows.empty() || !list.rows.front().speed) return {};
  const ShortlistRow& best = list.rows.front();
  std::vector<std::string> equals;  // whose intervals overlap that of the fastest
  for (const ShortlistRow& row : list.rows) {
    if (&row != &best && row.speed && row.first_rank == 1) equals.push_back(NameOfMachine(row));
  }
  Data text = {{"machine", best.machine},
               {"speed", RatioText(*best.speed)},
               {"count", std::to_string(list.columns.size())},
               {"isOwn", best.machine.empty()},
               {"isOne", list.columns.size() == 1},
               {"equals", Join(equals, ", ")},
               {"cheapest", ""}};
  std::vector<const ShortlistRow*> priced;
  for (const ShortlistRow& row : list.rows) {
    if (row.cost) priced.push_back(&row);
  }
  std::ranges::stable_sort(priced, {}, [](const ShortlistRow* row) { return row->cost->value; });
  if (priced.size() > 1) {
    const ShortlistRow &least = *priced.front(), &most = *priced.back();
    std::vector<std::string> as_cheap;
    for (const ShortlistRow* row : priced) {
      if (row != &least && Overlap(*row->cost, *least.cost)) as_cheap.push_back(row->machine);
    }
    text["cheapest"] = least.machine;
    text["dearest"] = most.machine;
    text["cost"] = fmt::format("{:.2f}×", most.cost->value);
    text["asCheap"] = Join(as_cheap, ", ");
  }
  return RenderSentences(texts, "shortlist.txt", text);
}

// False without machines to choose from.
Data ShortlistTable(const Shortlist& list, const std::vector<ListedStudy>& studies, const Partials& texts) {
  if (list.columns.empty()) return false;
  Data rows = Data::array(), columns = Data::array();
  bool has_costs = false;
  for (const ShortlistRow& row : list.rows) {
    std::string rank = row.speed ? std::to_string(row.first_rank) : kUnknownCell;
    if (row.last_rank > row.first_rank) rank = FormatRange(rank, std::to_string(row.last_rank));
    rows.push_back({{"rank", rank},
                    {"machine", NameOfMachine(row)},
                    {"speed", row.speed ? RatioText(*row.speed) : kUnknownCell},
                    {"cost", row.cost ? RatioText(*row.cost) : kUnknownCell}});
    for (const std::optional<MachineTime>& time : row.times) has_costs |= time && time->cost;
  }
  for (std::size_t i = 0; i < list.columns.size(); ++i) {
    const ShortlistColumn& head = list.columns[i];
    Data cells = Data::array();
    for (const ShortlistRow& row : list.rows) {
      const std::optional<MachineTime>& time = row.times[i];
      if (!time) continue;
      cells.push_back({{"machine", NameOfMachine(row)},
                       {"time", FormatTime(time->seconds, time->interval80)},
                       {"speed", RatioText(time->speed)},
                       {"cost", time->cost ? CostText(time->cost->value, row.currency) : kUnknownCell}});
    }
    columns.push_back({{"study", studies[head.study].name},
                       {"phase", NameOfPhase(head.phase, false)},
                       {"cores", FormatCores(head.cores)},
                       {"isPredicted", head.is_predicted},
                       {"cells", std::move(cells)}});
  }
  return {{"rows", std::move(rows)},
          {"studies", std::move(columns)},
          {"sentences", ShortlistSentences(list, texts)},
          {"hasPredictions", std::ranges::any_of(list.columns, &ShortlistColumn::is_predicted)},
          {"hasCosts", has_costs},
          {"isSeveral", list.columns.size() > 1}};
}

}  // namespace

ReportModel BuildStudiesModel(const std::vector<ListedStudy>& studies, const std::string& folder,
                              const Partials& texts) {
  ReportModel model;
  std::set<std::string> anchors = {"choices", "readout", "report", "shortlist", "theme"};
  Data choices = Data::array(), failed = Data::array();
  std::set<Factor> named;
  std::list<Results> all_shown;
  std::vector<const Results*> known;
  for (const ListedStudy& study : studies) {
    if (study.results) {
      known.push_back(&all_shown.emplace_back(ShownResults(*study.results)));
    } else {
      failed.push_back(study.name);
    }
  }
  const ReportParts parts{texts, model, named, anchors, choices, CommonTarget(known)};
  std::vector<StudyOnPage> codes;
  auto shown = known.begin();
  for (const ListedStudy& study : studies) {
    if (!study.results) continue;
    if (!(*shown)->table.rows.empty()) codes.push_back(DescribeStudy(study, **shown, folder, parts));
    ++shown;
  }
  std::ranges::stable_sort(codes, std::ranges::greater(), [](const StudyOnPage& code) {
    return std::pair(code.front().lost_hours, code.front().share);
  });
  Data rows = Data::array();
  for (const StudyOnPage& code : codes) {
    Data first = Data::array(), others = Data::array();
    for (const PhaseOfStudy& phase : code) (&phase == &code.front() ? first : others).push_back(phase.tags);
    rows.push_back({{"otherCount", others.empty() ? "" : FormatCount(others.size())},
                    {"rows", std::move(first)},
                    {"others", std::move(others)}});
  }
  model.data = {{"generator", Generator()},
                {"choices", ToScriptJson({{"phases", choices}, {"names", NamesById(named)}})},
                {"count", std::to_string(studies.size())},
                {"failed", std::move(failed)},
                {"verdict", StudiesVerdict(codes, texts)},
                {"shortlist", ShortlistTable(ShortlistOfStudies(studies), studies, texts)},
                {"codes", std::move(rows)}};
  return model;
}

std::vector<std::string> SummarizeShortlist(const std::vector<ListedStudy>& studies, const Partials& texts) {
  return ShortlistSentences(ShortlistOfStudies(studies), texts);
}

std::vector<std::filesystem::path> WriteStudies(const std::vector<ListedStudy>& studies,
                                                const ReportTemplates& templates, const std::filesystem::path& folder,
                                                const std::set<ReportFormat>& formats) {
  const ReportModel model = BuildStudiesModel(studies, folder.string(), templates.partials);
  NamedTexts files;
  if (formats.contains(ReportFormat::kHtml)) files.emplace_back("index.html", RenderHtml(model, templates));
  if (formats.contains(ReportFormat::kMarkdown)) {
    files.emplace_back("index.md", RenderMarkdown(model, templates));
    AddFigureFiles(model, files);
  }
  return WriteFiles(folder, files);
}

}  // namespace farscale
