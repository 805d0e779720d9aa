// The records of a Paraver trace, block of text by block of text: checked, sorted by task and put into few bytes.
// Records that farscale does not use are left out here.
//
// Every task has three streams of bytes: its events, its states and its ends of messages. A stream is a run of
// segments, one a block; within a segment times are stored as differences from the time before, and all numbers take as
// many bytes as they need. ParaverStreamReader reads them again.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "trace/paraver_header.h"
#include "trace/paraver_text.h"
#include "trace/trace.h"

namespace farscale {

// Event types by their use. Those up to kCaller are regions: their values are numbered as symbols.
enum class ParaverEvent : std::uint8_t {
  kMpi,
  kFunction,   // user functions and the like, which nest
  kUserEvent,  // events of the program's own: a new value ends the one before
  kCaller,     // callers of MPI calls; the level is in the type
  kSendSize,   // sizes of a collective, and so on
  kReceiveSize,
  kRoot,
  kCommunicator,
  kCounter,
  kApplication,
  kFlush,
  kTracing,
  kTracingMode,
  kInnerCall,  // edge of an MPI call inside another, once calls are known
  kIgnored,
};
ParaverEvent ClassifyParaverEvent(std::uint32_t type);
inline bool HasSymbols(ParaverEvent event) { return event <= ParaverEvent::kCaller; }
inline bool IsCollectiveAttribute(ParaverEvent event) {
  return event >= ParaverEvent::kSendSize && event <= ParaverEvent::kCommunicator;
}

// A value of an event type that is a region: the type, then the value.
using ParaverSymbol = std::pair<std::uint32_t, std::uint64_t>;

// The streams of a task, and their number.
constexpr std::size_t kParaverEvents = 0, kParaverStates = 1, kParaverMessages = 2, kParaverStreams = 3;

// The event of hosts that call CUDA, and states of Paraver [docs/traces.md].
constexpr std::uint32_t kParaverCudaCall = 63000001;
constexpr std::uint32_t kParaverIdle = 0;
constexpr std::uint32_t kParaverRunning = 1;
constexpr std::uint32_t kParaverNotCreated = 2;
constexpr std::uint32_t kParaverSynchronization = 5;
constexpr std::uint32_t kParaverForkJoin = 7;

// States of a thread in MPI; but for synchronization, which is also that of the threads of a team.
inline bool IsParaverMpiState(std::uint32_t state) {
  constexpr std::uint32_t kMpiStates = 1u << 3 | 1u << 4 | 1u << 8 | 1u << 10 | 1u << 11 | 1u << 13 | 1u << 16;
  return state < 32 && (kMpiStates >> state & 1) != 0;
}

// The states of one task in the order of the file, each of which should begin where those before end: of a block, which
// lists its gaps, or of the whole text, which sums them up wherever its blocks begin.
struct ParaverStates {
  Tick begin = 0, end = 0;
  std::uint64_t count = 0;
  bool has_running = false;
  // First begin and last end of states in which the task exists.
  Tick first_existing = std::numeric_limits<Tick>::max(), last_existing = 0;
  // In a block:
  std::uint64_t first_line = 0;
  std::vector<std::tuple<Tick, Tick, std::uint64_t>> gaps;  // begin, end, and line of the state behind it
  // In the text:
  std::uint64_t missing = 0;
  Tick missing_ticks = 0;
  Tick first_missing = 0;                // where it begins
  std::uint64_t first_missing_line = 0;  // line of the state behind it

  void Add(Tick next_begin, Tick next_end, std::uint32_t state, std::uint64_t line) {
    if (count > 0 && next_begin > end) gaps.emplace_back(end, next_begin, line);
    if (count++ == 0) {
      begin = next_begin;
      first_line = line;
    }
    end = std::max(end, next_end);
    has_running |= state == kParaverRunning;
    if (state == kParaverNotCreated) return;
    first_existing = std::min(first_existing, next_begin);
    last_existing = std::max(last_existing, next_end);
  }

  // The block `next` follows behind it in the file.
  void Append(const ParaverStates& next) {
    if (next.count == 0) return;
    if (count == 0) begin = next.begin;
    if (count > 0) AddGap(end, next.begin, next.first_line);
    for (const auto& [gap_begin, gap_end, line] : next.gaps) AddGap(gap_begin, gap_end, line);
    count += next.count;
    end = std::max(end, next.end);
    has_running |= next.has_running;
    first_existing = std::min(first_existing, next.first_existing);
    last_existing = std::max(last_existing, next.last_existing);
  }

 private:
  // States of earlier blocks may reach into it.
  void AddGap(Tick gap_begin, Tick gap_end, std::uint64_t line) {
    const Tick from = std::max(gap_begin, end);
    if (from >= gap_end) return;
    if (missing++ == 0) {
      first_missing = from;
      first_missing_line = line;
    }
    missing_ticks += gap_end - from;
  }
};

// Sums over the records of an application. Sentences begin with "line 12".
struct ParaverTally {
  std::uint64_t lines = 0;
  std::uint64_t records = 0;               // this application's
  std::uint64_t mpi_calls_on_threads = 0;  // other than the first of their task
  std::uint64_t damaged = 0;
  std::string first_damage;  // sentence with the field
  Tick last_begin = 0;       // begin of a record: by these the file is in order
  Tick last_tick = 0;
  bool has_mpi_states = false;
  std::uint64_t late = 0;            // records behind the end that the header gives
  std::string first_late;            // sentence
  std::uint64_t not_read = 0;        // records of types that are not read
  std::uint64_t first_not_read = 0;  // line

  // `next` follows behind it in the file.
  void Append(const ParaverTally& next) {
    if (damaged == 0) first_damage = next.first_damage;
    if (late == 0) first_late = next.first_late;
    if (not_read == 0) first_not_read = next.first_not_read;
    not_read += next.not_read;
    lines += next.lines;
    records += next.records;
    damaged += next.damaged;
    late += next.late;
    mpi_calls_on_threads += next.mpi_calls_on_threads;
    has_mpi_states |= next.has_mpi_states;
    last_begin = std::max(last_begin, next.last_begin);
    last_tick = std::max(last_tick, next.last_tick);
  }
};

struct ParaverState {
  Tick begin = 0, end = 0;
  std::uint32_t state = 0;
};

// Records of a thread that is not the first of its task.
struct ParaverThread {
  std::vector<ParaverState> states;
  // Samples of counters by event type, each with the count since the one before.
  std::map<std::uint32_t, std::vector<std::pair<Tick, std::int64_t>>> counts;
};
// Keys: task and number of the thread, from 1 on.
using ParaverThreads = std::map<std::pair<std::uint32_t, std::uint32_t>, ParaverThread>;

struct ParaverBlock;

// The records of one task, in a block or in the whole text.
struct ParaverTaskParts {
  struct Part {
    const std::uint8_t* begin = nullptr;                 // in the bytes of its block
    std::array<std::uint32_t, kParaverStreams> bytes{};  // streams, one behind the other
    const ParaverBlock* block = nullptr;
  };

  std::array<Tick, kParaverStreams> last{};  // times of records
  std::array<bool, kParaverStreams> in_order = {true, true, true};
  ParaverStates states;
  bool has_roots = false;  // the task is root of a collective
  // In a block:
  std::uint32_t task = 0;
  std::array<std::uint32_t, kParaverStreams> bytes{};
  std::array<Tick, kParaverStreams> first{};
  // In the text, in the order of the file:
  std::vector<Part> parts{};
};

struct ParaverBlock {
  static constexpr std::uint32_t kNothing = ~std::uint32_t{0};

  ParaverTally tally;
  std::vector<std::uint8_t> bytes;
  std::vector<ParaverTaskParts> segments;  // in the order of `bytes`; dropped once the block is taken in
  std::vector<std::uint32_t> types;        // event types by their number in this block
  std::vector<ParaverSymbol> symbols;      // indexed by number in this block, from 1 on; 0 is no symbol
  ParaverThreads threads;                  // where they are kept

  // Filled in when all blocks are read:
  std::vector<ParaverEvent> events;     // indexed by type
  std::vector<std::uint32_t> counters;  // indexed by type: index of the counter, else kNothing
  std::vector<std::uint32_t> regions;   // indexed by symbol, from 1 on; kNothing where its name is unknown
};

// `input` outlives all blocks.
ParaverBlock ReadParaverBlock(const ParaverInput& input, const TextBlock& text);

// Reads the records of one stream of a task in the order of the file.
class ParaverStreamReader {
 public:
  ParaverStreamReader(const ParaverTaskParts& task, std::size_t stream) : parts_(task.parts), stream_(stream) {}

  // Goes to the next record and reads its time; false at the end. The numbers of the record are read in their order.
  bool Next();
  Tick time() const { return time_; }
  std::uint64_t Number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const std::uint8_t byte = *at_++;
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
  }
  std::int64_t Signed() {
    const std::uint64_t coded = Number();
    return static_cast<std::int64_t>(coded >> 1) ^ -static_cast<std::int64_t>(coded & 1);
  }
  const ParaverBlock& block() const { return *parts_[next_part_ - 1].block; }

 private:
  const std::uint8_t* Begin(std::size_t part) const;

  std::span<const ParaverTaskParts::Part> parts_;
  const std::size_t stream_;
  std::size_t next_part_ = 0;
  const std::uint8_t* at_ = nullptr;
  const std::uint8_t* end_ = nullptr;
  Tick time_ = 0;
};

// All records of a Paraver text, by task.
struct ParaverRecords : ParaverTally {
  explicit ParaverRecords(std::size_t count) : tasks(count) {}

  // `block` follows behind it in the file.
  void Add(ParaverBlock block);

  std::deque<ParaverBlock> blocks;
  std::uint64_t last_line = 0;
  std::vector<ParaverTaskParts> tasks;
  ParaverThreads threads;
  bool is_cut_short = false;  // ends in the middle of a line
};

// Reads the text behind its header. Throws an input error when the file cannot be read on, or a line is longer than any
// record is.
ParaverRecords ReadParaverRecords(const ParaverInput& input, ParaverText& text);

}  // namespace farscale
