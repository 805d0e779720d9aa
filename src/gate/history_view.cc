#include "gate/history_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "factors/scaling.h"
#include "factors/factor_table.h"
#include "gate/commit_series.h"
#include "gate/judging.h"
#include "gate/result_files.h"
#include "pages/render.h"
#include "pages/text_table.h"
#include "plot/chart.h"
#include "results/json_fields.h"

namespace farscale {
namespace {

constexpr std::int64_t kWindow = 10;  // commits before the newest; chosen: the default of rules

// Core counts of the newest commit that most commits before have too; of one that has few in common, its own.
std::vector<double> SharedCores(const CommitSeries& series) {
  std::vector<double> shared;
  const SamplesByCores* newest = nullptr;
  std::size_t known = 0;
  for (const SamplesByCores& commit : series.commits) {
    if (commit.empty()) continue;
    newest = &commit;
    ++known;
  }
  if (newest == nullptr) return shared;
  for (const auto& [cores, samples] : *newest) {
    const auto with =
        std::count_if(series.commits.begin(), series.commits.end(),
                      [&, count = cores](const SamplesByCores& commit) { return commit.count(count) > 0; });
    if (2 * static_cast<std::size_t>(with) > known) shared.push_back(cores);
  }
  return shared;
}

// The newest commit against those before it.
std::optional<Change> LastChange(const CommitSeries& series, const std::vector<double>& cores) {
  if (series.commits.size() < 2 || series.commits.back().empty()) return std::nullopt;
  CommitSeries before = series;
  const SamplesByCores newest = before.commits.back();
  before.commits.pop_back();
  before.accepted.pop_back();
  const SeriesNoise noise = LearnNoise(before, newest, cores, Noise());
  const std::vector<std::size_t> commits = BaselineCommits(before, cores, noise, kWindow);
  std::vector<Change> changes;
  for (const double count : cores) {
    const auto found = newest.find(count);
    const auto old = BaselineAt(before, commits, count, noise);
    if (found == newest.end() || !old) continue;
    changes.push_back(ChangeBetween(*old, *NewestAt(found->second, count, noise)));
  }
  if (changes.empty()) return std::nullopt;
  return changes.size() == 1 ? changes.front() : MeanChange(changes, noise, commits.size());
}

HistoryTrack MakeTrack(const History& history, const PhaseKey& key, const Quantity& quantity) {
  const CommitSeries series = CommitSeriesOf(history, key, quantity);
  HistoryTrack made{key.series, key.phase, quantity, {}, {}, SharedCores(series), {}, {}, std::nullopt};
  std::set<double> cores;
  for (const SamplesByCores& commit : series.commits) {
    for (const auto& [count, samples] : commit) cores.insert(count);
  }
  made.cores.assign(cores.begin(), cores.end());
  std::vector<double> means;
  std::vector<std::size_t> indexes;
  for (std::size_t i = 0; i < series.commits.size(); ++i) {
    std::vector<std::optional<double>> values;
    for (const double count : made.cores) {
      const std::optional<double> log = MeanOverCounts(series.commits[i], {count});
      values.push_back(log ? std::optional(std::exp(*log)) : std::nullopt);
    }
    made.values.push_back(values);
    const std::optional<double> mean = MeanOverCounts(series.commits[i], made.shared);
    made.means.push_back(mean ? std::optional(std::exp(*mean)) : std::nullopt);
    if (!mean) continue;
    means.push_back(*mean);
    indexes.push_back(i);
  }
  const SeriesNoise noise = LearnNoise(series, {}, made.shared, Noise());
  if (noise.mean) {
    for (const std::size_t step : FindSteps(means, *noise.mean)) made.steps.push_back(indexes[step]);
  }
  made.last = LastChange(series, made.shared);
  return made;
}

}  // namespace

HistoryView ViewOf(const History& history, const std::string& title, const std::vector<Finding>& findings) {
  HistoryView view{title, history, {}, findings};
  std::vector<std::pair<std::string, FactorTable*>> tables;
  for (MeasuredResults& entry : view.history) tables.emplace_back(NameOf(entry), &entry.table);
  for (const auto& more : {AgreeOnTerms(tables).findings(), FindingsOf(history)}) {
    view.findings.insert(view.findings.end(), more.begin(), more.end());
  }
  std::vector<Quantity> quantities = {Quantity::TimePerIteration()};
  for (const FactorType& type : AllFactors()) quantities.push_back(Quantity::Of(type.factor));
  std::vector<PhaseKey> keys;
  for (const MeasuredResults& entry : view.history) {
    for (const PhaseKey& key : entry.table.Keys()) {
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    }
  }
  for (const PhaseKey& key : keys) {
    for (const Quantity& quantity : quantities) {
      HistoryTrack track = MakeTrack(view.history, key, quantity);
      if (!track.cores.empty()) view.tracks.push_back(std::move(track));
    }
  }
  return view;
}

namespace {

std::vector<std::vector<const HistoryTrack*>> ByPhase(const HistoryView& view) {
  std::vector<std::vector<const HistoryTrack*>> phases;
  for (const HistoryTrack& track : view.tracks) {
    const bool is_new =
        phases.empty() || phases.back().front()->series != track.series || phases.back().front()->phase != track.phase;
    if (is_new) phases.emplace_back();
    phases.back().push_back(&track);
  }
  return phases;
}

// "solve", or "LU: solve" of a series.
std::string PhaseTitle(const HistoryTrack& track) {
  const std::string phase = track.phase.IsUnnamed() ? "whole run" : track.phase.Text();
  return track.series.empty() ? phase : track.series + ": " + phase;
}

// "-5.1 %, beyond noise", or "" for a single commit.
std::string LastChangeInWords(const HistoryTrack& track) {
  if (!track.last) return "";
  const double percent = 100 * (track.last->ratio - 1);
  return fmt::format("{:+.1f} %{}", std::fabs(percent) < 0.05 ? 0 : percent,
                     track.last->IsBeyondNoise(kChangeConfidence) ? ", beyond noise" : "");
}

// Why efficiencies of the phase exceed 110 %, in the newest commit where they do; else empty.
std::string SuperlinearInWords(const HistoryView& view, const HistoryTrack& track) {
  for (auto entry = view.history.rbegin(); entry != view.history.rend(); ++entry) {
    const std::string why = WhySuperlinear(entry->table.Rows(track.series, track.phase));
    if (!why.empty()) return fmt::format("At {}: {}", ShortCommit(*entry), why);
  }
  return "";
}

// The commits at which a new level begins, or "none".
std::string StepsInWords(const HistoryView& view, const HistoryTrack& track) {
  std::vector<std::string> names;
  for (const std::size_t step : track.steps) names.push_back(ShortCommit(view.history[step]));
  return names.empty() ? "none" : Join(names, ", ");
}

// The chart of one quantity over the commits: a line for every core count, steps marked with their commit.

// The values on one core count: a series for each stretch of commits that have one.
void AddSeries(const HistoryView& view, const HistoryTrack& track, std::size_t place, std::vector<ChartSeries>& all) {
  // Times of different core counts differ by far more than commits do, so each is shown against its first.
  const auto first = std::ranges::find_if(track.values, [&](const auto& commit) { return commit[place].has_value(); });
  const double unit = track.quantity.IsTime() && first != track.values.end() ? *(*first)[place] : 1;
  const std::string cores = CoresInWords({track.cores[place]});
  ChartSeries series;
  series.name = cores;
  series.color = static_cast<int>(place);
  series.has_filled_points = true;
  for (std::size_t i = 0; i < track.values.size(); ++i) {
    const std::optional<double>& value = track.values[i][place];
    if (value) {
      const MeasuredResults& entry = view.history[i];
      series.line.push_back({static_cast<double>(i), *value / unit, ""});
      series.points.push_back(series.line.back());
      series.points.back().tooltip = fmt::format("{} of {}: {} at {}", ShortCommit(entry), entry.date.substr(0, 10),
                                                 FormatQuantity(track.quantity, *value), cores);
    }
    if (series.line.empty() || (value && i + 1 < track.values.size())) continue;
    all.push_back(series);
    series.name.clear();
    series.line.clear();
    series.points.clear();
  }
}

// Between the commits, where a new level begins.
ChartMark StepMark(const MeasuredResults& entry, std::size_t commit, const char* what, const char* dashes) {
  const double x = commit == 0 ? 0 : static_cast<double>(commit) - 0.5;
  return {x, fmt::format("{} at {}", what, ShortCommit(entry)), dashes};
}

// As an <svg> element.
std::string DrawTrack(const HistoryView& view, const HistoryTrack& track) {
  Chart chart;
  chart.title = NameOf(track.quantity) + (track.quantity.IsTime() ? " over that of the first commit, " : ", ") +
                PhaseTitle(track);
  const std::string last = LastChangeInWords(track);
  chart.description = fmt::format(
      "{} over {} commits, a line for each of {}. {}New levels begin at: {}. The table below has all values.",
      NameOf(track.quantity), view.history.size(), CoresInWords(track.cores),
      last.empty() ? "" : fmt::format("Last change {}. ", last), StepsInWords(view, track));
  chart.x_label = "commit, oldest first";
  chart.log_x = false;
  chart.height = 300;
  chart.has_script = false;
  for (std::size_t place = 0; place < track.cores.size(); ++place) AddSeries(view, track, place, chart.series);
  // Noise must not fill the chart: at least a tenth of the value is shown.
  double low = INFINITY, high = 0;
  for (const ChartSeries& series : chart.series) {
    for (const ChartPoint& point : series.line) {
      low = std::min(low, point.y);
      high = std::max(high, point.y);
    }
  }
  const double margin = std::max(0.08 * (high - low), 0.05 * high);
  if (low <= high) chart.y_min = std::max(0.0, low - margin);
  chart.y_max = high + margin;
  for (const std::size_t step : track.steps) chart.marks.push_back(StepMark(view.history[step], step, "step", "4 3"));
  for (std::size_t i = 0; i < view.history.size(); ++i) {
    const MeasuredResults& entry = view.history[i];
    chart.x_names.push_back(ShortCommit(entry));
    const bool is_step = std::find(track.steps.begin(), track.steps.end(), i) != track.steps.end();
    if (!entry.accepted.empty() && !is_step) chart.marks.push_back(StepMark(entry, i, "accepted", "1 3"));
  }
  return RenderSvg(chart, false);
}

// A history for the terminal, and as pages made from templates [docs/templates.md, histories].

std::string Mean(const HistoryTrack& track, const std::optional<double>& mean) {
  return mean ? FormatQuantity(track.quantity, *mean) : "-";
}

std::string FirstMean(const HistoryTrack& track) {
  const auto found = std::ranges::find_if(track.means, [](const auto& mean) { return mean.has_value(); });
  return found == track.means.end() ? "-" : Mean(track, *found);
}

// The newest commit that has one.
std::string NewestMean(const HistoryTrack& track) {
  const auto found =
      std::find_if(track.means.rbegin(), track.means.rend(), [](const auto& m) { return m.has_value(); });
  return found == track.means.rend() ? "-" : Mean(track, *found);
}

std::string SpanOf(const HistoryView& view) {
  if (view.history.empty()) return "no commits";
  const MeasuredResults& first = view.history.front();
  const MeasuredResults& last = view.history.back();
  if (view.history.size() == 1) return fmt::format("1 commit, {} of {}", ShortCommit(last), last.date);
  return fmt::format("{} commits, from {} of {} to {} of {}", view.history.size(), ShortCommit(first), first.date,
                     ShortCommit(last), last.date);
}

ReportData TrackData(const HistoryView& view, const HistoryTrack& track) {
  ReportData data = {{"name", NameOf(track.quantity)},
                     {"meanOver", CoresInWords(track.shared)},
                     {"first", FirstMean(track)},
                     {"newest", NewestMean(track)},
                     {"atNewest", Mean(track, track.means.back())},
                     {"lastChange", LastChangeInWords(track)},
                     {"isBeyondNoise", track.last && track.last->IsBeyondNoise(kChangeConfidence)},
                     {"steps", StepsInWords(view, track)},
                     {"svg", DrawTrack(view, track)},
                     {"counts", ReportData::array()},
                     {"rows", ReportData::array()}};
  for (const double cores : track.cores) data["counts"].push_back(FormatCoreCount(cores));
  for (std::size_t i = 0; i < view.history.size(); ++i) {
    ReportData values = ReportData::array();
    for (const std::optional<double>& value : track.values[i]) values.push_back(Mean(track, value));
    data["rows"].push_back(
        {{"commit", ShortCommit(view.history[i])}, {"date", view.history[i].date}, {"values", values}});
  }
  return data;
}

}  // namespace

std::string WriteHistoryTable(const HistoryView& view) {
  std::string text = fmt::format("{}: {}\n", view.title, SpanOf(view));
  for (const std::string& doubt : DoubtsOf(view.findings)) text += "\nWarning: " + doubt + "\n";
  for (const std::vector<const HistoryTrack*>& tracks : ByPhase(view)) {
    std::vector<std::vector<std::string>> rows = {{"", "cores", "first", "newest", "last change", "steps at"}};
    for (const HistoryTrack* track : tracks) {
      // "16 to 128": the core counts that means are over.
      std::string cores = track->shared.empty() ? "-" : FormatCores(track->shared.front());
      if (track->shared.size() > 1) cores += " to " + FormatCores(track->shared.back());
      rows.push_back({IdOf(track->quantity), cores, FirstMean(*track), NewestMean(*track), LastChangeInWords(*track),
                      StepsInWords(view, *track)});
    }
    text += "\n" + PhaseTitle(*tracks.front()) + "\n" + FormatTable(rows);
    if (const std::string why = SuperlinearInWords(view, *tracks.front()); !why.empty()) text += why + "\n";
  }
  for (const MeasuredResults& entry : view.history) {
    if (!entry.accepted.empty()) text += fmt::format("\nAccepted at {}: {}\n", ShortCommit(entry), entry.accepted);
  }
  return text;
}

ReportModel BuildHistoryModel(const HistoryView& view) {
  ReportModel model;
  ReportData& data = model.data;
  data["title"] = view.title;
  data["span"] = SpanOf(view);
  data["summary"] = fmt::format(
      "{} {}. A change is beyond noise when the scatter of earlier commits and of repeats explains it with a chance "
      "below {:g}.",
      view.history.size(), view.history.size() == 1 ? "commit" : "commits", 1 - kChangeConfidence);
  data["doubts"] = DoubtsOf(view.findings);
  data["phases"] = ReportData::array();
  for (const std::vector<const HistoryTrack*>& tracks : ByPhase(view)) {
    const std::string why = SuperlinearInWords(view, *tracks.front());
    ReportData phase = {{"phase", PhaseTitle(*tracks.front())},
                        {"anchor", fmt::format("phase{}", data["phases"].size())},
                        {"meanOver", CoresInWords(tracks.front()->shared)},
                        {"superlinear", ReportData::array()},
                        {"tracks", ReportData::array()}};
    if (!why.empty()) phase["superlinear"].push_back(why);
    for (const HistoryTrack* track : tracks) phase["tracks"].push_back(TrackData(view, *track));
    data["phases"].push_back(phase);
  }
  data["commits"] = ReportData::array();
  for (const MeasuredResults& entry : view.history) {
    data["commits"].push_back({{"commit", entry.commit}, {"date", entry.date}, {"accepted", entry.accepted}});
  }
  return model;
}

std::string WriteHistoryMarkdown(const HistoryView& view, const ReportTemplates& templates) {
  return RenderMarkdown(BuildHistoryModel(view), templates);
}

std::string WriteHistoryHtml(const HistoryView& view, const ReportTemplates& templates) {
  return RenderHtml(BuildHistoryModel(view), templates);
}

// A history as JSON: what its page draws [docs/schema/tracks.schema.json].

Fields<Change> FieldsOf(Described<Change>) {
  using T = Change;
  const auto interval = [](const T& change) {
    const double low = change.Low(kChangeConfidence) - 1, high = change.High(kChangeConfidence) - 1;
    return std::isfinite(low) && std::isfinite(high) ? std::optional(std::pair(low, high)) : std::nullopt;
  };
  return Fields<T>{
      "",
      "The newest commit against the baseline before it",
      {
          Computed<T>(
              "change", [](const T& change) { return change.ratio - 1; }, "Relative: -0.05 is a drop of 5 %"),
          Computed<T>("isBeyondNoise", [](const T& change) { return change.IsBeyondNoise(kChangeConfidence); }),
          Computed<T>("interval", interval, "Of the change; it decides what is beyond noise"),
          Computed<T>("confidence",
                      [interval](const T& change) {
                        return interval(change) ? std::optional(kChangeConfidence) : std::nullopt;
                      })
              .Above(0)
              .Below(1),
      }}
      .Schema(R"({"dependentRequired": {"interval": ["confidence"]}})");
}

Fields<HistoryTrack> FieldsOf(Described<HistoryTrack>) {
  using T = HistoryTrack;
  return {"tracks/track",
          {
              Property<&T::series>(),
              Embed(&T::phase),
              Computed<T>(
                  "factor", [](const T& track) { return IdOf(track.quantity); }, "Id of a factor, or timePerIteration"),
              Property<&T::cores>("Of any commit, ascending").Above(0).LeastItems(1),
              Property<&T::values>(
                  "A list for every commit with a value for every entry of cores: the geometric mean of its runs, "
                  "times in seconds; null where it was not measured"),
              Field("meanOver", &T::shared, "Core counts that means, steps and the last change are over").Above(0),
              Property<&T::means>("For every commit"),
              Property<&T::steps>("Indices of commits at which a new level begins"),
              Field("lastChange", &T::last),
          }};
}

Fields<HistoryView> FieldsOf(Described<HistoryView>) {
  using T = HistoryView;
  using E = MeasuredResults;
  const auto commits = ListOf<E>(FormOfFields(Fields<E>{
      Property<&E::commit>(),
      Property<&E::date>().Schema(kDateSchema),
      Property<&E::accepted>("Why the level changes on purpose from here on").NotEmpty().UnlessDefault(),
  }));
  return Fields<T>{"tracks",
                   {
                       Property<&T::title>(),
                       Field("commits", &T::history, commits, "The oldest first").LeastItems(1),
                       Property<&T::tracks>(),
                       Field("diagnostics", &T::findings),
                   }}
      .File("farscale-tracks", kTracksVersion, kTracksVersion, "view of a history");
}

std::string WriteTracksJson(const HistoryView& view) {
  return JsonOf(view).dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

OrderedJson TracksSchema() {
  return SchemaOf<HistoryView>("A history of farscale: every quantity of every phase over the commits");
}

}  // namespace farscale
