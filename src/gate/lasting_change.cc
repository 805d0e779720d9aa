#include "gate/judging.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "projection/reliable_range.h"
#include "stats/distributions.h"

namespace farscale {
namespace {

// Chosen: each about 1.5 times the one before, so that no length of a change is far from one of them.
constexpr std::size_t kWindows[] = {2, 3, 5, 8};
constexpr double kCorrelationConfidence = 0.95;
constexpr double kMostCorrelation = 0.9;  // chosen: few commits do not show more

// Commits by their index, with the mean logarithm.
using KnownMeans = std::vector<std::pair<std::size_t, double>>;

double MeanOf(const KnownMeans& means, std::size_t begin, std::size_t end) {
  double sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum += means[i].second;
  return sum / static_cast<double>(end - begin);
}

// Begin and end of the best level among the means before the newest.
std::pair<std::size_t, std::size_t> BestLevel(const KnownMeans& means, const Noise& noise, double worse) {
  std::vector<double> logs;
  for (const auto& [index, log] : means) logs.push_back(log);
  std::vector<std::size_t> edges = FindSteps(logs, noise);
  edges.insert(edges.begin(), 0);
  edges.push_back(means.size());
  std::size_t best = 0;
  for (std::size_t i = 1; i + 1 < edges.size(); ++i) {
    const double better = MeanOf(means, edges[best], edges[best + 1]) - MeanOf(means, edges[i], edges[i + 1]);
    if (worse * better > 0) best = i;
  }
  return {edges[best], edges[best + 1]};
}

}  // namespace

std::optional<std::size_t> ReferenceBegin(const History& history, const std::string& since) {
  std::optional<std::size_t> begin;
  if (since == "accepted") begin = 0;
  const std::optional<std::string> date = DateFrom(since);
  for (std::size_t i = 0; i < history.size(); ++i) {
    const bool is_begin = date ? history[i].date >= *date : history[i].commit.starts_with(since);
    if (!begin && is_begin) begin = i;
    if (begin && !history[i].accepted.empty()) begin = i;
  }
  return begin;
}

double VarianceOfNeighbours(const std::vector<double>& logarithms) {
  const auto n = static_cast<double>(logarithms.size());
  if (logarithms.size() < 3) return 1;
  double mean = 0, squares = 0, differences = 0;
  for (const double log : logarithms) mean += log / n;
  for (const double log : logarithms) squares += (log - mean) * (log - mean) / (n - 1);
  for (std::size_t i = 1; i < logarithms.size(); ++i) {
    const double difference = logarithms[i] - logarithms[i - 1];
    differences += difference * difference / 2 / (n - 1);
  }
  if (squares == 0) return 1;
  const double correlation = std::min(1 - differences / squares, kMostCorrelation);
  const double chance = NormalQuantile(kCorrelationConfidence) / std::sqrt(n);
  return correlation > chance ? (1 + correlation) / std::pow(1 - correlation, 2) : 1;
}

std::vector<ComparedValues> FindLastingChanges(const CommitSeries& series, const SamplesByCores& newest,
                                               const std::vector<double>& cores, const SeriesNoise& noise,
                                               std::size_t begin, std::size_t window, bool is_time) {
  std::vector<ComparedValues> changes;
  KnownMeans means;
  for (std::size_t i = begin; i < series.commits.size(); ++i) {
    if (const auto mean = MeanOverCounts(series.commits[i], cores)) means.emplace_back(i, *mean);
  }
  const std::optional<double> last = MeanOverCounts(newest, cores);
  if (!last || !noise.mean || means.empty()) return changes;
  const double worse = is_time ? 1 : -1;
  const auto [first, end] = BestLevel(means, *noise.mean, worse);
  means.emplace_back(series.commits.size(), *last);
  for (const std::size_t recent : kWindows) {
    if (means.size() < first + recent + kFewestReference) break;
    const std::size_t size = std::min({window, end - first, means.size() - recent - first});
    if (size < kFewestReference) break;
    ComparedValues compared{.cores = cores, .commits = recent};
    std::vector<double> logs;
    for (std::size_t i = first; i < first + size; ++i) compared.baseline.push_back(means[i].first);
    for (std::size_t i = first; i < means.size() - recent; ++i) logs.push_back(means[i].second);
    const double before = MeanOf(means, first, first + size);
    const double after = MeanOf(means, means.size() - recent, means.size());
    for (const double count : cores) compared.after.runs += newest.at(count).values.size();
    compared.before.value = std::exp(before);
    compared.after.value = std::exp(after);
    const double error =
        noise.mean->deviation *
        std::sqrt(VarianceOfNeighbours(logs) * (1 / static_cast<double>(recent) + 1 / static_cast<double>(size)));
    compared.change = {std::exp(after - before), error, noise.mean->freedom};
    // The second largest loss among the recent commits, limited by that of the newest.
    std::vector<double> losses;
    for (std::size_t i = means.size() - recent; i < means.size(); ++i)
      losses.push_back(worse * (means[i].second - before));
    const double newest_loss = losses.back();
    std::ranges::nth_element(losses, losses.begin() + 1, std::greater<>());
    compared.lasting = std::min(newest_loss, losses[1]);
    changes.push_back(std::move(compared));
  }
  return changes;
}

// Changes against the baseline: max_drop and max_rise.

namespace {

// Repeats of a core count in one commit, to show by their scatter that one of them is bad.
constexpr std::size_t kRepeatsThatShow = 3;
// A change decides in one commit where it is so many times as large as the largest bad run before. Chosen with
// history_simulation_test.cc.
constexpr double kBeyondBadRuns = 2;
// A comparison decides nothing where noise hides changes so many times as large as what is allowed. Chosen with
// history_simulation_test.cc: unchanged code of up to 3 % noise does not warn for it.
constexpr double kHiddenByNoise = 10;

std::string Percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

// Geometric means over core counts whose runs scatter by themselves.
Measurement MeanOf(const std::vector<Measurement>& parts) {
  double logs = 0;
  Measurement mean;
  for (const Measurement& part : parts) {
    logs += std::log(part.value) / static_cast<double>(parts.size());
    mean.runs += part.runs;
  }
  mean.value = std::exp(logs);
  return mean;
}

class ChangeFinder {
 public:
  ChangeFinder(GateData& data, std::size_t rule, const PhaseKey& key)
      : data_(data), rule_(data.rules.rules[rule]), key_(key) {
    base_.judgement = Undecided(data, rule, key, true);
    base_.judgement.bound = rule_.AllowedChange();
  }

  std::vector<PendingChange> All() {
    if (!rule_.since.empty()) return Lasting();
    const std::string subject = SubjectOf(data_, base_.judgement);
    if (!data_.input.baseline) return {Open({}, subject + " has no baseline to compare with; give --baseline")};
    if (data_.history.empty()) {
      return {Open({}, fmt::format("{} has no baseline to compare with: {} holds no results yet", subject,
                                   data_.input.baseline_name))};
    }
    newest_ = SamplesOf(data_.compared, key_, rule_.quantity);
    series_ = CommitSeriesOf(data_.history, key_, rule_.quantity);
    const SamplesByCores* last = LastKnown();
    if (newest_.empty() && rule_.counts != Rule::Counts::kTargets)
      return {Open({}, subject + " is unknown" + WhyUnknown(data_, rule_.quantity))};
    if (last == nullptr) {
      return {Open({}, fmt::format("the baseline does not know {}{}{}", subject, SeriesOfBaseline(),
                                   WhyNotCompared(data_, rule_.quantity)))};
    }
    std::vector<double> shared;
    for (const auto& [cores, samples] : newest_) {
      if (last->count(cores) > 0) shared.push_back(cores);
    }
    noise_ = LearnNoise(series_, newest_, shared, data_.rules.noise);
    commits_ = BaselineCommits(series_, shared, noise_, data_.rules.window);
    return rule_.counts == Rule::Counts::kAll ? Together(shared, *last) : OneByOne(shared, *last);
  }

 private:
  // Against the level since the time that the rule says; nothing before there are enough commits.
  std::vector<PendingChange> Lasting() {
    if (data_.history.empty()) return {};
    const std::optional<std::size_t> begin = ReferenceBegin(data_.history, rule_.since);
    if (!begin) {
      return {Open(
          {}, fmt::format("{} has no commit since {} in the history", SubjectOf(data_, base_.judgement), rule_.since))};
    }
    newest_ = SamplesOf(data_.compared, key_, rule_.quantity);
    series_ = CommitSeriesOf(data_.history, key_, rule_.quantity);
    const SamplesByCores* last = LastKnown();
    if (last == nullptr) return {};
    std::vector<double> cores;
    for (const auto& [count, samples] : newest_) {
      const bool is_asked = rule_.cores.empty() || std::ranges::find(rule_.cores, count) != rule_.cores.end();
      const bool is_enough = samples.values.size() >= static_cast<std::size_t>(rule_.min_runs);
      if (is_asked && is_enough && last->count(count) > 0) cores.push_back(count);
    }
    noise_ = LearnNoise(series_, newest_, cores, data_.rules.noise);
    PendingChange pending = base_;
    pending.judgement.cores = cores;
    pending.comparisons = FindLastingChanges(series_, newest_, cores, noise_, *begin,
                                             static_cast<std::size_t>(data_.rules.window), rule_.quantity.IsTime());
    if (pending.comparisons.empty()) return {};
    return {pending};
  }

  PendingChange Open(const std::vector<double>& cores, const std::string& why) const {
    PendingChange pending = base_;
    pending.judgement = Undecidable(base_.judgement, why);
    pending.judgement.cores = cores;
    return pending;
  }

  // Results and baseline may have different series, such as two programs.
  std::string SeriesOfBaseline() const {
    const std::vector<std::string> series = data_.history.back().table.Series();
    if (std::ranges::find(series, key_.series) != series.end()) return "";
    const std::string names = Join(series, ", ");
    return names.empty() ? ", for its runs name no series" : ", for it is of series " + names;
  }

  const SamplesByCores* LastKnown() const {
    for (std::size_t i = series_.commits.size(); i-- > 0;) {
      if (!series_.commits[i].empty()) return &series_.commits[i];
    }
    return nullptr;
  }

  std::string Subject(const std::vector<double>& cores) const { return SubjectAt(data_, base_.judgement, cores); }

  std::optional<ComparedValues> CompareAt(double cores) const {
    const auto found = newest_.find(cores);
    if (found == newest_.end()) return std::nullopt;
    const std::optional<Measurement> before = BaselineAt(series_, commits_, cores, noise_);
    const std::optional<Measurement> after = NewestAt(found->second, cores, noise_);
    if (!before || !after) return std::nullopt;
    ComparedValues compared{.cores = {cores},
                            .before = *before,
                            .after = *after,
                            .change = ChangeBetween(*before, *after),
                            .baseline = commits_};
    if (found->second.values.size() < kRepeatsThatShow) compared.bad_run = noise_.bad_run;
    return compared;
  }

  // The mean change over all counts and every single change; counts that the results lack are judged separately.
  std::vector<PendingChange> Together(const std::vector<double>& shared, const SamplesByCores& last) const {
    PendingChange pending = base_;
    std::vector<ComparedValues> singles;
    std::vector<Measurement> before, after;
    std::vector<Change> changes;
    for (const double cores : shared) {
      if (newest_.at(cores).values.size() < static_cast<std::size_t>(rule_.min_runs)) continue;
      const std::optional<ComparedValues> comparison = CompareAt(cores);
      if (!comparison) continue;
      singles.push_back(*comparison);
      pending.judgement.cores.push_back(cores);
      before.push_back(comparison->before);
      after.push_back(comparison->after);
      changes.push_back(comparison->change);
    }
    if (singles.empty()) {
      return {
          Open({}, fmt::format("{} was measured at no core count of the baseline{}", SubjectOf(data_, base_.judgement),
                               rule_.min_runs > 1 ? " in as many runs as the rule asks for" : ""))};
    }
    if (singles.size() > 1) {
      pending.comparisons.push_back({.cores = pending.judgement.cores,
                                     .before = MeanOf(before),
                                     .after = MeanOf(after),
                                     .change = MeanChange(changes, noise_, commits_.size()),
                                     .baseline = commits_});
      const bool shows = std::ranges::all_of(singles, [](const ComparedValues& one) { return one.bad_run == 0; });
      if (!shows) pending.comparisons.back().bad_run = noise_.bad_mean;
    }
    pending.comparisons.insert(pending.comparisons.end(), singles.begin(), singles.end());
    std::vector<PendingChange> all = {pending};
    std::vector<double> lost;
    for (const auto& [cores, samples] : last) {
      if (newest_.count(cores) == 0) lost.push_back(cores);
    }
    if (!lost.empty()) {
      all.push_back(Open(lost, fmt::format("{} is in the baseline and not in the results", Subject(lost))));
    }
    return all;
  }

  std::vector<PendingChange> OneByOne(const std::vector<double>& shared, const SamplesByCores& last) {
    std::vector<double> counts = rule_.cores;
    if (rule_.counts == Rule::Counts::kTargets) counts = data_.Targets(key_);
    if (rule_.counts == Rule::Counts::kMeasured) {
      for (const auto& [cores, samples] : newest_) counts.push_back(cores);
    }
    std::vector<PendingChange> all;
    for (const double cores : counts) {
      const bool is_shared = std::ranges::find(shared, cores) != shared.end();
      if (is_shared && newest_.at(cores).values.size() < static_cast<std::size_t>(rule_.min_runs)) {
        all.push_back(Open({cores}, fmt::format("{} was measured in fewer than the {} runs that the rule asks for",
                                                Subject({cores}), rule_.min_runs)));
      } else if (const std::optional<ComparedValues> comparison = is_shared ? CompareAt(cores) : std::nullopt) {
        all.push_back(base_);
        all.back().judgement.cores = {cores};
        all.back().comparisons = {*comparison};
      } else if (newest_.count(cores) > 0) {
        all.push_back(Open({cores}, fmt::format("{} is not in the baseline", Subject({cores}))));
      } else if (last.count(cores) > 0) {
        all.push_back(Open({cores}, fmt::format("{} is in the baseline and not in the results", Subject({cores}))));
      } else {
        all.push_back(Projected(cores));
      }
    }
    if (all.empty()) all.push_back(Open({}, Subject({}) + ": nothing is projected"));
    return all;
  }

  // The interval of the projection is the noise.
  std::optional<Measurement> ProjectedMeasurement(const PhaseProjection* projection, double cores) const {
    const Factor witness = rule_.quantity.IsTime() ? Factor::kSpeedup : rule_.quantity.factor;
    if (projection == nullptr || projection->fitted_cores.empty() || cores < projection->fitted_cores.front() ||
        !IsReliable(*projection, witness, cores)) {
      return std::nullopt;
    }
    const auto [value, interval] = ProjectedAt(*projection, rule_.quantity, cores, 0.8);
    if (!interval || !(interval->low > 0)) return std::nullopt;
    const double width = std::log(interval->high / interval->low);
    return Measurement{*value, width / 2 / NormalReach(0.8), std::numeric_limits<double>::infinity(), 0};
  }

  PendingChange Projected(double cores) {
    const auto after = ProjectedMeasurement(data_.ComparedProjection(key_), cores);
    const auto before = after ? ProjectedMeasurement(data_.BaselineProjection(key_), cores) : std::nullopt;
    PendingChange pending = base_;
    pending.judgement.cores = {cores};
    if (after && before) {
      pending.comparisons = {
          {.cores = {cores}, .before = *before, .after = *after, .change = ChangeBetween(*before, *after)}};
    } else {
      pending = Open({cores}, fmt::format("{} was not measured, and the projection from {} is too uncertain there",
                                          Subject({cores}), after ? "the baseline" : "the results"));
    }
    pending.judgement.is_projected = true;
    return pending;
  }

  GateData& data_;
  const Rule& rule_;
  PhaseKey key_;
  PendingChange base_;
  SamplesByCores newest_;
  CommitSeries series_;
  SeriesNoise noise_;
  std::vector<std::size_t> commits_;
};

// The allowed change as a logarithm.
double LogAllowed(const Rule& rule, double allowed) {
  return std::fabs(std::log1p(rule.quantity.IsTime() ? allowed : -allowed));
}

// Half the interval that decides whether a rule warns, of one comparison alone.
double HalfInterval(const Change& change) { return std::log(change.High(kWarningConfidence) / change.ratio); }

bool IsHiddenByNoise(const Rule& rule, const ComparedValues& comparison, double allowed) {
  if (rule.by_value || comparison.change.IsBeyondNoise(kWarningConfidence)) return false;
  return HalfInterval(comparison.change) > kHiddenByNoise * LogAllowed(rule, allowed);
}

// With how many runs on either side a change as large as allowed is beyond noise: errors shrink as their root.
double RepeatsThatDecide(const Rule& rule, const ComparedValues& comparison, double allowed) {
  const double reach = NormalReach(kWarningConfidence) * comparison.change.error / LogAllowed(rule, allowed);
  const auto runs = static_cast<double>(std::max<std::size_t>(1, comparison.after.runs / comparison.cores.size()));
  return std::ceil(runs * reach * reach);
}

std::optional<Blame> FindBlame(GateData& data, const Judgement& judgement, const ComparedValues& comparison) {
  if (judgement.is_projected) {
    const PhaseKey key = judgement.Key();
    return BlameForChange(judgement.quantity, LogsOf(*data.BaselineProjection(key), comparison.cores.front()),
                          LogsOf(*data.ComparedProjection(key), comparison.cores.front()));
  }
  const History& history = data.history;
  std::vector<const FactorTable*> before, after = {&data.compared};
  for (const std::size_t index : comparison.baseline) before.push_back(&history[index].table);
  for (std::size_t i = 1; i < comparison.commits; ++i) after.push_back(&history[history.size() - i].table);
  return BlameForChange(judgement.quantity, LogsOf(before, judgement.Key(), comparison.cores),
                        LogsOf(after, judgement.Key(), comparison.cores));
}

// "parallelEfficiency of phase solve dropped by 5.1 % from 0.800 to 0.759 at 16 and 32 cores (99.97 % interval of the
// change -7.2 to -3.1 %)": the interval that decides what is beyond noise.
std::string ChangeSentence(const GateData& data, const Rule& rule, const Judgement& judgement,
                           const ComparedValues& comparison) {
  const double change = comparison.change.ratio - 1;
  const std::string size = fmt::format("{:.1f} %", 100 * std::fabs(change));
  const std::string moved = size == "0.0 %" ? "is unchanged," : (change < 0 ? "dropped by " : "rose by ") + size;
  std::string text = fmt::format("{} of {} {} from {} to {} at {}", IdOf(rule.quantity), PlaceOf(data, judgement.Key()),
                                 moved, FormatQuantity(rule.quantity, comparison.before.value),
                                 FormatQuantity(rule.quantity, comparison.after.value), CoresInWords(comparison.cores));
  if (comparison.commits > 1) {
    text += fmt::format(" in the last {} commits, against {} from {} on", comparison.commits,
                        comparison.baseline.size(), NameOf(data.history[comparison.baseline.front()]));
  }
  if (!rule.by_value) {
    const double high = 100 * judgement.interval->high;
    text += fmt::format(" ({} interval of the change {:+.1f} {})", ConfidenceText(judgement.confidence),
                        100 * judgement.interval->low,
                        std::isfinite(high) ? fmt::format("to {:+.1f} %", high) : "% and more");
  }
  return text;
}

}  // namespace

std::vector<PendingChange> FindChanges(GateData& data, std::size_t rule, const PhaseKey& key) {
  return ChangeFinder(data, rule, key).All();
}

Judgement DecideChange(GateData& data, PendingChange pending, std::size_t comparisons) {
  Judgement& judgement = pending.judgement;
  if (pending.comparisons.empty()) return judgement;
  const Rule& rule = data.rules.rules[judgement.rule];
  const double allowed = *judgement.bound;
  const double chance = 1 - rule.confidence.value_or(kChangeConfidence);
  // Not 1, to which the difference would be rounded for millions of comparisons.
  const double confidence =
      std::min(1 - chance / static_cast<double>(std::max<std::size_t>(1, comparisons)), std::nextafter(1.0, 0.0));
  const double warning =
      1 - std::max(chance, 1 - kWarningConfidence) / static_cast<double>(std::max<std::size_t>(1, comparisons));
  const double half = std::fabs(std::log1p(rule.quantity.IsTime() ? allowed / 2 : -allowed / 2));
  const auto exceeds = [&](const ComparedValues& comparison) {
    const double ratio = comparison.change.ratio, worse = rule.quantity.IsTime() ? ratio - 1 : 1 - ratio;
    return worse > allowed && comparison.lasting > half;
  };
  bool is_within_noise = false;
  const ComparedValues* reported = nullptr;
  const ComparedValues* doubtful = nullptr;
  for (const ComparedValues& comparison : pending.comparisons) {
    if (!exceeds(comparison)) continue;
    const bool may_be_bad_run = std::fabs(std::log(comparison.change.ratio)) < kBeyondBadRuns * comparison.bad_run;
    if (rule.by_value || (comparison.change.IsBeyondNoise(confidence) && !may_be_bad_run)) {
      if (reported == nullptr) reported = &comparison;
    } else if (doubtful == nullptr &&
               (rule.undecided || judgement.is_projected || comparison.change.IsBeyondNoise(warning))) {
      doubtful = &comparison;
    } else if (&comparison == &pending.comparisons.front()) {
      is_within_noise = true;
    }
  }
  const ComparedValues& first = pending.comparisons.front();
  const bool is_hidden =
      reported == nullptr && doubtful == nullptr && !judgement.is_projected && IsHiddenByNoise(rule, first, allowed);
  judgement.verdict = Verdict::kPass;
  std::string reason = fmt::format("{} is allowed", Percent(allowed));
  if (reported != nullptr) {
    judgement.verdict = Verdict::kFail;
  } else if (doubtful != nullptr) {
    reported = doubtful;
    judgement.verdict = VerdictInDoubt(rule, judgement);
    reason += ", but that may be noise";
  } else if (is_hidden) {
    reported = &first;
    judgement.verdict = VerdictInDoubt(rule, judgement);
    judgement.is_hidden_by_noise = true;
    const double runs = RepeatsThatDecide(rule, first, allowed);
    reason +=
        fmt::format(", and noise hides changes of up to {}: undecided, about {} runs before and after would decide",
                    Percent(std::expm1(HalfInterval(first.change))), FormatCores(runs));
  } else {
    reported = &pending.comparisons.front();
    if (is_within_noise) reason += ", and that may well be noise";
  }
  judgement.cores = reported->cores;
  judgement.before = reported->before.value;
  judgement.value = reported->after.value;
  judgement.runs = reported->after.runs;
  judgement.commits = reported->commits;
  judgement.change = reported->change.ratio - 1;
  judgement.confidence = confidence;
  judgement.interval = {reported->change.Low(confidence) - 1, reported->change.High(confidence) - 1};
  judgement.sentence = ChangeSentence(data, rule, judgement, *reported) + "; " + reason + ".";
  if (judgement.verdict != Verdict::kPass) judgement.blame = FindBlame(data, judgement, *reported);
  return judgement;
}

}  // namespace farscale
