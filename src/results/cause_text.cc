#include "results/cause_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "imbalance/waits/losses.h"

namespace farscale {
namespace {

constexpr std::size_t kNamed = 4;  // ranks in a sentence

std::string NumberOf(std::size_t rank, const LossRecord& losses) {
  if (rank >= losses.locations.size()) return std::to_string(rank);
  const Location& location = losses.locations[rank];
  return fmt::format("{}, thread {}", location.rank, location.thread);
}

std::string NameOf(std::size_t rank, const LossRecord& losses) { return "rank " + NumberOf(rank, losses); }

std::string PlaceText(const Cause& cause) {
  if (cause.path.empty() && cause.is_device_call) return "calls to devices";
  return cause.path.empty() ? (cause.in_everything ? "everything" : "all computation") : cause.path;
}

std::string LongerTime(const Cause& cause, bool is_one) {
  if (!cause.level)
    return fmt::format("{} time in {} that others do not", is_one ? "spends" : "spend", PlaceText(cause));
  constexpr double kManyTimes = 2;  // chosen: above it ratios read better
  if (*cause.level >= kManyTimes) {
    return fmt::format("{} {} as long in {} as the others", is_one ? "spends" : "spend", FormatRatio(*cause.level),
                       PlaceText(cause));
  }
  return fmt::format("{} {} longer in {}", is_one ? "takes" : "take", FormatPercent(*cause.level - 1),
                     PlaceText(cause));
}

// Columns of a table of iterations are iterations; those of others are visits or steps.
bool HasIterations(const Cause& cause, const LossRecord& losses) {
  return losses.iterations > 1 && cause.columns == losses.iterations;
}

std::string TimesOf(const Cause& cause, const LossRecord& losses) {
  return fmt::format("{} of {} {}", FormatCount(cause.affected), FormatCount(cause.columns),
                     HasIterations(cause, losses) ? "iterations" : "visits");
}

std::string PreciseSeconds(double seconds) { return fmt::format("{:.6f} s", seconds); }

// "late sender", "wait at N×N"
std::string NameOf(const WaitKindName& kind) {
  return ToLower(std::string(kind.name.substr(0, 1))) + std::string(kind.name.substr(1));
}

std::string_view NameOf(CauseClass reason) {
  switch (reason) {
    case CauseClass::kUnknown: break;
    case CauseClass::kMoreWork: return "more work";
    case CauseClass::kMoreCalls: return "more calls";
    case CauseClass::kLowerIpc: return "lower IPC";
    case CauseClass::kLowerFrequency: return "lower frequency";
    case CauseClass::kInterruptions: return "interruptions";
    case CauseClass::kDeviceWait: return "waiting for the device";
  }
  return "unknown";
}

constexpr const char* kRecordCounters =
    "Record instructions, cycles and CPU time to see whether there is more work or the same work is slower.";

// "row 3 of the process grid", "plane 3 in dimension 0 of the process grid"
std::string NameOf(const GridLine& line) {
  if (line.dimensions != 2)
    return fmt::format("plane {} in dimension {} of the process grid", line.coordinate, line.dimension);
  return fmt::format("{} {} of the process grid", line.dimension == 0 ? "row" : "column", line.coordinate);
}

std::string RemedyOfDevices(const Cause& cause) {
  switch (cause.place) {
    case CausePlace::kOnce: return "";
    case CausePlace::kStartUp:
      return "It is over once devices are ready: leave it out of measurements; longer runs lose less.";
    case CausePlace::kNode:
    case CausePlace::kSocket:
      return "Compare the clocks of these devices with those of others, and which processes use which device.";
    default: break;
  }
  return "This is time for the device, not computation of the rank: give the device less work, check that ranks do not "
         "share one by accident, copy less, or let the rank compute while the device does.";
}

// The remedy for ranks that are slow all the time.
std::string RemedyOfRanks(const Cause& cause) {
  switch (cause.reason()) {
    case CauseClass::kMoreWork: return "Give them less work: weigh the parts of the decomposition by measured times.";
    case CauseClass::kMoreCalls: return "See why it is called more often there; spread these calls over the ranks.";
    case CauseClass::kLowerIpc:
      return "The same instructions take more cycles there: see where its data lie (caches, NUMA, placement).";
    case CauseClass::kLowerFrequency: return "Its cores run slower: leave them out, or have clock and cooling checked.";
    case CauseClass::kInterruptions:
      return "Something else runs on its cores: pin processes, leave a core free, or leave these cores out.";
    case CauseClass::kDeviceWait: return RemedyOfDevices(cause);
    case CauseClass::kUnknown: break;
  }
  return kRecordCounters;
}

// The remedy for all ranks of a node or socket. Without counters that is one explanation, and the less likely one.
std::string RemedyOfHardware(const Cause& cause, const char* name) {
  if (cause.reason() == CauseClass::kMoreWork || cause.reason() == CauseClass::kMoreCalls) return RemedyOfRanks(cause);
  if (cause.reason() == CauseClass::kUnknown) {
    return fmt::format(
        "Their part of the domain probably holds more work: weigh the parts of the decomposition by measured times. If "
        "it does not, the {0} is slow: instructions and cycles in the trace would tell, and so would a run with these "
        "ranks on another {0}.",
        name);
  }
  return fmt::format("Leave this {} out, or have its clock, cooling and memory checked.", name);
}

// Ranks side by side in the process grid.
std::string RemedyOfPlane(const Cause& cause) {
  if (cause.reason() == CauseClass::kMoreWork)
    return "Their part of the domain holds more work: move the boundaries of the decomposition in this direction.";
  if (cause.reason() != CauseClass::kUnknown) return RemedyOfRanks(cause);
  std::string text =
      "Their part of the domain probably holds more work: move the boundaries of the decomposition in this direction.";
  if (!cause.node.empty()) {
    text += fmt::format(" They also fill {} {}; instructions and cycles in the trace would show whether that is slow.",
                        cause.socket ? "a socket of node" : "node", cause.node);
  }
  return text;
}

// Work that other ranks have none of.
std::string RemedyOfAlone(const Cause& cause) {
  if (cause.group.empty()) return "Spread it over the ranks, or do it while the others compute.";
  return fmt::format("This is the work of group {}: give the group more ranks.", cause.group);
}

}  // namespace

std::string NameRanks(const Cause& cause, const LossRecord& losses) {
  if (cause.rank_count == 1) return NameOf(cause.ranks.front(), losses);
  std::vector<std::string> numbers;
  for (const std::size_t rank : cause.ranks) {
    if (numbers.size() < kNamed) numbers.push_back(NumberOf(rank, losses));
  }
  const std::string list = Join(numbers, losses.locations.empty() ? ", " : "; ");
  const std::string_view who = losses.locations.empty() ? "ranks" : "threads";
  if (cause.rank_count <= kNamed) return fmt::format("{} {}", who, list);
  return fmt::format("{} {} ({}, …)", FormatCount(cause.rank_count), who, list);
}

std::string DescribePlace(const Cause& cause, const LossRecord& losses) {
  const std::string ranks = cause.ranks.empty() ? "ranks" : NameRanks(cause, losses);
  const bool is_one = cause.rank_count == 1;
  const std::string longer = LongerTime(cause, is_one);
  const bool is_unknown = cause.reason() == CauseClass::kUnknown && !cause.is_device_call;
  switch (cause.place) {
    case CausePlace::kRank:
    case CausePlace::kRanks: break;
    case CausePlace::kNode:
      if (is_unknown) return fmt::format("{}, all of node {}, {}", ranks, cause.node, longer);
      return fmt::format("all {} ranks of node {} take {} longer in {}", FormatCount(cause.rank_count), cause.node,
                         FormatPercent(cause.level.value_or(1) - 1), PlaceText(cause));
    case CausePlace::kSocket:
      return fmt::format("all {} ranks on socket {} of node {} take {} longer in {}", FormatCount(cause.rank_count),
                         cause.socket.value_or(0), cause.node, FormatPercent(cause.level.value_or(1) - 1),
                         PlaceText(cause));
    case CausePlace::kPlane:
      return fmt::format("all {} ranks in {} take {} longer in {}", FormatCount(cause.rank_count),
                         NameOf(cause.line.value_or(GridLine{})), FormatPercent(cause.level.value_or(1) - 1),
                         PlaceText(cause));
    case CausePlace::kAlone:
      return fmt::format("{} alone {} time in {}", ranks, is_one ? "spends" : "spend", PlaceText(cause));
    case CausePlace::kByDegrees:
      return fmt::format("ranks differ in {}: the slowest ({}) takes {} longer than the average", PlaceText(cause),
                         NameOf(cause.ranks.front(), losses), FormatPercent(cause.level.value_or(1) - 1));
    case CausePlace::kFromTime:
      return fmt::format("from {} on {} {}", PreciseSeconds(cause.from.value_or(0)), ranks, longer);
    case CausePlace::kForAWhile:
      return fmt::format("from {} to {} {} {}", PreciseSeconds(cause.from.value_or(0)),
                         PreciseSeconds(cause.until.value_or(0)), ranks, longer);
    case CausePlace::kNoisyRank: return fmt::format("{} {} in {}", ranks, longer, TimesOf(cause, losses));
    case CausePlace::kOnce:
      return fmt::format("{} {}, once or twice, first at {}", ranks, longer, PreciseSeconds(cause.from.value_or(0)));
    case CausePlace::kPeriodic:
      return fmt::format("{} {} in every {} {}", ranks, longer, FormatOrdinal(cause.every),
                         HasIterations(cause, losses) ? "iteration"
                         : cause.path.empty()         ? "step"
                                                      : "visit");
    case CausePlace::kStartUp:
      if (LiesOutsidePhase(cause.path))
        return fmt::format("{} {} later than the first rank", ranks, is_one ? "begins" : "begin");
      return fmt::format("{} {} in the first iterations", ranks, longer);
    case CausePlace::kMovingHotSpot:
      if (cause.is_mpi) return fmt::format("now this rank, now that one is held up in {}: {}", PlaceText(cause), ranks);
      return fmt::format("a hot spot in {} moves over {}: whoever has it {}", PlaceText(cause), ranks,
                         cause.level ? fmt::format("takes {} longer", FormatPercent(*cause.level - 1))
                                     : std::string("spends time that others do not"));
  }
  return fmt::format("{} {}", ranks, longer);
}

std::string DescribeReasons(const Cause& cause) {
  const bool is_known =
      std::ranges::any_of(cause.parts, [](const CausePart& part) { return part.first != CauseClass::kUnknown; });
  if (!is_known) return cause.is_mpi ? "the call itself" : "unknown, no counter shows it";
  std::vector<std::string> texts;
  for (const auto& [reason, share] : cause.parts) {
    const bool is_all = share > 0.995;
    texts.push_back(is_all ? std::string(NameOf(reason)) : fmt::format("{} ({:.0f} %)", NameOf(reason), 100 * share));
  }
  return Join(texts, ", ");
}

std::string RemedyOf(const Cause& cause, const LossRecord& losses) {
  const bool is_disturbed =
      cause.reason() == CauseClass::kInterruptions || cause.reason() == CauseClass::kLowerFrequency;
  if (cause.is_mpi) {
    return cause.place == CausePlace::kOnce ? ""
                                            : "The call itself ends late, not because of a late partner. Look at noise "
                                              "of the system, the network, rank "
                                              "placement and the MPI library, not at the program.";
  }
  if (cause.is_device_call) return RemedyOfDevices(cause);
  switch (cause.place) {
    case CausePlace::kRank:
    case CausePlace::kRanks: return RemedyOfRanks(cause);
    case CausePlace::kNode: return RemedyOfHardware(cause, "node");
    case CausePlace::kSocket: return RemedyOfHardware(cause, "socket");
    case CausePlace::kPlane: return RemedyOfPlane(cause);
    case CausePlace::kAlone: return RemedyOfAlone(cause);
    case CausePlace::kByDegrees:
      if (cause.reason() == CauseClass::kMoreWork || cause.reason() == CauseClass::kUnknown) {
        const bool is_unknown = cause.reason() == CauseClass::kUnknown, has_groups = losses.groups.size() > 1;
        const char* weigh = has_groups ? (is_unknown ? "within each group, weigh" : "Within each group, weigh")
                                       : (is_unknown ? "weigh" : "Weigh");
        return fmt::format(
            "{}{} the parts of the decomposition by measured times, or make more and smaller parts than ranks.",
            is_unknown ? "Probably more work: " : "", weigh);
      }
      return RemedyOfRanks(cause);
    case CausePlace::kFromTime:
    case CausePlace::kForAWhile:
      if (cause.reason() == CauseClass::kMoreWork || cause.reason() == CauseClass::kMoreCalls)
        return "Its load changes while the program runs: repartition by measured loads.";
      if (is_disturbed) return "See what changed on its cores at that time.";
      return cause.reason() == CauseClass::kUnknown ? kRecordCounters : RemedyOfRanks(cause);
    case CausePlace::kNoisyRank:
      if (cause.reason() == CauseClass::kMoreWork || cause.reason() == CauseClass::kMoreCalls)
        return "Synchronise less often, so that delays at different times even out.";
      return "Something disturbs these ranks: pin processes, and leave a core free for the system.";
    case CausePlace::kOnce: return "";
    case CausePlace::kPeriodic:
      if (is_disturbed || cause.reason() == CauseClass::kUnknown)
        return "Look for what happens at this interval: output, checkpoints, services of the system.";
      return "Spread over the ranks what they do at this interval, or do it while the others compute.";
    case CausePlace::kStartUp:
      return "It is over after the start: leave it out of measurements; longer runs lose less.";
    case CausePlace::kMovingHotSpot:
      if (!cause.level) return RemedyOfAlone(cause);
      return "Hand out work as tasks, repartition as often as it moves, or synchronise less often.";
  }
  return "";
}

std::string DescribeGain(double seconds, const LossRecord& losses) {
  return fmt::format("{} ({})", FormatSeconds(seconds), FormatPercent(losses.window > 0 ? seconds / losses.window : 0));
}

std::string DescribeGainOf(const Cause& cause, const LossRecord& losses) {
  if (cause.together.empty()) return DescribeGain(cause.gain, losses);
  std::vector<std::string> others;
  for (const std::size_t other : cause.together) others.push_back(std::to_string(other + 1));
  return fmt::format("{} together with {} {}", DescribeGain(cause.joint_gain, losses),
                     others.size() == 1 ? "repair" : "repairs", Join(others, ", "));
}

std::string DescribeNext(const Cause& cause, const LossRecord& losses) {
  if (!cause.next || *cause.next >= losses.causes.size()) return "";
  return fmt::format("then {}: {}", DescribeGain(cause.next_gain, losses),
                     DescribePlace(losses.causes[*cause.next], losses));
}

std::string DescribeWorst(const Cause& cause, const LossRecord& losses) {
  if (!cause.worst) return "";
  const WaitInstance& worst = *cause.worst;
  const bool is_one = worst.waiting_count == 1;
  const std::string who =
      is_one ? NameOf(worst.waiting.front(), losses)
             : fmt::format("{} {}", FormatCount(worst.waiting_count), losses.locations.empty() ? "ranks" : "threads");
  const WaitKindName& kind = *std::ranges::find(WaitKindNames(), worst.kind, &WaitKindName::kind);
  return fmt::format("{} to {}: {} {} ({}) until {} enters {}", PreciseSeconds(worst.begin), PreciseSeconds(worst.end),
                     who, is_one ? "waits" : "wait", NameOf(kind), NameOf(worst.rank, losses), worst.call);
}

namespace {

constexpr const char* kRepartition =
    "Repartition {} by measured loads, or make more parts than ranks and migrate them: the loads move.";

std::string AdviceFor(const Remedy& remedy) {
  switch (remedy.kind) {
    case Remedy::Kind::kNone: break;
    case Remedy::Kind::kRelieveFew:
      return "Take work away from these few ranks, by another decomposition or by weights from measured times: the "
             "most loaded one decides how long all take.";
    case Remedy::Kind::kUseFewerRanks:
      return "Little is to be gained by giving these few ranks more work; use fewer ranks, or let them do what keeps "
             "the others busy, such as input and output.";
    case Remedy::Kind::kMoveRanksBetweenGroups:
      return "Check whether the two groups do different work or have parts of different size. If they do different "
             "work, move ranks from the group that waits to the other one, until both take equally long.";
    case Remedy::Kind::kWeighParts:
      return "Ranks differ by degrees: weigh the parts of the decomposition by measured times, or make more and "
             "smaller parts than ranks.";
    case Remedy::Kind::kDecompose: return "Decompose differently, or with weights from measured times.";
    case Remedy::Kind::kRepartition:
    case Remedy::Kind::kRepartitionAndRegroup: {
      const std::string every = remedy.every > 0 ? fmt::format("every {} iterations or more often", remedy.every)
                                                 : std::string("every so many iterations");
      const std::string regroup = " Where the groups do different work, let the number of ranks in each follow.";
      return fmt::format(fmt::runtime(kRepartition), every) +
             (remedy.kind == Remedy::Kind::kRepartitionAndRegroup ? regroup : "");
    }
    case Remedy::Kind::kBalanceWithinIteration:
      return "Balance within the iteration: lend cores to ranks that are late, or hand out work as tasks. Fewer "
             "synchronisations help, too, since the delays of different ranks then even out.";
    case Remedy::Kind::kMakeUpLater:
      return "Synchronise less often, so that what is missing at one time is made up at another.";
    case Remedy::Kind::kSynchronizeLess:
      return "Synchronise less often, so that delays of different ranks even out, or hide waits behind computation. "
             "Where instructions are equal, look for what disturbs the ranks.";
    case Remedy::Kind::kBreakChain:
      return "Other work for the ranks helps little, since they wait in turn: break the chain of dependencies, by "
             "smaller pieces that go on earlier, another order, or work that does not depend on it in between.";
    case Remedy::Kind::kBalanceSteps:
      return "All ranks have about as much to do in an iteration, but others are slow at other times within it: "
             "balance by itself what lies between two synchronisations (the parts of the iteration, --phase "
             "auto:NAME, show where), or synchronise less often, so that delays of different ranks even out.";
    case Remedy::Kind::kFindWhenRanksSlow:
      return "All ranks have about as much to do, but others are slow at other times: take the region of an iteration "
             "as phase (--phase) to see for how long. Where slow ranks stay slow for a while, repartitioning by "
             "measured loads helps; where they change at once, fewer synchronisations do.";
    case Remedy::Kind::kRelieveDevices:
      return "This is time for devices, not computation of the ranks: divide the work of devices more evenly, check "
             "that "
             "ranks do not share one by accident, copy less, or let ranks compute while devices do.";
    case Remedy::Kind::kSeeCauses: return "See the repairs above.";
  }
  return "";
}

}  // namespace

std::string TextOf(const Remedy& remedy) {
  const std::string advice = AdviceFor(remedy);
  switch (remedy.doubt) {
    case Remedy::Doubt::kNone: break;
    case Remedy::Doubt::kFewIterations:
      return advice + " That holds if the same ranks are slow all the time, which these iterations do not show.";
    case Remedy::Doubt::kOneIteration:
      return advice +
             " One iteration does not show whether it is the loads that move from rank to rank instead: take the "
             "region of an iteration as phase (--phase).";
    case Remedy::Doubt::kTwoRanks:
      return advice +
             " Two ranks do not show whether it is the loads that move between them within an iteration instead.";
  }
  return advice;
}

}  // namespace farscale
