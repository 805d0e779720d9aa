#include "gate/history_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "factors/superlinear.h"
#include "gate/judging.h"
#include "gate/result_files.h"

namespace farscale {
namespace {

constexpr std::int64_t kWindow = 10;  // commits before the newest; chosen: the default of rules

std::vector<PhaseKey> PhasesOf(const History& history) {
  std::vector<PhaseKey> keys;
  for (const HistoryEntry& entry : history) {
    for (const PhaseKey& key : entry.table.Keys()) {
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    }
  }
  return keys;
}

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
  std::vector<NamedTable> tables;
  for (HistoryEntry& entry : view.history) tables.push_back({NameOf(entry), &entry.table});
  for (const auto& more : {AgreeOnTerms(tables).findings(), FindingsOf(history)}) {
    view.findings.insert(view.findings.end(), more.begin(), more.end());
  }
  std::vector<Quantity> quantities = {Quantity::TimePerIteration()};
  for (const FactorType& type : AllFactors()) quantities.push_back(Quantity::Of(type.factor));
  for (const PhaseKey& key : PhasesOf(view.history)) {
    for (const Quantity& quantity : quantities) {
      HistoryTrack track = MakeTrack(view.history, key, quantity);
      if (!track.cores.empty()) view.tracks.push_back(std::move(track));
    }
  }
  return view;
}

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

std::string PhaseTitle(const HistoryTrack& track) {
  const std::string phase = track.phase.IsUnnamed() ? "whole run" : track.phase.Text();
  return track.series.empty() ? phase : track.series + ": " + phase;
}

std::string LastChangeInWords(const HistoryTrack& track) {
  if (!track.last) return "";
  const double percent = 100 * (track.last->ratio - 1);
  return fmt::format("{:+.1f} %{}", std::fabs(percent) < 0.05 ? 0 : percent,
                     track.last->IsBeyondNoise(kChangeConfidence) ? ", beyond noise" : "");
}

std::string SuperlinearInWords(const HistoryView& view, const HistoryTrack& track) {
  for (auto entry = view.history.rbegin(); entry != view.history.rend(); ++entry) {
    const std::string why = WhySuperlinear(entry->table.Rows(track.series, track.phase));
    if (!why.empty()) return fmt::format("At {}: {}", ShortCommit(*entry), why);
  }
  return "";
}

std::string StepsInWords(const HistoryView& view, const HistoryTrack& track) {
  std::vector<std::string> names;
  for (const std::size_t step : track.steps) names.push_back(ShortCommit(view.history[step]));
  return names.empty() ? "none" : Join(names, ", ");
}

}  // namespace farscale
