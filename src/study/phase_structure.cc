#include "study/phase_structure.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "base/terminal.h"
#include "factors/anomalies.h"
#include "factors/useful_time.h"
#include "factors/phase_factors.h"
#include "phases/phase_cut.h"
#include "phases/found_loop.h"
#include "phases/rank_groups.h"
#include "stats/sample_quantiles.h"
#include "study/study.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

// An iteration that takes this much longer or shorter than the median is worth a look.
constexpr double kOdd = 0.1;  // chosen

// The ideal time by phase profiles, in seconds and not clamped.
double SumOfProfiles(const std::vector<IterationProfile>& profiles) {
  double sum = 0;
  for (const IterationProfile& profile : profiles) sum += profile.largest_useful;
  return sum;
}

std::string Iterations(const std::vector<IterationProfile>& profiles, const CleanChoice& choice, std::size_t width) {
  std::vector<double> lengths;
  for (const IterationProfile& profile : profiles) lengths.push_back(profile.elapsed);
  const double by_profiles = SumOfProfiles(profiles);
  const double median = Median(std::move(lengths));
  const bool is_judged = !choice.iterations.empty();
  std::vector<std::vector<std::string>> table = {{"iteration", "begins at", "takes", "useful", "parallel eff.",
                                                  "load bal.", "serialization", "transfer", "ideal", "by profile",
                                                  "share", is_judged ? "disturbed" : "", ""}};
  const auto if_known = [](const IterationProfile& profile, const std::string& text) {
    return profile.ideal > 0 ? text : std::string("-");
  };
  for (std::size_t k = 0; k < profiles.size(); ++k) {
    const IterationProfile& profile = profiles[k];
    std::string why = choice.reasons[k];  // it stands out, else how its length differs from the others
    const double deviation = median > 0 ? profile.elapsed / median - 1 : 0;
    if (why.empty() && deviation > kOdd) why = FormatPercent(deviation) + " longer than most";
    if (why.empty() && deviation < -kOdd) why = FormatPercent(-deviation) + " shorter than most";
    table.push_back({std::to_string(k + 1), FormatSeconds(profile.begin), FormatSeconds(profile.elapsed),
                     FormatSeconds(profile.average_useful), FormatFactor(profile.ParallelEfficiency()),
                     FormatFactor(profile.LoadBalance()), if_known(profile, FormatFactor(profile.Serialization())),
                     if_known(profile, FormatFactor(profile.Transfer())),
                     if_known(profile, FormatSeconds(profile.ideal)), FormatSeconds(profile.largest_useful),
                     FormatPercent(by_profiles > 0 ? profile.largest_useful / by_profiles : 0),
                     is_judged ? FormatPercent(choice.iterations[k].Total()) : "", why});
  }
  return FormatTable(table, width);
}

// Serialization is the micro load balance of [Huck10]: from the profiles of the iterations alone, and as the replay has
// it.
std::string MicroLoadBalance(const PhaseFactors& factors) {
  const PhaseTotals& totals = factors.totals;
  if (!totals.estimated_ideal || !factors.values[Factor::kSerialization]) return "";
  const double serialization = *factors.values[Factor::kSerialization];
  const double by_profiles = *factors.values[Factor::kSerializationPhaseEstimate];
  const double communication = *factors.values[Factor::kCommunicationEfficiency];
  const auto more = [](double estimate, double exact) {
    const std::string text = fmt::format("{:+.1f} %", 100 * (estimate / exact - 1));
    return text == "-0.0 %" || text == "+0.0 %" ? std::string("0.0 %") : text;
  };
  std::string text =
      "\n" + FormatTable({{"micro load balance", "by profiles", "by replay", "difference"},
                          {"ideal time", FormatSeconds(*totals.estimated_ideal), FormatSeconds(totals.ideal_elapsed),
                           more(*totals.estimated_ideal, totals.ideal_elapsed)},
                          {"serialization", FormatFactor(by_profiles), FormatFactor(serialization),
                           more(by_profiles, serialization)},
                          {"transfer", FormatFactor(communication / by_profiles),
                           FormatFactor(communication / serialization), more(serialization, by_profiles)}});
  if (factors.diagnostics.count(anomaly::kPhaseEstimateClamped) > 0) {
    text +=
        fmt::format("The sum of the profiles, {}, cannot be the ideal time and was moved into its range, {} to {}.\n",
                    FormatSeconds(SumOfProfiles(factors.profiles)), FormatSeconds(totals.largest_useful),
                    FormatSeconds(totals.elapsed));
  }
  return text;
}

double UsefulSeconds(const Trace& trace, const PhaseCut& cut, std::size_t rank) {
  double useful = 0;
  for (const Interval& interval : cut.CountedTime(rank)) {
    useful += trace.Seconds(UsefulTicks(trace.timelines[rank], interval));
  }
  return useful;
}

// Ranks that do different work in the phase; nothing when all do the same.
std::string Groups(const Trace& trace, const PhaseCut& cut, Diagnostics& diagnostics, std::size_t width) {
  const std::vector<RankGroup> groups = FindGroups(trace, cut, diagnostics);
  if (groups.empty()) return "";
  double all = 0;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) all += UsefulSeconds(trace, cut, rank);
  std::vector<std::vector<std::string>> table = {{"group", "ranks", "of useful time", "load bal.", ""}};
  for (const RankGroup& group : groups) {
    double total = 0, largest = 0;
    for (const std::size_t rank : group.ranks) {
      const double useful = UsefulSeconds(trace, cut, rank);
      total += useful;
      largest = std::max(largest, useful);
    }
    const double average = total / static_cast<double>(group.ranks.size());
    table.push_back({group.name, FormatCount(group.ranks.size()), FormatPercent(all > 0 ? total / all : 0),
                     largest > 0 ? FormatFactor(LoadBalance(average, largest)) : "-",
                     "ranks " + FormatRanks(group.ranks)});
  }
  return "\nRanks do different work\n" + FormatTable(table, width);
}

// The effect of keeping the longest clean run.
std::string CleanRun(const PhaseFactors& all, const PhaseFactors& kept, const CleanChoice& choice, std::size_t width) {
  const auto first = std::find(choice.kept.begin(), choice.kept.end(), true) - choice.kept.begin();
  const std::size_t count = choice.Kept();
  const std::string which = count == 1
                                ? fmt::format("iteration {}", first + 1)
                                : fmt::format("iterations {} to {}", first + 1, first + static_cast<long>(count));
  std::vector<std::vector<std::string>> table = {{"clean cut", "all iterations", which}};
  for (const Factor factor :
       {Factor::kParallelEfficiency, Factor::kLoadBalance, Factor::kSerialization, Factor::kTransfer}) {
    const auto text = [&](const PhaseFactors& factors) {
      const std::optional<double>& value = factors.values[factor];
      return value ? FormatFactor(*value) : std::string("-");
    };
    table.push_back({NameInSentence(factor), text(all), text(kept)});
  }
  return "\n" + FormatTable(table, width);
}

double Share(Tick part, Tick all) { return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0; }

// More than this share of an iteration is more than the medians leave open. Chosen: as the smallest disturbance.
constexpr double kWork = 0.02;

CleanChoice ChooseLongest(const Trace& trace, const Matching& matching, PhaseCut cut) {
  cut.spec.clean = kLongestRun;
  return ChooseClean(trace, matching, cut, {});
}

Cleaning CleaningBy(const CleanChoice& choice) {
  Cleaning cleaning;
  cleaning.is_judged = !choice.iterations.empty() && !choice.too_many_differ;
  for (const std::string& reason : choice.reasons) cleaning.standing_out.push_back(!reason.empty());
  cleaning.takes_work = choice.RegularWorkLost() > kWork;
  return cleaning;
}

// The parts of an iteration, by the names that hold in every run of its shape.
std::string Parts(const Trace& trace, const Matching& matching, const PhaseSpec& spec, const PhaseCut& loop,
                  PhaseStructure& structure, std::size_t width) {
  const IterationShape& shape = *structure.shape;
  if (shape.parts.empty()) return "";
  Tick all = 0;
  for (const RankCut& rank : loop.ranks) {
    for (const Interval& iteration : rank.iterations) all += iteration.length();
  }
  double covered = 0;
  std::vector<std::vector<std::string>> table = {{"part", "of the loop", "in MPI", "calls", ""}};
  for (const IterationPart& part : shape.parts) {
    PhaseSpec of_part = spec;
    of_part.part = part.name;
    of_part.shape = structure.shape;
    const Landmark& landmark = shape.landmarks[part.landmark];
    const std::string where = part.is_behind ? "" : fmt::format("from {} to {}", landmark.before, landmark.after);
    try {
      const PhaseCut cut = CutPhase(trace, of_part);
      Tick length = 0, in_calls = 0;
      std::size_t calls = 0, occurrences = 0;
      for (std::size_t rank = 0; rank < trace.size(); ++rank) {
        for (const Interval& interval : cut.ranks[rank].iterations) {
          length += interval.length();
          in_calls += interval.length() - UsefulTicks(trace.timelines[rank], interval);
          calls += interval.end.call - interval.begin.call;
          ++occurrences;
        }
      }
      covered += Share(length, all);
      structure.parts.push_back(part.name);
      structure.cleaning[part.name] = CleaningBy(ChooseLongest(trace, matching, cut));
      table.push_back({part.name, FormatPercent(Share(length, all)), FormatPercent(Share(in_calls, length)),
                       fmt::format("{:.1f}", static_cast<double>(calls) /
                                                 static_cast<double>(std::max<std::size_t>(1, occurrences))),
                       where.empty() ? part.kind : fmt::format("computation {}", where)});
    } catch (const PhaseNotFound&) {
      table.push_back({part.name, "-", "-", "-", "not in this run"});
    }
  }
  // The time before the first part of the first iteration, of a last part that would end behind the loop, and of parts
  // that the run does not have.
  table.push_back({"rest", FormatPercent(std::max(0.0, 1 - covered)), "", "", ""});
  return "Parts of an iteration\n" + FormatTable(table, width) + "\n";
}

void Describe(const Trace& trace, const Matching& matching, const PhaseSpec& spec, PhaseStructure& structure,
              std::size_t width) {
  const PhaseCut cut = CutPhase(trace, spec);
  structure.is_found = cut.diagnostics.count(anomaly::kNoLoopFound) == 0;
  if (!structure.is_found) {
    structure.text += "The MPI calls show no loop of three iterations or more; analyse the whole run or a region.\n";
    return;
  }
  if (spec.kind != PhaseSpec::Kind::kFoundLoop) {
    structure.text += fmt::format("Iterations of {}\n", Describe(spec));
  } else if (const auto loop = FindLoopOfRun(trace, spec.shape ? &spec.shape->calls : nullptr); loop) {
    structure.text += fmt::format("The MPI calls show {} iterations, {} alike, {} of the run\n", loop->iterations(),
                                  FormatPercent(loop->similarity), FormatPercent(loop->coverage));
  }
  structure.shape = spec.shape;
  if (!structure.shape) structure.shape = std::make_shared<const IterationShape>(*ShapeOfPhase(trace, spec));
  structure.text += Parts(trace, matching, spec, cut, structure, width);
  const PhaseFactors factors = MeasurePhase(trace, matching, cut, {});
  structure.diagnostics.Merge(matching.diagnostics);
  structure.diagnostics.Merge(factors.diagnostics);
  const CleanChoice choice = ChooseLongest(trace, matching, cut);
  structure.iterations = choice.reasons.size();
  structure.useful = factors.totals.total_useful;
  structure.cleaning[""] = CleaningBy(choice);
  structure.text += Iterations(factors.profiles, choice, width) + MicroLoadBalance(factors);
  if (!choice.KeepsAll()) {
    const PhaseFactors kept = MeasurePhase(trace, matching, KeepIterations(trace, cut, choice.kept), {});
    structure.text += CleanRun(factors, kept, choice, width);
  }
  if (choice.too_many_differ) {
    structure.text += "More than a third of the iterations differ from the others: this is how the program behaves.\n";
  }
  structure.text += Groups(trace, cut, structure.diagnostics, width);
}

// Why others cannot be read is said where they are measured.
std::optional<Trace> ReadLargest(const std::vector<RunSpec>& runs) {
  for (const std::size_t i : LargestFirst(runs)) {
    try {
      return ReadTrace(runs[i].trace, {false, {}, runs[i].application, runs[i].accepted});
    } catch (const Error&) {
      continue;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<PhaseSpec> LoopsOfRuns(const std::vector<RunSpec>& runs) {
  const std::optional<Trace> trace = ReadLargest(runs);
  return trace ? LoopsOf(*trace) : std::vector<PhaseSpec>();
}

std::vector<PhaseSpec> PhasesNamed(const std::vector<std::string>& texts, const std::vector<RunSpec>& runs) {
  std::optional<Trace> trace;
  if (std::ranges::any_of(texts, IsAutomatic)) trace = ReadLargest(runs);
  std::vector<PhaseSpec> phases;
  for (const std::string& text : texts) {
    phases.push_back(PhaseSpec::Region(text));
    if (trace && IsAutomatic(text)) phases.back() = WithLoopOf(*trace, phases.back());
  }
  return phases;
}

PhaseStructure DescribePhase(const Trace& trace, const Matching& matching, const PhaseSpec& spec, std::size_t width) {
  PhaseStructure structure;
  structure.ranks = trace.size();
  structure.text = fmt::format("{}: {} ranks, {}\n", trace.path, FormatCount(trace.size()),
                               FormatSeconds(trace.Seconds(trace.end() - trace.begin())));
  // Regions of the program that all ranks enter equally often, the loops that it marks itself.
  std::vector<std::string> loops;
  for (const RegionSummary& region : SummarizeRegions(trace)) {
    if (!region.IsLoop(trace) || loops.size() == 5) continue;
    loops.push_back(fmt::format("{} ({} times, {} of the run)", region.name, region.most, FormatPercent(region.share)));
  }
  const std::string marked = "Regions that repeat on every rank: " + Join(loops, ", ");
  if (!loops.empty()) structure.text += Join(WrapText(marked, width, "  "), "\n") + "\n";
  try {
    Describe(trace, matching, spec, structure, width);
  } catch (const PhaseNotFound& error) {
    if (!spec.shape) throw;
    structure.text += fmt::format("{}\n", error.what());  // other runs have it
  }
  return structure;
}

}  // namespace farscale
