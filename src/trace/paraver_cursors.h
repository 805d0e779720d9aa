// The streams of one task of a Paraver trace in the order of time, whatever their order in the file.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "trace/paraver_records.h"

namespace farscale {

// Reads the bytes of one segment again.
class SegmentReader {
 public:
  SegmentReader(const std::uint8_t* begin, const std::uint8_t* end) : at_(begin), end_(end) {}

  bool AtEnd() const { return at_ == end_; }
  Tick NextEvents(std::vector<ParaverPair>& pairs);  // returns the time
  ParaverState NextState();
  ParaverMessage NextMessage();

 private:
  std::uint64_t Varint();
  std::int64_t Signed();

  const std::uint8_t* at_;
  const std::uint8_t* end_;
  Tick time_ = 0;
};

// The segments of one task in the order of the file.
struct ParaverTaskParts {
  struct Part {
    const std::uint8_t* begin = nullptr;                 // in the bytes of its block
    std::array<std::uint32_t, kParaverStreams> bytes{};  // streams, one behind the other
    std::uint32_t block = 0;

    const std::uint8_t* Begin(ParaverStream stream) const {
      return std::accumulate(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(stream), begin,
                             [](const std::uint8_t* at, std::uint32_t size) { return at + size; });
    }
  };
  const std::vector<ParaverBlock>* blocks = nullptr;
  std::vector<Part> parts;
  ParaverOrders orders;  // over all parts
  ParaverStates states;  // the same
  bool has_roots = false;

  SegmentReader Reader(std::size_t part, ParaverStream stream) const {
    // With many tasks the parts lie far from each other.
    if (part + 1 < parts.size()) __builtin_prefetch(parts[part + 1].Begin(stream));
    const std::uint8_t* begin = parts[part].Begin(stream);
    return {begin, begin + parts[part].bytes[static_cast<std::size_t>(stream)]};
  }
  bool IsInOrder(ParaverStream stream) const { return orders[static_cast<std::size_t>(stream)].in_order; }
  std::size_t Bytes() const;
};

// One pair of type and value, with its meaning for the trace.
struct ParaverFact {
  ParaverEvent event = ParaverEvent::kIgnored;
  std::uint32_t type = 0;
  std::uint32_t index = ParaverBlock::kNothing;  // number of a region, if it has one, or of a counter
  std::int64_t value = 0;                        // 0 for a leave, in events with symbols

  bool is_enter() const { return value != 0; }  // for regions
};

// All records of one moment.
struct ParaverMoment {
  Tick tick = 0;
  std::vector<ParaverFact> facts;
};

// Elements of one stream of a task in the order of time: as they are read when the stream is in order, else sorted.
template <typename Element>
class OrderedStream {
 public:
  // `read`: takes the next element from a segment of the part; `time`: by which they are sorted.
  using Read = void (*)(const ParaverTaskParts& parts, std::size_t part, SegmentReader& reader, Element& element);

  OrderedStream(const ParaverTaskParts& parts, ParaverStream stream, Read read, Tick Element::*time)
      : parts_(parts), stream_(stream), read_(read) {
    if (parts.IsInOrder(stream)) return;
    for (Element element; Next(element);) sorted_.push_back(element);
    std::ranges::stable_sort(sorted_, {}, time);
    is_sorted_ = true;
  }

  // False at the end.
  bool Next(Element& element) {
    if (is_sorted_) {
      if (next_sorted_ == sorted_.size()) return false;
      element = std::move(sorted_[next_sorted_++]);
      return true;
    }
    while (!reader_ || reader_->AtEnd()) {
      if (next_part_ == parts_.parts.size()) return false;
      reader_ = parts_.Reader(next_part_++, stream_);
    }
    read_(parts_, next_part_ - 1, *reader_, element);
    return true;
  }

 private:
  const ParaverTaskParts& parts_;
  const ParaverStream stream_;
  const Read read_;
  std::size_t next_part_ = 0;
  std::optional<SegmentReader> reader_;
  bool is_sorted_ = false;  // everything is in sorted_
  std::vector<Element> sorted_;
  std::size_t next_sorted_ = 0;
};

// The moments of a task, and those to come. Reads on as needed when the file is in order, else sorts. A record that
// adds to the one before it at the same time, such as counters behind the entry of a call, becomes part of it. Calls do
// not overlap: at one time the leave of the open call comes first, and a leave of no call is left out, unless it is the
// first edge of all, as in a trace cut out of another. A call entered inside another is part of that, unless the task
// ran in between or recorded no states: then the leave of the one before is missing, and it ends there.
class EventCursor {
 public:
  explicit EventCursor(const ParaverTaskParts& parts);

  // The moment `ahead` moments behind the next one; nothing behind the last.
  const ParaverMoment* Peek(std::size_t ahead = 0);
  void Advance();

  // Edges of calls so far, and how many of them had no other edge.
  std::uint64_t edges() const { return edges_; }
  std::uint64_t lost_edges() const { return lost_edges_; }
  // Time between them and the edges beside them.
  Tick lost_time() const { return lost_time_; }

 private:
  bool Load();
  void ChooseNext(std::size_t first);
  void MakeCallsFollow(ParaverMoment& moment);
  bool Enter(std::uint32_t type, Tick tick);
  bool Leave(std::uint32_t type, Tick tick);
  bool RunsBetween(Tick from, Tick to);

  OrderedStream<ParaverMoment> records_;
  std::optional<ParaverMoment> held_;                 // read, but perhaps part of the moment before
  std::vector<ParaverMoment> group_;                  // moments of one time
  std::vector<std::pair<std::uint32_t, Tick>> open_;  // calls, the outermost first: type and enter
  std::uint64_t edges_ = 0, lost_edges_ = 0;
  Tick lost_time_ = 0, last_edge_ = 0;
  const ParaverTaskParts& parts_;
  std::optional<OrderedStream<ParaverState>> states_;  // read where calls nest
  std::optional<ParaverState> state_;
  std::deque<ParaverMoment> ready_;
  std::vector<std::vector<ParaverFact>> spare_;
};

// Time in which a rank did not run, by its states.
class StateCursor {
 public:
  explicit StateCursor(const ParaverTaskParts& parts);

  // False if the task did not record when it runs; then its states cannot be used.
  bool are_recorded() const { return summary_.has_running; }
  // First begin of a state in which the task exists.
  std::optional<Tick> first() const {
    const bool exists = summary_.first_existing != std::numeric_limits<Tick>::max();
    return exists ? std::optional(summary_.first_existing) : std::nullopt;
  }
  Tick last() const { return summary_.last_existing; }

  // Stretches of [from, to) in which the task did not run, in order, without those next to each other, unless only one
  // of them is in a state of `apart`. `from` must not be less than in the call before.
  struct Stretch {
    Tick begin = 0, end = 0;
    std::uint32_t state = kParaverNotCreated;  // one of `apart`, else this one
  };
  void NotRunning(Tick from, Tick to, std::span<const std::uint32_t> apart, std::vector<Stretch>& stretches);

  // States of MPI in the stretches so far. Synchronization is one where no team forks.
  struct InMpi {
    std::uint64_t states = 0;
    Tick first = 0, time = 0;

    void Add(Tick begin, Tick end) {
      if (states++ == 0) first = begin;
      time += end - begin;
    }
  };
  const InMpi& in_mpi() const { return in_mpi_; }
  InMpi in_synchronization() const { return has_teams_ ? InMpi() : in_synchronization_; }

 private:
  const ParaverState* Current();

  const ParaverStates& summary_;
  OrderedStream<ParaverState> states_;
  std::optional<ParaverState> current_;
  InMpi in_mpi_, in_synchronization_;
  bool has_teams_ = false;
};

}  // namespace farscale
