#include "report/balance/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "balance/strategy.h"
#include "base/text.h"
#include "plot/canvas.h"
#include "plot/chart.h"
#include "plot/heat_map.h"
#include "report/figures.h"
#include "results/reported_losses.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

using Data = ReportData;

// Rows and columns of the tables behind maps and curves, at most.
constexpr std::size_t kRowsOfTable = 8, kColumnsOfTable = 6;

// A strategy has one colour in all figures, and none is grey; that of the list of strategies, so that it does not
// depend on which others a case has.
int StrategyColor(const std::string& strategy) {
  const std::vector<Strategy>& all = Strategies();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Strategy& one) { return one.id == strategy; });
  return found == all.end() || !found->moves ? kPaletteGrey : static_cast<int>(found - all.begin() - 1) % kPaletteGrey;
}

const BalanceOutcome& HistoryOutcome(const WhatIf& what_if, const LoadHistory& history) {
  return what_if.outcomes[history.outcome];
}

// Histories may be of several numbers of processors; then their names say it.
std::string NameOfHistory(const WhatIf& what_if, const LoadHistory& history) {
  const std::string name = ShortName(HistoryOutcome(what_if, history).configuration);
  const bool is_on_one = std::ranges::all_of(what_if.histories, [&](const LoadHistory& other) {
    return other.processors == what_if.histories.front().processors;
  });
  return is_on_one ? name : fmt::format("{} ({})", name, CountText(history.processors, "processor"));
}

// "8 – 15": which of `count` things the cells of a block are about, where cell i begins with thing i · count / cells
// and Joined puts it into block i · blocks / cells.
std::string NameOfBlock(std::size_t block, std::size_t blocks, std::size_t cells, std::size_t count,
                        std::size_t first_number) {
  const auto begin = [&](std::size_t of) { return (of * cells + blocks - 1) / blocks * count / cells; };
  const std::size_t first = begin(block) + first_number, last = begin(block + 1) - 1 + first_number;
  return first == last ? std::to_string(first) : fmt::format("{} – {}", first, last);
}

// Means of blocks of processors and iterations.
Data TableOfLoads(const LoadHistory& history) {
  const LossRaster loads{history.rows, history.columns, history.load};
  const LossRaster sums = Joined(loads, kRowsOfTable, kColumnsOfTable);
  const LossRaster counts =
      Joined(LossRaster{history.rows, history.columns, std::vector<double>(history.load.size(), 1)}, kRowsOfTable,
             kColumnsOfTable);
  std::vector<std::string> header;
  for (std::size_t column = 0; column < sums.columns; ++column) {
    header.push_back(NameOfBlock(column, sums.columns, history.columns, history.iterations, 1));
  }
  std::vector<std::vector<std::string>> rows;
  for (std::size_t row = 0; row < sums.rows; ++row) {
    std::vector<std::string>& texts = rows.emplace_back();
    texts.push_back(NameOfBlock(row, sums.rows, history.rows, history.processors, 0));
    for (std::size_t column = 0; column < sums.columns; ++column) {
      const std::size_t cell = row * sums.columns + column;
      texts.push_back(FormatSeconds(sums.cells[cell] / counts.cells[cell]));
    }
  }
  return TextTable("Processors", header, rows);
}

Data FigureData(const std::string& title, const std::string& caption, Data figure, Data table) {
  return {{"title", title}, {"caption", caption}, {"figure", std::move(figure)}, {"table", std::move(table)}};
}

// 80 % of the replicas lie between; nothing where one of the outcomes has none.
std::vector<ChartBand> ReplicaBand(const WhatIf& what_if, const SweepLine& line, double unit) {
  std::vector<ChartBand> band;
  for (const auto& [x, outcome] : line.points) {
    std::vector<double> replicas = what_if.outcomes[outcome].replicas;
    if (replicas.empty()) return {};
    std::sort(replicas.begin(), replicas.end());
    band.push_back({x, QuantileOfSorted(replicas, 0.1) / unit, QuantileOfSorted(replicas, 0.9) / unit});
  }
  return band;
}

// Slug, title ("Makespan against ..."), label, and the choices held fixed around the best outcome while the axis
// varies.
std::array<std::string, 4> AxisTexts(BalanceAxis axis, const BalanceConfiguration& best) {
  const std::string tasks = CountOfTasks(best), processors = CountText(best.processors, "processor");
  const std::string every = fmt::format("balanced every {}", CountText(best.interval, "iteration"));
  switch (axis) {
    case BalanceAxis::kInterval:
      return {"interval", "balancing interval", "iterations between balancing points",
              fmt::format("{} on {}", tasks, processors)};
    case BalanceAxis::kLevel:
      return {"level", "over-decomposition", "tasks a processor", fmt::format("{}, {}", processors, every)};
    case BalanceAxis::kProcessors: break;
  }
  return {"processors", "processors", "processors", fmt::format("{}, {}", tasks, every)};
}

std::string NameOfLine(const WhatIf& what_if, const SweepLine& line) {
  const auto& [strategy, points] = line;
  return IsUnbalanced(what_if.outcomes[points.begin()->second]) ? "no balancing" : StrategyById(strategy).name;
}

// Values of x below each other, strategies side by side.
Data TableOfSweep(const WhatIf& what_if, const std::vector<SweepLine>& lines, const std::string& x_label) {
  std::set<double> values;
  std::vector<std::string> header;
  for (const SweepLine& line : lines) {
    header.push_back(NameOfLine(what_if, line));
    for (const auto& [x, outcome] : line.points) values.insert(x);
  }
  std::vector<std::vector<std::string>> rows;
  for (const double x : values) {
    std::vector<std::string>& texts = rows.emplace_back();
    texts.push_back(FormatCores(x));
    for (const auto& [strategy, points] : lines) {
      const auto found = points.find(x);
      texts.push_back(found == points.end() ? "–" : FormatSeconds(what_if.outcomes[found->second].makespan));
    }
  }
  std::string corner = x_label;
  corner[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(corner[0])));
  return TextTable(corner, header, rows);
}

void AddSweep(const WhatIf& what_if, const BalanceCase& one, BalanceAxis axis, const std::string& slug,
              ReportModel& model, Data& figures) {
  const std::vector<SweepLine> lines = SweepOver(what_if, one, axis);
  if (lines.empty()) return;
  const auto [name, title, x_label, held] = AxisTexts(axis, what_if.outcomes[one.ranking.front()].configuration);
  double longest = 0;
  for (const auto& [strategy, points] : lines) {
    for (const auto& [x, outcome] : points) longest = std::max(longest, what_if.outcomes[outcome].makespan);
  }
  const auto [unit, seconds] = UnitFor(longest);
  Chart chart;
  chart.title = fmt::format("Makespan against {}", title);
  chart.x_label = x_label;
  chart.y_label = fmt::format("makespan ({})", unit);
  chart.log_x = false;
  chart.width = 560;
  chart.height = 340;
  for (const SweepLine& line : lines) {
    const auto& [strategy, points] = line;
    const bool is_unbalanced = IsUnbalanced(what_if.outcomes[points.begin()->second]);
    ChartSeries series;
    series.name = NameOfLine(what_if, line);
    series.color = StrategyColor(is_unbalanced ? "none" : strategy);
    series.dashed = is_unbalanced;
    for (const auto& [x, outcome] : points) {
      series.line.push_back({x, what_if.outcomes[outcome].makespan / seconds, ""});
    }
    const bool is_constant = is_unbalanced && axis == BalanceAxis::kInterval;
    if (!is_constant) series.points = series.line;
    series.inner_band = ReplicaBand(what_if, line, seconds);
    chart.series.push_back(std::move(series));
  }
  const bool has_band = std::any_of(chart.series.begin(), chart.series.end(),
                                    [](const ChartSeries& series) { return !series.inner_band.empty(); });
  chart.description = fmt::format("Makespan against {}, {}: a line for each strategy.{}", x_label, held,
                                  has_band ? " Bands hold 80 % of the replicas." : "");
  figures.push_back(FigureData(chart.title, chart.description,
                               AddChart(chart, fmt::format("{}-{}.svg", slug, name), model),
                               TableOfSweep(what_if, lines, x_label)));
}

void AddParts(const WhatIf& what_if, const BalanceCase& one, const std::string& slug, ReportModel& model,
              Data& figures) {
  const std::vector<std::size_t> outcomes = BestOfStrategies(what_if, one);
  if (outcomes.empty()) return;
  const std::string title = "What the makespan is made of";
  const std::string description = fmt::format(
      "Parts of the makespan on {}: the original run where it is known, without balancing, and the best configuration "
      "of every "
      "strategy. Imbalance is counted iteration by iteration in all of them, as far as processors wait.",
      NameOfCase(what_if, one));
  std::vector<StackedBar> bars;
  std::vector<std::pair<std::string, int>> parts;
  std::vector<std::string> header;
  for (const NamedPart& part : NamedParts({})) {
    parts.emplace_back(part.name, part.color);
    header.push_back(part.name);
  }
  header.emplace_back("together");
  std::vector<std::vector<std::string>> rows;
  for (const std::size_t i : outcomes) {
    const BalanceOutcome& outcome = what_if.outcomes[i];
    StackedBar bar{ShortName(outcome.configuration), {}, FormatSeconds(outcome.makespan)};
    std::vector<std::string>& texts = rows.emplace_back();
    texts.push_back(bar.name);
    for (const NamedPart& part : NamedParts(outcome.parts)) {
      bar.seconds.push_back(part.seconds);
      texts.push_back(FormatSeconds(part.seconds));
    }
    texts.push_back(bar.text);
    bars.push_back(std::move(bar));
  }
  const auto render = [&](bool standalone) {
    return RenderStackedBars(title, description, "makespan", parts, bars, standalone);
  };
  Data figure = AddFigure(model, slug + "-parts.svg", render(false), render(true), description);
  figures.push_back(FigureData(title, description, std::move(figure), TextTable("Configuration", header, rows)));
}

// When so many of the iterations are done, and the share of the time since before that processors computed.
Data TableOfAverages(const WhatIf& what_if) {
  std::vector<std::string> header;
  for (const LoadHistory& history : what_if.histories) header.push_back(NameOfHistory(what_if, history));
  std::vector<std::vector<std::string>> rows;
  for (std::size_t part = 1; part <= kRowsOfTable; ++part) {
    std::vector<std::string>& texts = rows.emplace_back();
    texts.push_back(fmt::format("{} of {}", part, kRowsOfTable));
    for (const LoadHistory& history : what_if.histories) {
      const std::size_t columns = history.time.size();
      const std::size_t first = columns * (part - 1) / kRowsOfTable, next = columns * part / kRowsOfTable;
      if (first == next) {
        texts.emplace_back("–");
        continue;
      }
      double computed = 0, before = first > 0 ? history.time[first - 1] : 0;
      const double begin = before;
      for (std::size_t i = first; i < next; ++i) {
        computed += history.average_load[i] * (history.time[i] - before);
        before = history.time[i];
      }
      texts.push_back(fmt::format("{} at {}", before > begin ? FormatPercent(computed / (before - begin)) : "–",
                                  FormatSeconds(before)));
    }
  }
  return TextTable("Parts of the iterations", header, rows);
}

}  // namespace

HeatLabels ScaleOfLoads(const std::vector<LoadHistory>& histories) {
  std::vector<double> loads;
  for (const LoadHistory& history : histories) {
    std::copy_if(history.load.begin(), history.load.end(), std::back_inserter(loads),
                 [](double load) { return load > 0; });
  }
  HeatLabels scale;
  scale.high = 1;
  if (!loads.empty()) {
    std::sort(loads.begin(), loads.end());
    scale.high = QuantileOfSorted(loads, 0.99);
    scale.low = QuantileOfSorted(loads, 0.01);
    // Differences of a few percent are noise, and what reaches down to a quarter may as well begin at nothing.
    if (scale.low < 0.25 * scale.high) scale.low = 0;
    scale.low = std::min(scale.low, 0.9 * scale.high);
  }
  scale.weakest = (!loads.empty() && scale.low > loads.front() ? "≤ " : "") + FormatSeconds(scale.low);
  scale.strongest = (!loads.empty() && scale.high < loads.back() ? "≥ " : "") + FormatSeconds(scale.high);
  return scale;
}

ReportData LoadMaps(const WhatIf& what_if, const std::string& slug, ReportModel& model) {
  Data maps = Data::array();
  HeatLabels labels = ScaleOfLoads(what_if.histories);
  labels.top = "0";
  labels.left = "iteration 1";
  for (const LoadHistory& history : what_if.histories) {
    const BalanceOutcome& outcome = HistoryOutcome(what_if, history);
    const std::string title = NameOfHistory(what_if, history);
    const LossRaster loads{history.rows, history.columns, history.load};
    labels.bottom = std::to_string(history.processors - 1);
    labels.right = std::to_string(history.iterations);
    const std::string description =
        fmt::format("Computation of {} from top to bottom in {} from left to right: makespan {}, load balance {}.",
                    CountText(history.processors, "processor"), CountText(history.iterations, "iteration"),
                    FormatSeconds(outcome.makespan), FormatFactor(outcome.load_balance));
    const auto draw = [&](bool standalone) { return RenderLoadMap(loads, labels, title, description, standalone); };
    const std::string name = fmt::format("{}-load-{}.svg", slug, maps.size() + 1);
    maps.push_back(FigureData(title, description, AddFigure(model, name, draw(false), draw(true), description),
                              TableOfLoads(history)));
  }
  return maps;
}

ReportData AverageLoadFigures(const WhatIf& what_if, const std::string& slug, ReportModel& model) {
  Data figures = Data::array();
  double longest = 0;
  for (const LoadHistory& history : what_if.histories) {
    if (!history.time.empty()) longest = std::max(longest, history.time.back());
  }
  if (!(longest > 0)) return figures;
  const auto [unit, seconds] = UnitFor(longest);
  Chart chart;
  chart.title = "Average load of the processors over time";
  chart.description =
      "Share of the time that processors compute, on average, over time: a line for each configuration, which ends "
      "with its makespan.";
  chart.x_label = fmt::format("time ({})", unit);
  chart.y_label = "average load";
  chart.log_x = false;
  chart.y_max = 1;
  chart.width = 860;
  chart.height = 320;
  for (const LoadHistory& history : what_if.histories) {
    if (history.time.empty()) continue;
    ChartSeries series;
    series.name = fmt::format("{}: {}", NameOfHistory(what_if, history),
                              FormatSeconds(HistoryOutcome(what_if, history).makespan));
    const BalanceOutcome& outcome = HistoryOutcome(what_if, history);
    series.color = StrategyColor(IsUnbalanced(outcome) ? "none" : outcome.configuration.strategy);
    series.dashed = IsUnbalanced(outcome);
    series.line.push_back({0, history.average_load.front(), ""});
    double before = 0;
    for (std::size_t i = 0; i < history.time.size(); ++i) {
      if (history.time[i] > before) series.line.push_back({history.time[i] / seconds, history.average_load[i], ""});
      before = history.time[i];
    }
    series.points = {series.line.back()};
    chart.series.push_back(std::move(series));
  }
  figures.push_back(FigureData(chart.title, chart.description, AddChart(chart, slug + "-average-load.svg", model),
                               TableOfAverages(what_if)));
  return figures;
}

ReportData FiguresOfCase(const WhatIf& what_if, const BalanceCase& one, const std::string& slug, ReportModel& model) {
  Data figures = Data::array();
  AddParts(what_if, one, slug, model, figures);
  AddSweep(what_if, one, BalanceAxis::kInterval, slug, model, figures);
  AddSweep(what_if, one, BalanceAxis::kLevel, slug, model, figures);
  if (!what_if.same_problem) AddSweep(what_if, one, BalanceAxis::kProcessors, slug, model, figures);
  return figures;
}

}  // namespace farscale
