#include "report/compared_results.h"

#include <algorithm>

#include "report/allocation.h"
#include "report/compared_counts.h"
#include "report/compared_sides.h"
#include "report/compared_targets.h"
#include "report/summary.h"

namespace farscale {
namespace {

constexpr double kErrorOfAll = 0.05;  // chance that any change of a phase is called more than noise, and is none

// As reports call a phase of both sides.
std::string CommonName(const SeriesAndPhase& before, const SeriesAndPhase& after) {
  const std::string text = before.second.Text();
  const std::string name = before.second == after.second ? text : text + " and " + after.second.Text();
  if (before.first != after.first || before.first.empty()) return name;
  return before.first + (name.empty() ? "" : ", " + name);
}

// One change of many would be beyond noise by chance, so all of a phase share the chance of an error [Dunn61].
void JudgeChanges(ComparedPhase& phase) {
  const std::size_t changes = phase.CountChanges();
  const double confidence = 1 - kErrorOfAll / static_cast<double>(std::max<std::size_t>(1, changes));
  const auto judge = [&](ComparedNumber& number) {
    number.is_beyond_noise = number.change && number.change->IsBeyondNoise(confidence);
  };
  for (ComparedCount& count : phase.counts) {
    for (ComparedFactor& one : count.factors) judge(one.number);
    judge(count.seconds);
  }
}

ComparedPhase ComparePhase(const SideOfResults& before, const SideOfResults& after,
                           const std::vector<double>& targets) {
  const ComparedSides sides = AgreeOnTerms(before, after);
  ComparedPhase phase;
  phase.name = CommonName(before.key, after.key);
  phase.before = before.key.second;
  phase.after = after.key.second;
  phase.reference = sides.reference;
  phase.notes = sides.notes;
  phase.projection_before = sides.before.projection;
  phase.projection_after = sides.after.projection;
  phase.noise = NoiseBetweenRepeats(sides, SecondsOfRow);
  if (!phase.noise) {
    phase.noise =
        NoiseBetweenRepeats(sides, [](const FactorRow& row) { return row.values[Factor::kParallelEfficiency]; });
  }
  phase.counts = CompareCounts(sides);
  JudgeChanges(phase);
  phase.targets = CompareTargets(sides, targets);
  for (const ComparedSide* side : {&sides.before, &sides.after}) {
    const std::string why = WhySuperlinear(side->rows, side->projection);
    if (!why.empty()) phase.notes.push_back(side->name + ": " + why);
  }
  return phase;
}

using Key = SeriesAndPhase;

std::vector<Key> KeysOf(const FactorTable& table) {
  std::vector<Key> keys;
  for (const std::string& series : table.Series()) {
    for (const PhaseId& phase : table.Phases(series)) keys.emplace_back(series, phase);
  }
  return keys;
}

std::string NameOf(const Key& key, bool with_series) {
  if (!with_series || key.first.empty()) return key.second.IsUnnamed() ? "all runs" : key.second.Text();
  return key.first + (key.second.IsUnnamed() ? "" : ", " + key.second.Text());
}

// Keys that mean the same on both sides, in the order of the first.
std::vector<std::pair<Key, Key>> Match(const Results& before, const Results& after) {
  const std::vector<Key> all_before = KeysOf(before.table), all_after = KeysOf(after.table);
  const bool one_series = before.table.Series().size() == 1 && after.table.Series().size() == 1;
  std::vector<std::pair<Key, Key>> matches;
  for (const Key& a : all_before) {
    for (const Key& b : all_after) {
      if (a.second == b.second && (one_series || a.first == b.first)) matches.emplace_back(a, b);
    }
  }
  if (!matches.empty() || all_before.empty() || all_after.empty() || !one_series) return matches;
  const std::string series_before = before.table.Series().front(), series_after = after.table.Series().front();
  return {{{series_before, MostImportantPhase(before.table, series_before)},
           {series_after, MostImportantPhase(after.table, series_after)}}};
}

// Those of one side that the other lacks.
std::vector<std::string> Unmatched(const FactorTable& table, const std::vector<std::pair<Key, Key>>& matches,
                                   bool is_after) {
  std::vector<std::string> names;
  for (const Key& key : KeysOf(table)) {
    const bool is_matched = std::any_of(matches.begin(), matches.end(), [&](const std::pair<Key, Key>& match) {
      return (is_after ? match.second : match.first) == key;
    });
    if (!is_matched) names.push_back(NameOf(key, table.Series().size() > 1));
  }
  return names;
}

}  // namespace

const ComparedNumber* ComparedCount::Find(Factor factor) const {
  for (const ComparedFactor& one : factors) {
    if (one.factor == factor) return &one.number;
  }
  return nullptr;
}

std::size_t ComparedPhase::CountChanges() const {
  std::size_t changes = 0;
  for (const ComparedCount& count : counts) {
    for (const ComparedFactor& one : count.factors) changes += one.number.change ? 1 : 0;
    changes += count.seconds.change ? 1 : 0;
  }
  return changes;
}

const ComparedCount* ComparedPhase::LargestCommon() const {
  const ComparedCount* largest = nullptr;
  for (const ComparedCount& count : counts) {
    if (count.is_common) largest = &count;
  }
  return largest;
}

ComparedResults CompareResults(const Results& before, const Results& after, const std::string& name_before,
                               const std::string& name_after, const std::vector<double>& targets) {
  ComparedResults compared{name_before, name_after, {}, {}, {}, before.table.findings, after.table.findings};
  const auto matches = Match(before, after);
  for (const auto& [a, b] : matches) {
    compared.phases.push_back(ComparePhase({before, a, name_before}, {after, b, name_after}, targets));
  }
  compared.only_before = Unmatched(before.table, matches, false);
  compared.only_after = Unmatched(after.table, matches, true);
  return compared;
}

}  // namespace farscale
