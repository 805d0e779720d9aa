#include "report/factor_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "base/diagnostics.h"
#include "base/text.h"
#include "factors/anomalies.h"
#include "factors/factor_table.h"
#include "report/sections.h"
#include "report/figures.h"

namespace farscale {
namespace {

// A line, or nothing.
std::string Heading(const std::string& series, const PhaseId& phase) {
  const std::string heading = PhaseHeading(series, phase);
  return heading.empty() ? "" : heading + "\n";
}

using Cells = std::vector<std::vector<std::string>>;

constexpr const char* kUnknownValue = "–";

// "8", "8 #2" of its repeat, or "8 (2 × 4)" where runs divide the same cores differently.
std::string NameOfRun(const FactorRow& row, bool has_several_splits) {
  const std::string cores = std::to_string(row.cores);
  if (has_several_splits) return fmt::format("{} ({} × {})", cores, row.Processes(), row.threads);
  return cores + (row.repeat > 0 ? fmt::format(" #{}", row.repeat + 1) : "");
}

// The values of one run, and behind them the standard errors that show; no column where none does.
void AddRun(const FactorRow& row, bool has_several_splits, const std::vector<Factor>& factors, Cells& cells) {
  std::vector<std::string> values, errors;
  for (const Factor factor : factors) {
    const std::optional<double>& value = row.values[factor];
    values.push_back(value ? FormatValue(factor, *value) : "-");
    errors.push_back(value ? FormatError(factor, *value, row.standard_errors[factor]) : "");
  }
  values.push_back(row.runtime ? FormatSeconds(*row.runtime) : "-");
  errors.push_back(row.runtime ? FormatSecondsError(*row.runtime, row.runtime_error) : "");
  const bool any = std::any_of(errors.begin(), errors.end(), [](const std::string& error) { return !error.empty(); });
  cells[0].push_back(NameOfRun(row, has_several_splits));
  if (any) cells[0].push_back("±");
  for (std::size_t i = 0; i < values.size(); ++i) {
    cells[i + 1].push_back(values[i]);
    if (any) cells[i + 1].push_back(errors[i]);
  }
}

// Targets below each other, factors side by side.
Cells ProjectionCells(const PhaseProjection& phase) {
  Cells cells = {{"cores", "beyond"}};
  std::vector<const FactorProjection*> shown;
  const auto has_interval = [](Factor factor) {
    return factor == Factor::kParallelEfficiency || factor == Factor::kGlobalEfficiency;
  };
  for (const FactorProjection& factor : phase.factors) {
    if (factor.targets.empty() || !IsShown(factor)) continue;
    shown.push_back(&factor);
    cells[0].push_back(Name(factor.factor));
    if (has_interval(factor.factor)) cells[0].emplace_back("80 % interval");
  }
  for (std::size_t i = 0; !shown.empty() && i < shown.back()->targets.size(); ++i) {
    const ProjectedValue& at = shown.back()->targets[i];
    std::vector<std::string>& row = cells.emplace_back(Cells::value_type{FormatCores(at.cores), FormatRatio(at.ratio)});
    for (const FactorProjection* factor : shown) {
      const ProjectedValue& target = factor->targets[i];
      const Reliability level = ReliabilityOf(phase, factor->factor, target.cores);
      const bool is_reliable = level == Reliability::kReliable, is_unknown = level == Reliability::kUnknown;
      const bool is_apart = has_interval(factor->factor);
      const std::string bounds = FormatBounds(factor->factor, target.interval80, "–");
      const std::string runs = MeasuredAt(*factor, target.cores);
      const std::string beyond = is_apart ? ToString(level) : is_unknown ? UnknownText(phase, target.cores) : bounds;
      row.push_back((is_reliable ? FormatValue(factor->factor, target.value) : beyond) +
                    (runs.empty() ? "" : " (measured " + runs + ")"));
      if (is_apart) row.push_back(is_unknown ? kUnknownValue : bounds);
    }
  }
  return cells;
}

constexpr std::size_t kWidestName = 24;  // columns, as in a digest

// `value` with its interval, or the interval alone.
std::string Worded(Reliability level, const std::string& value, const std::string& interval) {
  if (level == Reliability::kUnknown) return kUnknownValue;
  return level == Reliability::kUncertain ? "(" + interval + ")" : value;
}

std::string TimeAt(const PhaseProjection& phase, double cores) {
  const std::vector<ProjectedTime>& times = phase.key_results->time->targets;
  const auto time = std::ranges::find(times, cores, &ProjectedTime::cores);
  if (time == times.end() || !time->interval80) return kUnknownValue;
  return Worded(ReliabilityOf(phase, Factor::kSpeedup, cores), FormatTime(*time), FormatTimeBounds(*time->interval80));
}

constexpr std::size_t kMostRules = 8;  // chosen: they fit into two lines
constexpr double kSmallLoss = 0.005;   // not worth naming; chosen: half a percent
constexpr Factor kParts[] = {Factor::kLoadBalance, Factor::kSerialization, Factor::kTransfer};

std::string Ranks(std::int64_t ranks) { return FormatCount(static_cast<std::uint64_t>(ranks)); }

const GrowthRecordRow* MeasuredAt(const GrowthRecord& record, std::int64_t ranks) {
  const auto found = std::ranges::find_if(record.rows, [&](const GrowthRecordRow& row) {
    return row.ranks == ranks && row.source == GrowthSource::kMeasured;
  });
  return found == record.rows.end() ? nullptr : &*found;
}

// Parallel efficiency or, on a network that nobody knows, load balance.
Factor HeadlineIn(const GrowthRecordRow& row) {
  return row.factors[Factor::kParallelEfficiency] ? Factor::kParallelEfficiency : Factor::kLoadBalance;
}

// Empty where no factor of the row answers how the phase scales.
ReportData GrownAnswer(const GrowthRecordRow& row) {
  const Factor headline = HeadlineIn(row);
  if (!row.factors[headline]) return {};
  std::string loss;
  const auto known = [&](Factor factor) { return row.factors[factor].value_or(1); };
  const Factor worst = *std::ranges::min_element(kParts, {}, known);
  if (headline != Factor::kLoadBalance && known(worst) < 1 - kSmallLoss)
    loss = fmt::format("{} ({})", NameInSentence(worst), FormatFactor(known(worst)));
  return {{"ranks", Ranks(row.ranks)},
          {"name", NameInSentence(headline)},
          {"value", FormatFactor(*row.factors[headline])},
          {"loss", loss}};
}

// The number of backtests and their largest error; false without any.
ReportData GrownProof(const GrowthRecord& record) {
  std::size_t count = 0;
  double largest = 0;
  for (const GrowthRecordRow& row : record.rows) {
    const GrowthRecordRow* measured = row.source == GrowthSource::kGrown ? MeasuredAt(record, row.ranks) : nullptr;
    if (measured == nullptr) continue;
    const std::optional<double>&a = row.factors[HeadlineIn(row)], &b = measured->factors[HeadlineIn(row)];
    if (!a || !b) continue;
    ++count;
    largest = std::max(largest, std::abs(*a / *b - 1));
  }
  if (count == 0) return false;
  return {{"count", std::to_string(count)}, {"error", FormatPercent(largest)}, {"isOne", count == 1}};
}

std::string LayoutText(const std::vector<std::int64_t>& layout) {
  std::vector<std::string> extents;
  for (const std::int64_t extent : layout) extents.push_back(std::to_string(extent));
  return Join(extents, " × ");
}

ReportData GrownRow(const GrowthRecordRow& row, const std::string& scenario) {
  const auto value = [&](Factor factor) { return row.factors[factor] ? FormatFactor(*row.factors[factor]) : "-"; };
  std::string layout = LayoutText(row.layout);
  if (!row.second_layout.empty()) layout += " + " + LayoutText(row.second_layout);
  const std::string measured = scenario.empty() ? "measured" : scenario;
  return {
      {"ranks", Ranks(row.ranks)},
      {"layout", layout.empty() ? "-" : layout},
      {"source", row.source == GrowthSource::kMeasured   ? measured
                 : row.source == GrowthSource::kReplayed ? "replayed"
                                                         : "grown from up to " + Ranks(row.learned_up_to.value_or(0))},
      {"iteration", FormatSeconds(row.iteration)},
      {"parallel", value(Factor::kParallelEfficiency)},
      {"balance", value(Factor::kLoadBalance)},
      {"serialization", value(Factor::kSerialization)},
      {"transfer", value(Factor::kTransfer)}};
}

// The most frequent ones, and all others together.
ReportData GrownRules(const RuleShares& rules) {
  ReportData texts = ReportData::array();
  double rest = 1;
  const auto add = [&](const std::string& rule, double share) {
    texts.push_back({{"isFirst", texts.empty()}, {"rule", rule}, {"share", FormatPercent(share)}});
  };
  for (const auto& [rule, share] : rules) {
    if (texts.size() == kMostRules) break;
    add(rule, share);
    rest -= share;
  }
  if (rules.size() > texts.size()) add(fmt::format("{} others", rules.size() - texts.size()), std::max(0.0, rest));
  return texts;
}

ReportData LearnedText(const LearnedRecord& learned) {
  std::vector<std::string> alone;
  for (const std::int64_t ranks : learned.runs_alone) alone.push_back(Ranks(ranks));
  ReportData copied = false;
  if (const auto& of = learned.copied) {
    const auto count = [](double partners) { return fmt::format("{:.0f}", partners); };
    copied = {{"reason", of->reason},        {"ranks", Ranks(of->ranks)},
              {"fewest", count(of->fewest)}, {"median", count(of->median)},
              {"most", count(of->most)},     {"messages", fmt::format("{:.3g}", of->messages)}};
  }
  ReportData text = {{"copied", std::move(copied)},
                     {"explained", FormatPercent(learned.explained)},
                     {"computation", learned.computation},
                     {"spread", FormatPercent(learned.spread)},
                     {"noise", FormatPercent(learned.noise)},
                     {"alone", Join(alone, ", ")},
                     {"partners", GrownRules(learned.partners)},
                     {"sizes", GrownRules(learned.sizes)}};
  AddWhetherFilled(text, {"partners", "sizes"});
  return text;
}

}  // namespace

std::string WrapSentences(const std::vector<std::string>& sentences, std::size_t width) {
  std::string text;
  for (const std::string& sentence : sentences) {
    for (const std::string& line : WrapText(sentence, width, "  ")) text += line + "\n";
  }
  return text;
}

bool IsWithin(const std::string& text, std::size_t columns) {
  const std::vector<std::string> lines = Split(text, '\n');
  return std::ranges::all_of(lines, [&](const std::string& line) { return DisplayWidth(line) <= columns; });
}

std::string FormatFactorTable(const FactorTable& table, std::size_t width) {
  std::string text;
  for (const std::string& series : table.Series()) {
    for (const PhaseId& phase : table.Phases(series)) {
      const std::vector<FactorRow> rows = table.Rows(series, phase);
      Cells cells = {{"cores"}};
      std::vector<Factor> factors;
      for (const FactorType& type : AllFactors()) {
        if (!IsShown(type.factor, rows)) continue;
        factors.push_back(type.factor);
        const std::string indent(2 * static_cast<std::size_t>(DepthOf(type.factor, TreeOf(rows))), ' ');
        cells.push_back({indent + std::string(type.name)});
      }
      cells.push_back({"Run time"});
      const bool has_several_splits = CoresOfSeveralSplits(PointersTo(rows)).has_value();
      for (const FactorRow& row : rows) AddRun(row, has_several_splits, factors, cells);
      if (!text.empty()) text += "\n";
      text += Heading(series, phase) + FormatTable(cells, width);
      if (const std::string why = WhySuperlinear(rows); !why.empty()) text += WrapSentences({why}, width);
    }
  }
  return text;
}

std::string FormatAdditiveLosses(const FactorTable& table, std::size_t width) {
  std::string text;
  for (const PhaseKey& key : table.Keys()) {
    Cells cells = {{"cores"},
                   {"Parallel efficiency"},
                   {"  lost in MPI: load balance"},
                   {"  lost in MPI: serialization"},
                   {"  lost in MPI: transfer"},
                   {"  lost by threads in parallel regions"},
                   {"  lost by threads outside of them"},
                   {"  lost in the device runtime"}};
    const std::vector<FactorRow> rows = table.Rows(key);
    const bool has_several_splits = CoresOfSeveralSplits(PointersTo(rows)).has_value();
    for (const FactorRow& row : rows) {
      const auto losses = row.totals ? AdditiveLossesOf(*row.totals) : std::nullopt;
      if (!losses) continue;
      const bool knows_ideal = row.totals->ideal_elapsed > 0;
      const double lost[] = {losses->mpi_load_balance, losses->mpi_serialization, losses->mpi_transfer,
                             losses->parallel_regions, losses->serial_regions,    losses->device_runtime};
      cells[0].push_back(NameOfRun(row, has_several_splits));
      cells[1].push_back(FormatFactor(*row.values[Factor::kParallelEfficiency]));
      for (std::size_t i = 0; i < std::size(lost); ++i) {
        const bool is_split = i == 1 || i == 2;
        cells[i + 2].push_back(is_split && !knows_ideal ? "-" : FormatFactor(lost[i]));
      }
    }
    if (cells[0].size() == 1) continue;
    if (!text.empty()) text += "\n";
    text += Heading(key.series, key.phase) + FormatTable(cells, width);
  }
  if (!text.empty()) return text;
  throw Error(ErrorKind::kUsage, "--hybrid additive", "no run says what its threads do",
              "trace with threads, or measure with a tool for OpenMP");
}

std::string FormatKeyResults(const std::vector<PhaseProjection>& projections, bool with_tables, const Partials& texts,
                             std::size_t width) {
  std::string text;
  for (const PhaseProjection& phase : projections) {
    if (!text.empty()) text += "\n";
    text += Heading(phase.series, phase.phase);
    if (!phase.obstacle.empty()) text += WrapSentences({"no projection: " + phase.obstacle}, width);
    // Without tables nothing else says how far predictions are reliable.
    if (!with_tables) text += WrapSentences(DescribeReliableRange(phase, texts), width);
    text += WrapSentences(SummarizeKeyResults(phase, texts), width);
    const ReportData tables = with_tables ? TabulateKeyResults(phase) : ReportData::array();
    if (!tables.empty()) text += "\n" + RenderText(texts, "answer_tables.txt", {{"tables", tables}}, width);
  }
  return text;
}

std::string FormatProjections(const std::vector<PhaseProjection>& projections, const FactorTable& table,
                              const Partials& texts, std::size_t width) {
  std::string text;
  for (const PhaseProjection& phase : projections) {
    if (!text.empty()) text += "\n";
    text += Heading(phase.series, phase.phase);
    if (!phase.obstacle.empty()) {
      text += WrapSentences({"no projection: " + phase.obstacle}, width);
      continue;
    }
    text += FormatTable(ProjectionCells(phase), width);
    const double largest = LargestProjected(phase);
    const std::string why = WhySuperlinear(table.Rows(phase.series, phase.phase), largest);
    if (!why.empty()) text += WrapSentences({why}, width);
    text += WrapSentences(DescribeReliableRange(phase, texts), width);
  }
  for (const Finding& finding : table.findings) {
    if (finding.id == anomaly::kTimesOnly.id) text += WrapSentences({"Note: " + finding.sentence + "."}, width);
  }
  return text;
}

std::vector<std::string> NextStepsForTargets(const std::vector<PhaseProjection>& projections, const Partials& texts) {
  std::set<double> unknown, known;
  std::optional<double> reach;
  const RunChoice* run = nullptr;
  std::size_t phases = 0;
  for (const PhaseProjection& phase : projections) {
    const FactorProjection* headline = Headline(phase);
    if (headline == nullptr) continue;
    phases += phase.reliable_range ? 1 : 0;
    if (run == nullptr) run = SuggestedRun(phase);
    if (phase.reliable_range)
      reach = std::min(reach.value_or(phase.reliable_range->cores), phase.reliable_range->cores);
    for (const ProjectedValue& target : headline->targets) {
      const bool is_unknown = ReliabilityOf(phase, headline->factor, target.cores) == Reliability::kUnknown;
      (is_unknown ? unknown : known).insert(target.cores);
    }
  }
  std::vector<std::string> counts;
  for (const double cores : unknown) {
    if (!known.contains(cores)) counts.push_back(FormatCores(cores));
  }
  return RenderSentences(texts, "target_steps.txt",
                         {{"unknown", Join(counts, ", ")},
                          {"run", run == nullptr ? "" : FormatCores(run->cores) + (run->is_repeat ? " again" : "")},
                          {"reach", reach ? FormatCores(*reach) : ""},
                          {"arePhases", phases > 1}});
}

std::string FormatTargets(const std::vector<PhaseProjection>& projections, const Partials& texts,
                          const TerminalStyle& style) {
  ReportData phases = ReportData::array();
  const auto is_other = [&](const PhaseProjection& one) { return one.series != projections.front().series; };
  const bool several_series = std::ranges::any_of(projections, is_other);
  for (const PhaseProjection& projection : projections) {
    const FactorProjection* headline = Headline(projection);
    if (headline == nullptr || headline->targets.empty()) continue;
    const std::string name = NameOfPhase({projection.series, projection.phase}, several_series);
    const bool has_times = projection.key_results && projection.key_results->time;
    ReportData targets = ReportData::array();
    for (const ProjectedValue& target : headline->targets) {
      const std::string interval = FormatBounds(headline->factor, target.interval80, "–");
      const std::string value = fmt::format("{} ({})", FormatFactor(target.value), interval);
      const Reliability level = ReliabilityOf(projection, headline->factor, target.cores);
      const std::string runs = MeasuredAt(*headline, target.cores);
      targets.push_back({{"cores", FormatCores(target.cores)},
                         {"efficiency", Worded(level, value, interval) + (runs.empty() ? "" : ", measured " + runs)},
                         {"time", has_times ? TimeAt(projection, target.cores) : ""}});
    }
    phases.push_back({{"name", name.empty() ? "all runs" : Shorten(name, kWidestName)},
                      {"factor", NameInSentence(headline->factor)},
                      {"hasTimes", has_times},
                      {"targets", std::move(targets)}});
  }
  if (phases.empty()) return "";
  ReportData data = {{"targets", phases[0]["targets"]}, {"phases", phases}};  // the first are a heading
  std::string text;
  for (const int layout : {0, 1, 2}) {
    data["isWide"] = layout == 0;
    data["isTall"] = layout == 1;
    text = RenderText(texts, "targets.txt", data);
    if (IsWithin(text, style.columns)) break;
  }
  return text;
}

std::string FormatGrownRuns(const GrowthRecord& record, const std::string& scenario, bool with_classes,
                            const Partials& texts, std::size_t width) {
  ReportData answers = ReportData::array(), rows = ReportData::array(), partly = ReportData::array(),
             classes = ReportData::array(), left_out = ReportData::array(), learned = false;
  for (const GrowthRecordRow& row : record.rows) {
    rows.push_back(GrownRow(row, scenario));
    if (row.source != GrowthSource::kGrown || MeasuredAt(record, row.ranks) != nullptr) continue;
    if (ReportData answer = GrownAnswer(row); !answer.is_null()) answers.push_back(std::move(answer));
    if (row.replayed >= row.iterations) continue;
    partly.push_back({{"ranks", Ranks(row.ranks)},
                      {"replayed", std::to_string(row.replayed)},
                      {"iterations", std::to_string(row.iterations)}});
  }
  if (record.learned && record.refusal.empty()) {
    learned = LearnedText(*record.learned);
    for (const RankClassRecord& one : record.learned->classes) {
      classes.push_back(
          {{"place", one.place}, {"ranks", Ranks(one.ranks)}, {"computation", FormatSeconds(one.computation)}});
    }
  }
  for (const std::string& reason : record.left_out) {
    if (reason != record.refusal) left_out.push_back(reason);
  }
  return RenderText(texts, "grown_runs.txt",
                    {{"phase", record.phase},
                     {"refusal", record.refusal},
                     {"scenario", scenario},
                     {"answers", std::move(answers)},
                     {"proof", GrownProof(record)},
                     {"rows", std::move(rows)},
                     {"learned", std::move(learned)},
                     {"partly", std::move(partly)},
                     {"leftOut", std::move(left_out)},
                     {"hasClasses", with_classes && !classes.empty()},
                     {"classes", std::move(classes)}},
                    width);
}

}  // namespace farscale
