#include "replay/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "phases/phase_cut.h"
#include "replay/clock_repair.h"
#include "replay/replay.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

// Chosen: where times differ more from the fit, senders wait for other reasons than the size of a message.
constexpr double kLargestSpread = 0.5;
constexpr double kMicrosecond = 1e-6, kMegabyte = 1e6;

// To four digits in the unit of network files: more are noise, and what is written is what was replayed.
double Rounded(double value, double unit) {
  double rounded = 0;
  ParseNumber(fmt::format("{:.3e}", value / unit), rounded);
  return rounded * unit;
}

// Knowledge of one kind of link on the way to its numbers.
struct LinkData {
  LinkData(const char* kind, LinkObservations observed) : name(kind), observations(std::move(observed)) {
    if (!observations.transfers.empty()) fit = FitLink(observations.transfers);
    usable = observations.transfers.size() >= kFewestMessages;  // those with impossible times are gone now
    const std::vector<Tick>& posts = observations.posts;
    if (posts.size() >= kFewestMessages) overhead = Quantile({posts.begin(), posts.end()}, 0.25);
  }

  const char* name;  // "within nodes"
  LinkObservations observations;
  LinkFit fit;
  std::optional<double> overhead;  // ticks
  bool usable = false;
};

// The limit that contradicts the fewest sends whose receiver came late: those below should not have waited for it,
// those from it on should. That of the rules stays unless at least kFewestMessages contradict it, and when no limit
// explains nine of ten.
std::optional<std::uint64_t> FindEagerLimit(const LinkObservations& observations, std::uint64_t standard) {
  std::uint64_t sends = 0, contradictions = 0, standard_contradictions = 0;
  for (const auto& [bytes, counts] : observations.late) {
    const auto [gone, waited] = counts;
    sends += gone + waited;
    contradictions += gone;  // contradicts a limit of zero
    standard_contradictions += bytes >= standard ? gone : waited;
  }
  std::uint64_t best = standard, fewest = standard_contradictions;
  const auto consider = [&](std::uint64_t limit) {
    if (contradictions >= fewest) return;
    best = limit;
    fewest = contradictions;
  };
  for (const auto& [bytes, counts] : observations.late) {
    consider(bytes);
    contradictions = contradictions + counts.second - counts.first;
  }
  if (!observations.late.empty()) consider(observations.late.rbegin()->first + 1);
  if (best == standard || standard_contradictions < kFewestMessages || fewest > sends / 10) return std::nullopt;
  return best;
}

// Messages that do not show a bandwidth are taken to have that of the other kind of link, unless they were faster.
bool TakesBandwidthOf(const LinkData& data, const LinkData& other) {
  return !data.fit.has_bandwidth && other.usable && other.fit.has_bandwidth &&
         LatencyFor(data.observations.transfers, other.fit.line.ticks_per_byte) > 0;
}

// The bandwidth at which a message of all its time would have been carried at, or what the steepest line says.
double LeastBandwidth(const Trace& trace, const LinkFit& fit, const Link& link) {
  const double most = fit.high.ticks_per_byte;
  const double least = most > 0 ? Rounded(trace.ticks_per_second / most, kMegabyte) : 0;
  return std::min(least, link.bandwidth);
}

// A link whose numbers are those of the other one: what its few messages say at least.
Link TakenLink(const Trace& trace, const LinkData& data, Link link) {
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  const bool any = !data.observations.transfers.empty();
  const double most = any ? Rounded(trace.Seconds(1) * data.fit.high.latency, kMicrosecond) : kUnbounded;
  link.latency_at_most = most;
  link.latency = std::min(link.latency, most);
  link.overhead_at_most = most;
  link.overhead = std::min(link.overhead, most);
  link.bandwidth_at_least = any ? LeastBandwidth(trace, data.fit, link) : 0;
  return link;
}

// `other`: where the bandwidth comes from when these messages do not show it.
LinkCalibration Conclude(const Trace& trace, const LinkData& data, const LinkData& other, const ReplayRules& rules) {
  LinkCalibration result;
  const std::vector<TransferTime>& transfers = data.observations.transfers;
  const auto by_size = [](const TransferTime& a, const TransferTime& b) { return a.bytes < b.bytes; };
  const auto [smallest, largest] = std::minmax_element(transfers.begin(), transfers.end(), by_size);
  result.messages = transfers.size();
  result.all = data.observations.messages;
  result.smallest = smallest->bytes;
  result.largest = largest->bytes;
  result.tick = trace.Seconds(1);
  result.has_bandwidth = data.fit.has_bandwidth;
  auto [latency, per_byte] = data.fit.line;
  if (TakesBandwidthOf(data, other)) {
    per_byte = other.fit.line.ticks_per_byte;
    latency = LatencyFor(transfers, per_byte);
  }
  Link& link = result.link;
  // Latency and overhead share the time that a message without bytes takes. What is unknown is bounded; where calls
  // that only post take longer than whole messages, that time is halved between the two.
  const auto seconds = [&](double ticks) { return Rounded(trace.Seconds(1) * ticks, kMicrosecond); };
  const double most = std::max(latency, data.fit.high.latency);
  const bool fits = data.overhead.value_or(0) < latency;
  const double overhead = fits ? data.overhead.value_or(0) : latency / 2;
  link.latency = seconds(latency - overhead);
  link.overhead = seconds(overhead);
  if (!fits || !IsKnownWithin(data.fit.low.latency, data.fit.high.latency)) {
    link.latency_at_most = seconds(fits ? most - overhead : most);
  }
  if (!fits || !data.overhead) link.overhead_at_most = seconds(most);
  if (per_byte > 0) link.bandwidth = Rounded(trace.ticks_per_second / per_byte, kMegabyte);
  if (!IsKnownWithin(data.fit.low.ticks_per_byte, data.fit.high.ticks_per_byte)) {
    link.bandwidth_at_least = LeastBandwidth(trace, data.fit, link);
  }
  // Where times agree with nothing, senders wait for other reasons than the size of a message.
  const bool is_telling = data.fit.relative_spread <= kLargestSpread;
  const auto limit = is_telling ? FindEagerLimit(data.observations, rules.Limit()) : std::nullopt;
  result.found_eager_limit = limit.has_value();
  link.eager_limit = limit.value_or(rules.Limit());
  // Eager messages that could have been there when their receive was posted may have taken their whole time only then.
  // A message says something of it if its receive was posted twice its time after it was sent, clocks set apart, and
  // waited for at once: on which side of half its time the receiver was free.
  for (const LatePost& message : data.observations.late_posts) {
    if (!is_telling || message.bytes >= link.eager_limit) continue;
    const double bytes = static_cast<double>(message.bytes);
    const double time = trace.ticks_per_second * (link.latency + link.TransferSeconds(bytes));
    if (static_cast<double>(message.late) < 2 * time + 2 * data.fit.clock_difference) continue;
    if (static_cast<double>(message.entered) > time / 2 || time < 2) continue;
    ++result.late_posts;
    result.late_starts += static_cast<double>(message.left) > time / 2;
  }
  link.starts_at_receive = result.late_posts >= kFewestMessages && 10 * result.late_starts >= 9 * result.late_posts;
  result.spread = trace.Seconds(1) * data.fit.spread;
  result.relative_spread = data.fit.relative_spread;
  result.clock_difference = trace.Seconds(1) * data.fit.clock_difference;
  return result;
}

void NoteDetails(const LinkCalibration& link, const LinkData& data, const LinkData& other,
                 std::vector<std::string>& notes) {
  if (!link.has_bandwidth) {
    notes.push_back(
        fmt::format("messages {} do not show a bandwidth, as their sizes differ too little or their times too "
                    "much; {}",
                    data.name,
                    TakesBandwidthOf(data, other)      ? fmt::format("that {} is taken", other.name)
                    : data.fit.line.ticks_per_byte > 0 ? "most of their time is taken to be that of their bytes"
                                                       : "none is assumed, so larger ones take no longer"));
  } else if (data.fit.shares_links) {
    notes.push_back(
        fmt::format("too few messages {} have the links of their nodes to themselves; the bandwidth is "
                    "what messages get beside others",
                    data.name));
  }
  if (!link.link.IsKnown()) notes.push_back(fmt::format("not known {}: {}", data.name, DescribeUnknown(link.link)));
  if (!data.overhead) {
    notes.push_back(fmt::format("too few calls only post a message {}; calls are taken to cost nothing", data.name));
  }
  if (link.found_eager_limit) {
    const std::uint64_t limit = link.link.eager_limit;
    const bool any_waits = data.observations.late.rbegin()->first >= limit;
    notes.push_back(
        any_waits ? fmt::format("sends {} wait for their receiver from {} B on, as seen", data.name, FormatCount(limit))
                  : fmt::format("no send {} waits for its receiver, up to {} B; larger ones are taken to wait",
                                data.name, FormatCount(limit - 1)));
  }
  if (link.link.starts_at_receive) {
    notes.push_back(
        fmt::format("messages {} move only once their receive is posted, as {} of {} did that were sent "
                    "long before",
                    data.name, FormatCount(link.late_starts), FormatCount(link.late_posts)));
  }
  if (link.clock_difference > 0) {
    notes.push_back(fmt::format("clocks of ranks differ by up to {}, by messages {} in both directions; taken out",
                                FormatSeconds(link.clock_difference), data.name));
  }
}

// From leaving MPI_Init to entering MPI_Finalize, where they are recorded: what those cost is no matter of the network.
PhaseCut CutBetweenInitAndFinalize(const Trace& trace, const Matching& matching) {
  PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    if (!cut.ranks[rank].present) continue;
    const RankTimeline& timeline = trace.timelines[rank];
    const RankMatching& of_rank = matching.ranks[rank];
    Interval& window = cut.ranks[rank].window;
    const auto events_before = [&](std::size_t call) {
      std::uint32_t event = 0;
      while (event < timeline.region_events() && timeline.region_event(event).call <= call) ++event;
      return event;
    };
    if (of_rank.init != kNoCollective) {
      const auto next = static_cast<std::uint32_t>(of_rank.init_call + 1);
      window.begin = {timeline.leave(of_rank.init_call), next, events_before(of_rank.init_call)};
    }
    if (of_rank.finalize != kNoCollective) {
      const auto call = static_cast<std::uint32_t>(of_rank.finalize_call);
      window.end = {timeline.enter(call), call, events_before(call)};
    }
    cut.ranks[rank].iterations = {window};
  }
  return cut;
}

std::string Describe(const LinkCalibration& link) {
  return fmt::format("{} of {} messages, {} to {}, median distance from the fit {} ({})", FormatCount(link.messages),
                     FormatCount(link.all), FormatBytes(link.smallest), FormatBytes(link.largest),
                     FormatSeconds(link.spread), FormatPercent(link.relative_spread));
}

void FillNetwork(const Trace& trace, const LinkData& local, const LinkData& remote, Calibration& calibration) {
  Network& network = calibration.network;
  network.id = "calibrated";
  network.name = "Calibrated network" + (trace.program.empty() ? "" : ", " + trace.program);
  network.local = calibration.local ? calibration.local->link : TakenLink(trace, local, calibration.remote->link);
  network.remote = calibration.remote ? calibration.remote->link : TakenLink(trace, remote, calibration.local->link);
  network.collectives = StandardCollectives();
  network.source = fmt::format(
      "calibrated from {}, {} ranks on {} node{}; between nodes: {}; within nodes: {}; collectives: assumed, trees",
      trace.path, trace.size(), trace.nodes.size(), trace.nodes.size() == 1 ? "" : "s",
      calibration.remote ? Describe(*calibration.remote) : "as within",
      calibration.local ? Describe(*calibration.local) : "as between");
}

}  // namespace

Calibration Calibrate(const Trace& trace, const Matching& matching, const ReplayRules& rules) {
  RequireClocks(trace, matching);
  auto [within, between] = Observe(trace, matching, rules);
  const LinkData local("within nodes", std::move(within)), remote("between nodes", std::move(between));
  if (!local.usable && !remote.usable) {
    throw Error(ErrorKind::kNotEnoughData, trace.path,
                fmt::format("not enough data to calibrate a network: of {} messages {} can be used, at least {} are "
                            "needed",
                            FormatCount(local.observations.messages + remote.observations.messages),
                            FormatCount(local.observations.transfers.size() + remote.observations.transfers.size()),
                            kFewestMessages),
                "a message counts when its receiver waits for it alone before it is sent");
  }
  Calibration calibration;
  for (const bool is_local : {false, true}) {
    const LinkData& data = is_local ? local : remote;
    const LinkData& other = is_local ? remote : local;
    if (!data.usable) {
      const std::uint64_t all = data.observations.messages;
      const std::string taken = fmt::format("; the numbers {} are taken for both", other.name);
      calibration.notes.push_back(
          all == 0
              ? fmt::format("there are no messages {}{}", data.name, taken)
              : fmt::format("not enough data {}: {} of {} messages can be used, at least {} are needed{}", data.name,
                            FormatCount(data.observations.transfers.size()), FormatCount(all), kFewestMessages, taken));
      continue;
    }
    const LinkCalibration link = Conclude(trace, data, other, rules);
    NoteDetails(link, data, other, calibration.notes);
    (is_local ? calibration.local : calibration.remote) = link;
  }
  FillNetwork(trace, local, remote, calibration);
  const PhaseCut cut = CutBetweenInitAndFinalize(trace, matching);
  const ReplayResult replay = Replay(trace, matching, cut, {rules, false, &calibration.network});
  calibration.measured_seconds = trace.Seconds(cut.end() - cut.begin());
  calibration.replayed_seconds = trace.Seconds(replay.Duration());
  calibration.diagnostics.Merge(replay.diagnostics);
  if (replay.unknown_waits.any()) {
    calibration.notes.push_back(
        fmt::format("the replayed time lacks what {} calls waited of which the trace does not "
                    "say for whom, such as {}",
                    FormatCount(replay.unknown_waits.calls), replay.unknown_waits.example));
  }
  return calibration;
}

}  // namespace farscale
