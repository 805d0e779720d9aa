#include "replay/calibration.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

// The rank of an end that lies outside any call: that of a message which crosses the edge of a cut.
constexpr std::int32_t kNotPosted = -1;

// Both ends of a matched message.
struct MessageEnds {
  Tick sent = 0;  // when the sending call was entered
  std::uint64_t bytes = 0;
  std::int32_t sender = kNotPosted;
  MpiCall call = MpiCall::kNone;
  Tick posted = 0;  // when the call was entered that posted the receive
  Tick done = 0;    // when the call was left that completed it
  std::int32_t receiver = kNotPosted;

  bool AreKnown() const { return sender != kNotPosted && receiver != kNotPosted; }
};

// Ranks fill their own ends, so they can do so in parallel.
std::vector<MessageEnds> FindEnds(const Trace& trace, const Matching& matching) {
  std::vector<MessageEnds> ends(matching.matched);
  ParallelFor(trace.size(), [&](std::size_t rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    ForEachRecord(timeline, matching.ranks[rank], 0, timeline.calls(),
                  [&](std::size_t call, std::size_t record, const RecordPart& part) {
                    if (part.IsCollective() || part.number >= matching.matched) return;
                    MessageEnds& message = ends[part.number];
                    if (part.type == OperationClass::kReceive) {
                      if (part.completes) message.done = timeline.leave(call);
                      if (!part.posts) return;
                      message.posted = timeline.enter(call);
                      message.receiver = static_cast<std::int32_t>(rank);
                    } else if (part.posts) {
                      message.sent = timeline.enter(call);
                      message.bytes = timeline.record_bytes(record);
                      message.sender = static_cast<std::int32_t>(rank);
                      message.call = trace.regions[timeline.region(call)].call;
                    }
                  });
  });
  return ends;
}

// A successful test says that the message was there, not since when.
bool Blocks(MpiCall kind) {
  return kind == MpiCall::kReceive || kind == MpiCall::kWait || kind == MpiCall::kSendReceive;
}

Observations ObserveRank(const Trace& trace, const RankMatching& matching, const ReplayRules& rules,
                         const std::vector<MessageEnds>& ends, std::size_t number) {
  const RankTimeline& timeline = trace.timelines[number];
  const auto rank = static_cast<std::int32_t>(number);
  const std::uint64_t small = std::min(kSmallMessage, rules.Limit());
  Observations result;
  const auto peer = [&](std::uint32_t message) {
    return ends[message].sender == rank ? ends[message].receiver : ends[message].sender;
  };
  const auto is_local = [&](std::uint32_t message) {
    return trace.ranks[static_cast<std::size_t>(peer(message))].node == trace.ranks[number].node;
  };
  const auto link = [&](std::uint32_t message) -> LinkObservations& { return result[is_local(message) ? 0 : 1]; };
  // A send of the same call does not hold the receiver up when it waits for nobody, or when it started no later than
  // the message on a link of the same kind and has no more to carry.
  const auto is_done_before = [&](std::uint32_t send, std::uint32_t message) {
    const MessageEnds& own = ends[send];
    if (own.call != MpiCall::kSynchronousSend && own.call != MpiCall::kImmediateSynchronousSend && own.bytes < small)
      return true;
    return std::max(own.sent, own.posted) <= ends[message].sent && own.bytes <= ends[message].bytes &&
           is_local(send) == is_local(message);
  };
  // The call at hand: its messages, those that it posts, and those whose send or receive it completes.
  std::size_t at = 0, records = 0;
  std::vector<std::uint32_t> posted, sends, receives;
  bool has_others = false;  // a collective, a message of which half is missing, or what stands for none
  const auto observe_transfer = [&](MpiCall kind, Tick enter, Tick leave) {
    if (receives.size() != 1 || !Blocks(kind)) return;
    const std::uint32_t message = receives.front();
    const MessageEnds& own = ends[message];
    if (own.sender == rank) return;
    if (sends.empty() && own.posted > own.sent)
      link(message).late_posts.push_back({own.bytes, own.posted - own.sent, enter - own.posted, leave - own.posted});
    const auto holds_up = [&](std::uint32_t send) { return !is_done_before(send, message); };
    if (enter > own.sent || std::ranges::any_of(sends, holds_up)) return;
    link(message).transfers.push_back({own.sender, rank, own.bytes, leave - own.sent, message, 0});
  };
  const auto observe_post = [&](MpiCall kind, Tick length) {
    if (records != 1 || posted.size() != 1 || peer(posted.front()) == rank) return;
    const bool is_small_send =
        ends[posted.front()].bytes < small && (kind == MpiCall::kImmediateSend || kind == MpiCall::kSend);
    if (kind == MpiCall::kImmediateReceive || is_small_send) link(posted.front()).posts.push_back(length);
  };
  // Under rules by which no wait of a send waits, only blocking sends have an eager limit.
  const auto observe_late_receives = [&](MpiCall kind, Tick enter, Tick leave) {
    for (const std::uint32_t send : sends) {
      const MessageEnds& own = ends[send];
      const bool may_wait = own.call == MpiCall::kSend ||
                            (own.call == MpiCall::kImmediateSend && rules.SendCompletionWaits() && Blocks(kind));
      if (!may_wait || peer(send) == rank || own.posted <= enter) continue;
      const bool waited = own.posted <= leave;
      if (waited && sends.size() + receives.size() > 1) continue;  // for which of them is unknown
      auto& [gone, waiting] = link(send).late[own.bytes];
      ++(waited ? waiting : gone);
    }
  };
  const auto end_call = [&] {
    if (records > 0 && !has_others) {
      const MpiCall kind = trace.regions[timeline.region(at)].call;
      observe_transfer(kind, timeline.enter(at), timeline.leave(at));
      observe_post(kind, timeline.duration(at));
      observe_late_receives(kind, timeline.enter(at), timeline.leave(at));
    }
    records = 0;
    has_others = false;
    for (auto* list : {&posted, &sends, &receives}) list->clear();
  };
  ForEachRecord(timeline, matching, 0, timeline.calls(), [&](std::size_t call, std::size_t, const RecordPart& part) {
    if (call != at) end_call();
    at = call;
    ++records;
    const std::uint32_t message = part.number;
    if (part.IsCollective() || message >= ends.size() || !ends[message].AreKnown() || IsOneSided(ends[message].call)) {
      has_others = true;
      return;
    }
    const bool is_send = part.type == OperationClass::kSend;
    if (part.posts) posted.push_back(message);
    if (part.completes) (is_send ? sends : receives).push_back(message);
    if (part.posts && is_send && peer(message) != rank) ++link(message).messages;
  });
  end_call();
  return result;
}

// For `transfers` between nodes the largest number of bytes on a link, in one direction, beside each of them: those of
// messages that begin before it ends, less those of messages that end before it begins. Messages may be on their way
// from the call that sends them to the one that completes their receive, though once both sides are there none takes
// longer than the slowest whose receiver waited, `longest`.
void FindCompetingBytes(const Trace& trace, const std::vector<MessageEnds>& ends,
                        std::vector<TransferTime>& transfers) {
  if (transfers.empty()) return;
  std::map<std::pair<std::int32_t, bool>, std::vector<std::uint32_t>> links;  // messages from and to every node
  for (std::uint32_t message = 0; message < ends.size(); ++message) {
    if (!ends[message].AreKnown()) continue;
    const std::int32_t source = trace.ranks[static_cast<std::size_t>(ends[message].sender)].node;
    const std::int32_t target = trace.ranks[static_cast<std::size_t>(ends[message].receiver)].node;
    if (source == target) continue;
    links[{source, false}].push_back(message);
    links[{target, true}].push_back(message);
  }
  const Tick longest = std::ranges::max(transfers, {}, &TransferTime::ticks).ticks;
  const auto begin = [&](std::uint32_t message) { return ends[message].sent; };
  const auto end = [&](std::uint32_t message) {
    const Tick latest = std::max(ends[message].sent, ends[message].posted) + longest;
    return std::max(ends[message].sent + 1, std::min(ends[message].done, latest));
  };
  std::vector<std::uint64_t> competing(ends.size());
  for (auto& [link, messages] : links) {
    std::vector<std::uint32_t> by_end = messages;
    std::ranges::sort(messages, {}, begin);
    std::ranges::sort(by_end, {}, end);
    std::vector<std::uint64_t> begun = {0}, ended = {0};
    for (const std::uint32_t message : messages) begun.push_back(begun.back() + ends[message].bytes);
    for (const std::uint32_t message : by_end) ended.push_back(ended.back() + ends[message].bytes);
    for (const std::uint32_t message : messages) {
      const auto before = std::ranges::lower_bound(messages, end(message), {}, begin) - messages.begin();
      const auto over = std::ranges::upper_bound(by_end, begin(message), {}, end) - by_end.begin();
      const std::uint64_t bytes = begun[static_cast<std::size_t>(before)] - ended[static_cast<std::size_t>(over)];
      competing[message] = std::max(competing[message], bytes - ends[message].bytes);
    }
  }
  for (TransferTime& transfer : transfers) transfer.competing_bytes = competing[transfer.message];
}

}  // namespace

Observations Observe(const Trace& trace, const Matching& matching, const ReplayRules& rules) {
  const std::vector<MessageEnds> ends = FindEnds(trace, matching);
  std::vector<Observations> of_rank(trace.size());
  ParallelFor(trace.size(),
              [&](std::size_t rank) { of_rank[rank] = ObserveRank(trace, matching.ranks[rank], rules, ends, rank); });
  Observations all;
  for (const Observations& some : of_rank) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      LinkObservations& link = all[i];
      link.messages += some[i].messages;
      link.transfers.insert(link.transfers.end(), some[i].transfers.begin(), some[i].transfers.end());
      link.posts.insert(link.posts.end(), some[i].posts.begin(), some[i].posts.end());
      for (const auto& [bytes, counts] : some[i].late) {
        link.late[bytes].first += counts.first;
        link.late[bytes].second += counts.second;
      }
      link.late_posts.insert(link.late_posts.end(), some[i].late_posts.begin(), some[i].late_posts.end());
    }
  }
  FindCompetingBytes(trace, ends, all[1].transfers);
  return all;
}

namespace {

// Chosen: noise adds to many messages, but hardly to three of four.
constexpr double kFast = 0.25;
// Sizes within a sixteenth of a factor of two are taken together; chosen.
constexpr double kGroupsPerDoubling = 16;
// With fewer messages in either direction between two ranks their clocks are not compared; chosen.
constexpr std::size_t kFewestEachWay = 3;
// Times at the smallest and the largest size that differ by fewer ticks may do so by rounding alone; chosen.
constexpr double kFewestTicks = 5;
// Two halves of the messages must show the same bandwidth within this factor, else they show none; chosen.
constexpr double kAgreement = 1.5;
// A value is known when its range is no wider than this share of it. Of the simulated traces the ranges of latencies
// are either narrower than 0.06 or wider than 1.2, whichever application is left out.
constexpr double kKnown = 0.4;
// A latency that is not known lies no nearer to the ends of its range than this share of it; chosen.
constexpr double kNearEnd = 0.25;
// A message has its links to itself where others would not make it slower by more than this share; chosen.
constexpr double kUndisturbed = 0.02;
// Messages that share links say what the others do where their bandwidths differ by no more than this share; chosen.
constexpr double kSameBandwidth = 0.1;
// Where the bytes of the largest message take less than this share of its time, they only bound the bandwidth: networks
// treat small messages differently, and the clock counts ticks. Chosen.
constexpr double kTellingShare = 0.1;

struct SizeGroup {
  double bytes = 0;   // mean
  double ticks = 0;   // a fast, or the median message
  double spread = 0;  // from a fast message to the median one
  double weight = 0;  // a size sent a hundred times counts ten times
};

std::vector<SizeGroup> GroupBySize(const std::vector<TransferTime>& transfers, double share) {
  std::map<std::int64_t, std::vector<const TransferTime*>> members;
  for (const TransferTime& transfer : transfers) {
    const double doublings = std::log2(static_cast<double>(std::max<std::uint64_t>(1, transfer.bytes)));
    members[transfer.bytes == 0 ? -1 : std::llround(kGroupsPerDoubling * doublings)].push_back(&transfer);
  }
  std::vector<SizeGroup> groups;
  for (const auto& [key, some] : members) {
    SizeGroup group;
    std::vector<double> ticks;
    for (const TransferTime* transfer : some) {
      group.bytes += static_cast<double>(transfer->bytes) / static_cast<double>(some.size());
      ticks.push_back(static_cast<double>(transfer->ticks));
    }
    group.ticks = Quantile(ticks, share);
    group.spread = std::fabs(Quantile(ticks, 0.5) - Quantile(ticks, kFast));
    group.weight = std::sqrt(static_cast<double>(some.size()));
    groups.push_back(group);
  }
  return groups;
}

// The line with the smallest sum of weighted relative distances, of those on which a byte takes no negative time. One
// of those that are smallest goes through two of the points, or through one where that limit holds the line; so all of
// them are tried. There are at most some hundred groups. Where it meets no byte may be below zero, by noise.
TransferLine FitLine(const std::vector<SizeGroup>& groups) {
  if (groups.empty()) return {};
  std::vector<double> times;
  for (const SizeGroup& group : groups) times.push_back(group.ticks);
  const double small = std::max(1.0, Quantile(times, 0.5) / 10);  // times near zero must not decide everything
  TransferLine best;
  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&](const TransferLine& line) {
    if (!(line.ticks_per_byte >= 0) || !std::isfinite(line.ticks_per_byte)) return;
    double sum = 0;
    for (const SizeGroup& group : groups) {
      sum += group.weight * std::fabs(group.ticks - line(group.bytes)) / std::max(group.ticks, small);
      if (sum >= least) return;
    }
    least = sum;
    best = line;
  };
  for (const SizeGroup& one : groups) {
    consider({one.ticks, 0});
    for (const SizeGroup& other : groups) {
      if (other.bytes <= one.bytes) continue;
      const double slope = (other.ticks - one.ticks) / (other.bytes - one.bytes);
      consider({one.ticks - slope * one.bytes, slope});
    }
  }
  return best;
}

// The line with what the groups leave open: small sizes taken as fast and large ones as slow as messages of their size
// differ, or the group from the line, and the other way round.
TransferLine Tilted(std::vector<SizeGroup> groups, const TransferLine& line, double sign) {
  const double middle = (groups.front().bytes + groups.back().bytes) / 2;
  const double reach = std::max(1.0, groups.back().bytes - middle);
  for (SizeGroup& group : groups) {
    const double open = std::max(group.spread, std::fabs(group.ticks - line(group.bytes)));
    group.ticks = std::max(0.0, group.ticks + sign * open * (group.bytes - middle) / reach);
  }
  return FitLine(groups);
}

double MedianDistance(const std::vector<TransferTime>& transfers, const TransferLine& line, bool relative) {
  std::vector<double> distances;
  for (const TransferTime& transfer : transfers) {
    const double fitted = line(static_cast<double>(transfer.bytes));
    const double distance = std::fabs(static_cast<double>(transfer.ticks) - fitted);
    distances.push_back(relative ? distance / std::max(fitted, 1.0) : distance);
  }
  return Quantile(std::move(distances), 0.5);
}

// Differences that do not make the times agree clearly better are no differences of clocks.
double TakeOutClocks(std::vector<TransferTime>& transfers) {
  const TransferLine line = FitLine(GroupBySize(transfers, 0.5));
  using Pair = std::pair<std::int32_t, std::int32_t>;
  std::map<Pair, std::pair<std::vector<double>, std::vector<double>>> excess;  // up, down
  for (const TransferTime& transfer : transfers) {
    auto& [up, down] = excess[std::minmax(transfer.from, transfer.to)];
    const double ticks = static_cast<double>(transfer.ticks) - line(static_cast<double>(transfer.bytes));
    (transfer.from < transfer.to ? up : down).push_back(ticks);
  }
  // The time by which the clock of the higher rank seems ahead, for every pair of ranks with enough messages either
  // way: half of what the messages to it are later than those from it.
  std::map<Pair, double> differences;
  for (const auto& [pair, of] : excess) {
    const auto& [up, down] = of;
    if (std::min(up.size(), down.size()) < kFewestEachWay) continue;
    differences[pair] = (Quantile(up, kFast) - Quantile(down, kFast)) / 2;
  }
  std::vector<TransferTime> corrected = transfers;
  double largest = 0;
  for (TransferTime& transfer : corrected) {
    const auto found = differences.find(std::minmax(transfer.from, transfer.to));
    if (found == differences.end()) continue;
    transfer.ticks -= std::llround(transfer.from < transfer.to ? found->second : -found->second);
    largest = std::max(largest, std::fabs(found->second));
  }
  const TransferLine again = FitLine(GroupBySize(corrected, 0.5));
  if (MedianDistance(corrected, again, false) >= MedianDistance(transfers, line, false) / 2) return 0;
  transfers = std::move(corrected);
  return largest;
}

// True if the times say how long a byte takes: half of the messages must say the same as the other half, small ones
// and large ones in each.
bool ShowsBandwidth(std::vector<TransferTime> transfers, const std::vector<SizeGroup>& groups,
                    const TransferLine& line) {
  if (line.ticks_per_byte * (groups.back().bytes - groups.front().bytes) < kFewestTicks) return false;
  std::stable_sort(transfers.begin(), transfers.end(),
                   [](const TransferTime& a, const TransferTime& b) { return a.bytes < b.bytes; });
  std::array<std::vector<TransferTime>, 2> halves;
  for (std::size_t i = 0; i < transfers.size(); ++i) halves[i % 2].push_back(transfers[i]);
  const double one = FitLine(GroupBySize(halves[0], kFast)).ticks_per_byte;
  const double other = FitLine(GroupBySize(halves[1], kFast)).ticks_per_byte;
  return one > 0 && other > 0 && std::max(one, other) <= kAgreement * std::min(one, other);
}

// Ticks a byte when the latency is known: the weighted median over the groups.
double SlopeFrom(const std::vector<SizeGroup>& groups, double latency) {
  std::vector<std::pair<double, double>> slopes;  // with weights
  double all = 0, reached = 0;
  for (const SizeGroup& group : groups) {
    if (group.bytes <= 0) continue;
    slopes.emplace_back(std::max(0.0, (group.ticks - latency) / group.bytes), group.weight);
    all += group.weight;
  }
  std::sort(slopes.begin(), slopes.end());
  for (const auto& [slope, weight] : slopes) {
    reached += weight;
    if (2 * reached >= all) return slope;
  }
  return 0;
}

LinkFit FitTimes(const std::vector<TransferTime>& transfers) {
  LinkFit fit;
  const std::vector<SizeGroup> groups = GroupBySize(transfers, kFast);
  TransferLine& line = fit.line;
  line = FitLine(groups);
  fit.has_bandwidth = ShowsBandwidth(transfers, groups, line);
  if (fit.has_bandwidth) {
    // A message takes at least the latency: of equally large ones a fast one is a bound. It is the only one where the
    // line meets no byte below zero, since then the times do not lie on any line that a link can have.
    const TransferLine steep = Tilted(groups, line, 1), flat = Tilted(groups, line, -1);
    const double fastest = std::ranges::min(groups, {}, &SizeGroup::ticks).ticks;
    const auto [low, high] = std::minmax({line.latency, steep.latency, flat.latency});
    const auto [least, most] = std::minmax({line.ticks_per_byte, steep.ticks_per_byte, flat.ticks_per_byte});
    fit.low = {std::clamp(low, 0.0, fastest), least};
    fit.high = {line.latency > 0 ? std::clamp(high, 0.0, fastest) : fastest, most};
    const double bytes = groups.back().bytes;
    if (line.ticks_per_byte * bytes < kTellingShare * line(bytes)) {
      fit.low.ticks_per_byte = 0;
      fit.high.ticks_per_byte += 1 / bytes;
    }
    if (!IsKnownWithin(fit.low.latency, fit.high.latency)) {
      const double near_end = (fit.high.latency - fit.low.latency) * kNearEnd;
      line.latency = std::clamp(line.latency, fit.low.latency + near_end, fit.high.latency - near_end);
      line.ticks_per_byte =
          std::clamp(SlopeFrom(groups, line.latency), fit.low.ticks_per_byte, fit.high.ticks_per_byte);
    }
  } else {
    // The times do not say how much of them is latency: all where there are small messages, else as much as a small
    // message has of the bytes.
    const double time = LatencyFor(transfers, 0);
    const double share = std::min(1.0, static_cast<double>(kSmallMessage) / std::max(1.0, groups.front().bytes));
    line = {time * share, (time - time * share) / std::max(1.0, groups.back().bytes)};
    fit.high = {time, groups.back().ticks / std::max(1.0, groups.back().bytes)};
  }
  // Below a tick there is only rounding.
  if (const double spread = MedianDistance(transfers, line, false); spread >= 0.5) {
    fit.spread = spread;
    fit.relative_spread = MedianDistance(transfers, line, true);
  }
  return fit;
}

}  // namespace

bool IsKnownWithin(double low, double high) { return high - low <= kKnown * (low + high) / 2; }

LinkFit FitLink(std::vector<TransferTime>& transfers) {
  const double clock_difference = TakeOutClocks(transfers);
  std::erase_if(transfers, [](const TransferTime& transfer) { return transfer.ticks <= 0; });
  if (transfers.empty()) return {};
  LinkFit fit = FitTimes(transfers);
  // Those that had the links of their nodes to themselves, at a bandwidth that is no higher than that of the links.
  const double per_byte = fit.has_bandwidth ? fit.line.ticks_per_byte : fit.high.ticks_per_byte;
  std::vector<TransferTime> undisturbed;
  for (const TransferTime& transfer : transfers) {
    const double disturbed = per_byte * static_cast<double>(transfer.competing_bytes);
    if (disturbed <= kUndisturbed * static_cast<double>(transfer.ticks)) undisturbed.push_back(transfer);
  }
  if (undisturbed.size() < transfers.size()) {
    const LinkFit better = undisturbed.size() >= kFewestMessages ? FitTimes(undisturbed) : LinkFit();
    const auto [low, high] = std::minmax({better.line.ticks_per_byte, fit.line.ticks_per_byte});
    const bool is_same = high <= (1 + kSameBandwidth) * low;
    if (better.has_bandwidth && !is_same && IsKnownWithin(better.low.ticks_per_byte, better.high.ticks_per_byte)) {
      fit = better;
      transfers = std::move(undisturbed);
    } else if (!better.has_bandwidth || !is_same) {
      // Messages that share links take longer, so they bound what a link does: a byte takes no longer than it seems to,
      // and no more than all of the fastest message is latency. That much is if its bytes are next to nothing.
      fit.shares_links = true;
      if (fit.has_bandwidth) {
        const SizeGroup fastest = std::ranges::min(GroupBySize(transfers, kFast), {}, &SizeGroup::ticks);
        const double bytes = fit.high.ticks_per_byte * fastest.bytes;
        const bool is_known = bytes <= kUndisturbed * fastest.ticks;
        fit.low = {is_known ? fastest.ticks - bytes : 0, 0};
        fit.high.latency = fastest.ticks;
        double& latency = fit.line.latency;
        latency = fastest.ticks - fit.line.ticks_per_byte * fastest.bytes;
        if (!is_known) latency = std::clamp(latency, fastest.ticks * kNearEnd, fastest.ticks * (1 - kNearEnd));
      }
    }
  }
  fit.clock_difference = clock_difference;
  return fit;
}

double LatencyFor(const std::vector<TransferTime>& transfers, double ticks_per_byte) {
  if (transfers.empty()) return 0;
  std::vector<double> latencies;
  for (const TransferTime& transfer : transfers) {
    latencies.push_back(static_cast<double>(transfer.ticks) - ticks_per_byte * static_cast<double>(transfer.bytes));
  }
  return std::max(0.0, Quantile(std::move(latencies), kFast));
}

}  // namespace farscale
