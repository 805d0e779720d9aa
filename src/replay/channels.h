// Steps of matching [replay/matching.h], for one process that has all ranks and for several that share them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "replay/matching.h"
#include "trace/trace.h"

namespace farscale {

inline constexpr std::uint32_t kNoTarget = std::numeric_limits<std::uint32_t>::max();

// Target of every post of one rank, by its number: index of the endpoint or collective type. Receives and non-blocking
// collectives learn theirs at completion.
struct Targets {
  std::vector<std::uint32_t> sends, receives, collectives;
};

Targets CollectTargets(const RankTimeline& timeline);

// One direction of one endpoint of one rank: part of a channel (communicator, source, destination, tag).
struct ChannelEnd {
  std::uint32_t communicator = 0;
  std::uint32_t tag = 0;
  std::int32_t source = 0;
  std::int32_t destination = 0;
  bool is_receive = false;
  bool is_elsewhere = false;  // its rank is another process's
  std::uint32_t endpoint = 0;
  std::uint32_t count = 0;

  std::size_t rank() const { return static_cast<std::size_t>(is_receive ? destination : source); }
  auto Channel() const { return std::tie(communicator, tag, source, destination); }
  auto Order() const { return std::tie(communicator, tag, source, destination, is_receive); }
};

// Ends of the channels of a rank, with how many messages it sends and receives there.
void AddChannelEnds(const RankTimeline& timeline, std::size_t rank, const Targets& targets,
                    std::vector<ChannelEnd>& ends);
void SortEnds(std::vector<ChannelEnd>& ends);

// Numbers of the messages at one end of a channel: the first `matched` ones from `first` on, the rest from
// `first_unmatched` on.
struct Numbering {
  std::uint32_t first = 0;
  std::uint32_t matched = 0;
  std::uint32_t first_unmatched = 0;

  std::uint32_t operator()(std::uint32_t k) const { return k < matched ? first + k : first_unmatched + (k - matched); }
};

struct RankNumbering {
  std::vector<Numbering> sends, receives;  // by endpoint
};

struct NumberedMessages {
  std::uint64_t matched = 0, unmatched = 0;

  std::uint64_t all() const { return matched + unmatched; }
};

// Of the messages of some channels, whose ends are sorted. Unmatched ones of ranks elsewhere are not counted.
NumberedMessages CountNumbered(const std::vector<ChannelEnd>& ends);

// Numbers them from `next` on, matched ones first to last; unmatched ones from next.unmatched on.
void NumberMessages(const std::vector<ChannelEnd>& ends, NumberedMessages& next, std::vector<RankNumbering>& numbering);

// Of a rank without messages.
RankNumbering EmptyNumbering(const RankTimeline& timeline);

// The messages of one rank.
void ApplyNumbering(const RankNumbering& numbering, const Targets& targets, RankMatching& matching);

// Throws an input error when there are too many.
void RequireNumbers(const NumberedMessages& counts, const std::string& path);

// Ends of messages that lack the other one, of sends and of receives.
struct MissingHalves {
  struct OfKind {
    std::uint64_t count = 0, population = 0;
    std::optional<ChannelEnd> first;  // in the order of channels
  };
  std::array<OfKind, 2> kinds;  // sends, receives

  // Those of ranks here.
  void Add(const std::vector<ChannelEnd>& ends);
  void Merge(const MissingHalves& other);
  Diagnostics Diagnose(bool ends_early) const;
};

// Of a trace that ends early the ranks end at different times. As halves are matched in order, those that lack another
// half are then the last ones.
bool EndsEarly(const Trace& trace);

// Bytes of the messages with two ends that a rank sends, by number.
void FillSentBytes(const RankTimeline& timeline, const RankMatching& matching, std::vector<std::uint64_t>& sent);
// How many of those that it receives had other sizes.
std::uint64_t CountDiffering(const RankTimeline& timeline, const RankMatching& matching,
                             const std::vector<std::uint64_t>& sent);

// MPI_Init and MPI_Finalize are collective over all ranks without being recorded so.
void MatchInitAndFinalize(const Trace& trace, const RankTimeline& timeline, std::uint32_t init, std::uint32_t finalize,
                          RankMatching& matching);

// "a barrier on MPI_COMM_WORLD with 3 of 4 ranks"; empty when all take part.
std::string DescribeMissingRanks(const Trace& trace, const CollectiveOperation& operation);

}  // namespace farscale
