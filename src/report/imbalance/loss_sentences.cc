#include "report/imbalance/losses.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "base/text.h"
#include "base/files.h"
#include "imbalance/loss_remedy.h"
#include "pages/render.h"
#include "report/figures.h"
#include "results/cause_text.h"
#include "results/reported_losses.h"

namespace farscale {
namespace {

using Data = ReportData;

constexpr double kWorthLateReceiver = 0.3;  // share of the waiting worth reporting; chosen
constexpr double kWorthWaiting = 0.01;      // share of the time of all ranks: less is hardly worth a repair; chosen
constexpr double kWorthSkew = 0.05;         // share of the waiting worth reporting

// True if all ranks of a cause take about as much longer. Edited files may name ranks outside of the phase.
bool AreLateAlike(const Cause& cause, const std::vector<std::size_t>& ranks) {
  constexpr double kAlike = 0.5;  // share of the largest; chosen
  const LossRaster& beyond = cause.beyond;
  if (beyond.cells.size() != beyond.rows * beyond.columns || beyond.cells.empty()) return false;
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const std::size_t rank : cause.ranks) {
    const auto place = static_cast<std::size_t>(std::ranges::find(ranks, rank) - ranks.begin());
    if (place == ranks.size()) return false;
    const double* row = beyond.cells.data() + place * beyond.rows / ranks.size() * beyond.columns;
    const double sum = std::accumulate(row, row + beyond.columns, 0.0);
    least = std::min(least, sum);
    most = std::max(most, sum);
  }
  return least >= kAlike * most;
}

// Costs are charged to the last to arrive: of ranks that are late together, or as often, none stands out.
std::string TogetherWith(std::size_t largest, const PathRecord& path, const LossRecord& losses) {
  constexpr CausePlace kOfSeveral[] = {CausePlace::kRanks, CausePlace::kNode, CausePlace::kSocket, CausePlace::kPlane,
                                       CausePlace::kAlone};
  for (const Cause& cause : losses.causes) {
    const bool is_its = cause.path == path.path && cause.rank_count > 1 &&
                        std::ranges::find(cause.ranks, losses.ranks[largest]) != cause.ranks.end();
    const bool is_of_several = std::ranges::find(kOfSeveral, cause.place) != std::end(kOfSeveral);
    if (is_its && is_of_several && AreLateAlike(cause, losses.ranks)) return NameRanks(cause, losses);
  }
  constexpr double kAlike = 0.95, kNearlyAll = 0.9;  // chosen
  Cause alike;
  for (std::size_t i = 0; i < path.costs.size(); ++i) {
    if (path.costs[i] < kAlike * path.costs[largest]) continue;
    if (alike.rank_count++ < 4) alike.ranks.push_back(losses.ranks[i]);
  }
  const double of_all = static_cast<double>(alike.rank_count) * path.costs[largest];
  return alike.rank_count > 1 && of_all >= kNearlyAll * path.total.Costs() ? NameRanks(alike, losses) + " alike" : "";
}

// A part of all waiting; false where it is less than `least`.
Data Part(const LossRecord& losses, double seconds, double least = 0) {
  if (seconds <= 0 || seconds < least * losses.Waiting()) return false;
  return {{"share", ShareOrDash(seconds, losses.Waiting())}, {"time", FormatSeconds(seconds)}};
}

// Ranks that enter the phase later than the first.
Data LateRanks(const LossRecord& losses) {
  double costs = 0;
  std::vector<double> late(losses.ranks.size(), 0);
  for (const PathRecord& path : losses.paths) {
    if (!path.path.starts_with("(before the phase)")) continue;
    costs += path.total.Costs();
    // Records for reports do not hold these times [results/reported_losses.h].
    for (std::size_t i = 0; i < path.execution.size(); ++i) late[i] += path.execution[i];
  }
  if (late.empty() || costs < kWorthSkew * losses.Waiting()) return false;
  const double latest = std::ranges::max(late);
  return {{"share", ShareOrDash(costs, losses.Waiting())}, {"latest", latest > 0 ? FormatSeconds(latest) : ""}};
}

// Waiting for ranks that left a call later than others and did nothing longer than they did.
Data ExitSkew(const LossRecord& losses) {
  const auto skew = [](const PathRecord& path) { return path.total.ExitSkew(); };
  double all = 0;
  for (const PathRecord& path : losses.paths) all += skew(path);
  if (all < kWorthSkew * losses.Waiting()) return false;
  Data part = Part(losses, all);
  if (part != false) part["path"] = LargestPaths(losses, 1, skew).front()->path;
  return part;
}

Data WaitingText(const LossRecord& losses) {
  const LossRanks ranks(losses);
  const double waiting = losses.Waiting();
  Data cause = false;
  if (const auto causes = LargestPaths(losses, 1, CausedCosts); !causes.empty()) {
    const PathRecord& first = *causes.front();
    cause = {{"share", ShareOrDash(first.total.Costs(), waiting)},
             {"path", first.path},
             {"indirect", ShareOrDash(losses.indirect, waiting)},
             {"propagating", ShareOrDash(losses.propagating, waiting)},
             {"largest", LargestShare(first, ranks)},
             {"spreads", std::max(losses.indirect, losses.propagating) >= kNoShare * waiting}};
  }
  const double late_receiver = losses.waiting[static_cast<std::size_t>(WaitKind::kLateReceiver)];
  return {{"share", ShareOrDash(waiting, losses.allocation)},
          {"time", FormatSeconds(waiting)},
          {"whole", FormatSeconds(losses.allocation)},
          {"count", ranks.Count()},
          {"perRank", FormatSeconds(ranks.PerRank(waiting))},
          {"wholePerRank", FormatSeconds(ranks.PerRank(losses.allocation))},
          {"cause", std::move(cause)},
          {"late", LateRanks(losses)},
          {"exitSkew", ExitSkew(losses)},
          {"lateReceiver", Part(losses, late_receiver, kWorthLateReceiver)},
          {"atEnd", Part(losses, losses.at_end)},
          {"unattributed", Part(losses, Sum(losses.unattributed), kNoShare)},
          {"lost", Part(losses, Sum(losses.lost))},
          {"wrongOrder", Part(losses, losses.wrong_order, kNoShare)},
          {"lateComplete", Part(losses, losses.late_complete, kNoShare)},
          {"recurs", losses.recurs},
          {"isByScalasca", losses.rules == DelayRules::kScalasca},
          {"isLittle", !losses.recurs && waiting < kWorthWaiting * losses.allocation}};
}

// Where nobody waits, ranks that take longer in one call path take as much less in others.
std::string CancellingPaths(const LossRecord& losses) {
  constexpr double kWorthImbalance = 0.01;  // share of the length of the phase
  if (losses.recurs) return "";             // others may wait between the occurrences
  std::vector<std::string> names;
  for (const PathRecord& path : losses.paths) {
    if (path.IsOutside()) continue;
    if (path.imbalance >= kWorthImbalance * losses.length && !path.is_mpi) names.push_back(path.innermost);
  }
  return Join(names, ", ");
}

// Groups of ranks, "particle (28 ranks, 13.1 ms each)", and better numbers of ranks, "24 and 8", unless they are
// balanced. Nothing without groups, or where what they compute is unknown.
Data Groups(const LossRecord& losses) {
  if (losses.groups.size() < 2) return false;
  std::vector<std::string> names;
  for (const GroupLoad& group : losses.groups) {
    if (!(group.computation > 0)) return false;
    names.push_back(fmt::format("{} ({} {}, {} each)", group.name, FormatCount(group.ranks),
                                group.ranks == 1 ? "rank" : "ranks",
                                FormatSeconds(group.computation / static_cast<double>(group.ranks))));
  }
  Data text = {{"groups", Join(names, ", ")}, {"sizes", ""}, {"gain", ""}};
  const auto better = BetterSizes(losses);
  if (!better) return text;
  const auto& [counts, gain] = *better;
  std::vector<std::string> sizes;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const char* ranks = sizes.empty() ? (counts[i] == 1 ? " rank" : " ranks") : "";
    sizes.push_back(fmt::format("{}{} in {}", FormatCount(counts[i]), ranks, losses.groups[i].name));
  }
  text["sizes"] = ListInWords(std::move(sizes));
  text["gain"] = DescribeGain(gain, losses);
  return text;
}

Data InputOutput(const LossRecord& losses) {
  const double io = losses.individual_io + losses.collective_io;
  if (io <= 2 * kNoShare * losses.allocation) return false;
  const auto share = [&](double time) {
    return time > kNoShare * losses.allocation ? ShareOrDash(time, losses.allocation) : "";
  };
  return {
      {"share", share(io)}, {"collective", share(losses.collective_io)}, {"individual", share(losses.individual_io)}};
}

Data DeviceCallsText(const LossRecord& losses) {
  const auto& calls = losses.device_calls;
  if (!calls || calls->time <= 2 * kNoShare * losses.allocation) return false;
  const bool has_costs = calls->costs > kNoShare * losses.Waiting();
  return {{"share", ShareOrDash(calls->time, losses.allocation)},
          {"largest", calls->largest},
          {"ofLargest", ShareOrDash(calls->of_largest, losses.allocation)},
          {"costs", has_costs ? ShareOrDash(calls->costs, losses.Waiting()) : ""}};
}

// A title, and the whole that call paths have a share in.
std::pair<const char*, const char*> MeasureTexts(LossMeasure measure) {
  switch (measure) {
    case LossMeasure::kDelayCosts: return {"What causes waiting, as a share of all ranks' time", "waiting"};
    case LossMeasure::kLoadBalance: return {"What load balance loses, as a share of the run time", "load balance loss"};
    case LossMeasure::kSerialization:
      return {"What serialization loses, as a share of the run time", "serialization loss"};
    case LossMeasure::kCriticalImbalance:
      return {"Imbalance on the critical path, as a share of its length", "imbalance on the critical path"};
  }
  return {"", ""};
}

// Targets at which every path is reliable; of many the first, the last and some between.
std::vector<std::size_t> ReliableTargets(const LossProjection& losses, std::size_t most) {
  std::size_t count = 0;
  const auto is_reliable = [&](const PathLossProjection& path) {
    return count < path.targets.size() && path.targets[count].reliability == Reliability::kReliable;
  };
  while (!losses.paths.empty() && std::all_of(losses.paths.begin(), losses.paths.end(), is_reliable)) ++count;
  std::vector<std::size_t> places;
  const std::size_t shown = std::min(most, count);
  for (std::size_t i = 0; i < shown; ++i) places.push_back(shown == 1 ? count - 1 : i * (count - 1) / (shown - 1));
  return places;
}

// Mean over the runs at one core count.
double MeasuredAt(const PathLossProjection& path, double cores) {
  double sum = 0, count = 0;
  for (const DataPoint& point : path.measured) {
    if (point.cores != cores) continue;
    sum += point.value;
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

std::string FormatPart(const IntervalBounds& part) {
  return FormatRange(FormatPercent(part.low), FormatPercent(part.high));
}

// The widest 80 % interval of a share that is reported.
constexpr double kWidestPart = 0.5;

// At the last of the targets at which the share of the call path is known, else at the first of them.
Data LargestText(const LossProjection& losses, const PathLossProjection& path, const PhaseProjection* factors,
                 const std::vector<std::size_t>& targets) {
  constexpr double kAll = 0.9995;
  const auto known = std::find_if(targets.rbegin(), targets.rend(), [&](std::size_t target) {
    const IntervalBounds& part = *path.targets[target].part80;
    return part.high - part.low <= kWidestPart;
  });
  const bool is_known = known != targets.rend();
  const ProjectedLoss& at = path.targets[is_known ? *known : targets.front()];
  const bool is_of_factor =
      losses.measure == LossMeasure::kLoadBalance || losses.measure == LossMeasure::kSerialization;
  const Factor factor = FactorOf(losses.measure);
  bool is_dominant = false;
  if (is_of_factor && factors != nullptr) {
    const auto dominant = factors->dominant_at.find(at.cores);
    is_dominant = dominant != factors->dominant_at.end() && dominant->second == factor;
  }
  const bool is_uncertain_beyond = is_known && *known < targets.back();
  return {{"cores", FormatCores(at.cores)},
          {"path", path.path},
          {"part", FormatPercent(at.part)},
          {"interval", FormatPart(*at.part80)},
          {"whole", MeasureTexts(losses.measure).second},
          {"dominant", is_dominant ? Name(factor) : ""},
          {"isKnown", is_known},
          {"isWaiting", losses.measure == LossMeasure::kDelayCosts},
          {"isAll", at.part80->low > kAll},
          {"isUncertainBeyond", is_uncertain_beyond},
          {"isEnd", is_known && !is_uncertain_beyond && at.cores < path.targets.back().cores}};
}

// One run in a line.
Data RunRow(const LossRecord& losses) {
  const std::string repeat = losses.repeat > 0 ? fmt::format(", repeat {}", losses.repeat) : "";
  const bool is_known = !losses.unknown_waits;
  const std::vector<const PathRecord*> causes = LargestPaths(losses, 1, CausedCosts);
  return {{"cores", FormatCores(static_cast<double>(losses.cores)) + (losses.grown_from ? ", grown" : "") + repeat},
          {"length", FormatSeconds(losses.length)},
          {"waiting", is_known ? FormatSeconds(losses.Waiting()) : "unknown"},
          {"share", is_known ? ShareOrDash(losses.Waiting(), losses.allocation) : "unknown"},
          {"cause", causes.empty() ? "–" : causes.front()->path},
          {"part", causes.empty() ? "–" : ShareOrDash(CausedCosts(*causes.front()), losses.Waiting())}};
}

}  // namespace

std::string TimeOrDash(double seconds) { return seconds > 0 ? FormatSeconds(seconds) : "–"; }

LossRanks::LossRanks(const LossRecord& record)
    : are_threads(!record.locations.empty()),
      one(are_threads ? "thread" : "rank"),
      who(one + "s"),
      summed("summed over " + who),
      losses(record) {}

std::string LossRanks::Number(std::size_t rank) const {
  if (rank >= losses.locations.size()) return std::to_string(rank);
  const Location& location = losses.locations[rank];
  return fmt::format("{}, thread {}", location.rank, location.thread);
}

std::string LossRanks::List(const std::vector<std::string>& numbers) const {
  return Join(numbers, are_threads ? "; " : ", ");
}

std::string LossRanks::Count() const {
  if (!are_threads) return fmt::format("{} rank{}", losses.ranks.size(), losses.ranks.size() == 1 ? "" : "s");
  std::set<std::int32_t> ranks;
  for (const std::size_t rank : losses.ranks) ranks.insert(losses.locations[rank].rank);
  return fmt::format("{} threads of {} rank{}", losses.ranks.size(), ranks.size(), ranks.size() == 1 ? "" : "s");
}

double LossRanks::PerRank(double seconds) const {
  return losses.ranks.empty() ? 0 : seconds / static_cast<double>(losses.ranks.size());
}

std::string RunCores(const LossRecord& losses) {
  return FormatCoreCount(static_cast<double>(losses.cores)) + (losses.grown_from ? ", grown" : "");
}

ReportData LargestShare(const PathRecord& path, const LossRanks& ranks) {
  const auto largest = std::ranges::max_element(path.costs);
  if (largest == path.costs.end()) return false;
  constexpr double kStandsOut = 0.05;  // chosen
  const double share = *largest / path.total.Costs();
  const auto index = static_cast<std::size_t>(largest - path.costs.begin());
  return {{"name", ranks.Name(ranks.losses.ranks[index])},
          {"part", FormatPercent(share)},
          {"extent", share >= 0.995       ? "all"
                     : share < kStandsOut ? "spread"
                     : share >= 0.5       ? "most"
                                          : "largest"},
          {"together", ranks.are_threads ? "" : TogetherWith(index, path, ranks.losses)}};
}

std::vector<std::string> SummarizeLosses(const LossRecord& losses, const Partials& texts) {
  const LossRanks ranks(losses);
  const bool is_known = !losses.unknown_waits, has_waits = losses.Waiting() > 0;
  Data data = {{"areThreads", ranks.are_threads},
               {"one", ranks.one},
               {"who", ranks.who},
               {"grown", false},
               {"unknown", false},
               {"heavy", false},
               {"latency", false},
               {"waiting", is_known && has_waits ? WaitingText(losses) : Data(false)},
               {"isWithoutWaits", is_known && !has_waits},
               {"cancelling", is_known && !has_waits ? CancellingPaths(losses) : ""},
               {"groups", Groups(losses)},
               {"inputOutput", InputOutput(losses)},
               {"deviceCalls", DeviceCallsText(losses)}};
  if (losses.grown_from) {
    data["grown"] = {{"cores", FormatCoreCount(static_cast<double>(losses.cores))},
                     {"from", FormatCoreCount(static_cast<double>(*losses.grown_from))}};
  }
  if (losses.shape && losses.shape->heavy.every > 0) {
    const HeavyIterations& heavy = losses.shape->heavy;
    data["heavy"] = {{"every", FormatOrdinal(heavy.every)},
                     {"ratio", FormatRatio(heavy.level)},
                     {"share", FormatPercent(heavy.share)}};
  }
  if (const auto& waits = losses.unknown_waits) {
    data["unknown"] = {{"calls", FormatCount(waits->calls)}, {"example", waits->example}};
  }
  if (const auto& latency = losses.latency) {
    data["latency"] = {{"path", latency->path},
                       {"gain", DescribeGain(latency->gain, losses)},
                       {"mean", FormatSeconds(latency->mean)},
                       {"least", FormatSeconds(latency->least)}};
  }
  return RenderSentences(texts, "losses_summary.txt", data);
}

Data DescribeGrowth(const std::vector<LossProjection>& losses, const std::vector<PhaseProjection>& projections,
                    const Partials& texts, std::size_t most) {
  Data growth = Data::array();
  for (const LossProjection& one : losses) {
    const auto found = std::ranges::find_if(projections, [&](const auto& other) { return other.phase == one.phase; });
    const PhaseProjection* factors = found == projections.end() ? nullptr : &*found;
    const std::vector<std::size_t> targets =
        one.obstacle.empty() ? ReliableTargets(one, most) : std::vector<std::size_t>();
    const bool is_known = !one.paths.empty() && one.obstacle.empty(), is_reliable = is_known && !targets.empty();
    const PathLossProjection* largest = nullptr;  // at the last target, of those that have a name
    for (const PathLossProjection& path : one.paths) {
      const bool is_named =
          path.path != kOtherPaths && path.path != kChargedToNobody && path.path != kUnequalOccurrences;
      if (!is_reliable || !is_named || targets.back() >= path.targets.size()) continue;
      if (largest == nullptr || path.targets[targets.back()].loss > largest->targets[targets.back()].loss)
        largest = &path;
    }
    const Data text = {{"isNothing", one.paths.empty()},
                       {"obstacle", one.paths.empty() ? "" : one.obstacle},
                       {"isUncertain", is_known && targets.empty()},
                       {"isSpread", is_reliable && largest == nullptr},
                       {"largest", largest == nullptr ? Data(false) : LargestText(one, *largest, factors, targets)}};
    growth.push_back({{"phase", one.phase},
                      {"title", MeasureTexts(one.measure).first},
                      {"sentences", RenderSentences(texts, "loss_growth.txt", text)},
                      {"header", Data::array()},
                      {"rows", Data::array()}});
    if (one.paths.empty()) continue;
    Data& table = growth.back();  // runs, then targets that are reliable; a call path a row
    for (const double cores : one.fitted_cores) table["header"].push_back(FormatCores(cores));
    for (const std::size_t target : targets) {
      table["header"].push_back("→ " + FormatCores(one.paths.front().targets[target].cores));
      table["header"].push_back("80 %");
    }
    for (const PathLossProjection& path : one.paths) {
      std::vector<std::string> cells = {path.path};
      for (const double cores : one.fitted_cores) cells.push_back(FormatPercent(MeasuredAt(path, cores)));
      for (const std::size_t target : targets) {
        cells.push_back(FormatPercent(path.targets[target].loss));
        cells.push_back(FormatPart(*path.targets[target].loss80));
      }
      table["rows"].push_back({{"cells", std::move(cells)}});
    }
  }
  return growth;
}

std::string FormatGrowth(const Data& growth, const Partials& texts, std::size_t width) {
  return RenderText(texts, "losses_growth.txt", {{"growth", growth}}, width);
}

ReportModel BuildLossesModel(const std::vector<LossRecord>& records, const Data& growth, const std::string& title,
                             const Partials& texts, std::size_t top, const std::vector<Finding>& warnings) {
  Data sentences = Data::array(), phases = Data::array();
  for (const Finding& warning : warnings) sentences.push_back(ToSentence(warning));
  std::vector<std::string> names;
  for (const LossRecord& record : records) {
    if (std::ranges::find(names, record.phase) == names.end()) names.push_back(record.phase);
  }
  std::set<std::string> anchors;
  const LossDetail detail{.rows = top, .maps = std::min<std::size_t>(top, 5)};
  for (const std::string& name : names) {
    const std::string heading = name.empty() ? "All of the run" : name;
    Data runs = Data::array(), losses = Data::array();
    const LossRecord* largest = nullptr;
    std::vector<const LossRecord*> grown;
    for (const LossRecord& record : records) {
      if (record.phase != name) continue;
      runs.push_back(RunRow(record));
      if (record.grown_from) {
        grown.push_back(&record);
      } else if (largest == nullptr || record.cores >= largest->cores) {
        largest = &record;
      }
    }
    if (largest == nullptr) largest = grown.front();
    Data of_phase = Data::array();
    std::ranges::copy_if(growth, std::back_inserter(of_phase), [&](const Data& one) { return one["phase"] == name; });
    losses.push_back(DescribePhaseLosses(*largest, std::move(of_phase), heading, texts, detail));
    for (const LossRecord* record : grown) {
      if (record == largest) continue;
      losses.push_back(
          DescribePhaseLosses(*record, Data::array(), heading + " on " + RunCores(*record), texts, detail));
    }
    phases.push_back({{"heading", heading},
                      {"anchor", UniqueSlug(name, anchors)},
                      {"summed", LossRanks(*largest).summed},
                      {"severalRuns", runs.size() > 1},
                      {"runs", std::move(runs)},
                      {"losses", std::move(losses)}});
  }
  return {{{"title", title},
           {"generator", Generator()},
           {"severalPhases", phases.size() > 1},
           {"hasWarnings", !warnings.empty()},
           {"warnings", std::move(sentences)},
           {"phases", std::move(phases)}},
          {}};
}

}  // namespace farscale
