#include "trace/paraver_records.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <unordered_map>

#include "base/text.h"

namespace farscale {
namespace {

constexpr Tick kFurthestTick = Tick{1} << 60;  // chosen: beyond any clock, and sums of some do not overflow
constexpr std::uint32_t kNone = ~std::uint32_t{0};

std::uint64_t ZigZag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

constexpr std::size_t kLongestNumber = 10;  // bytes of 64 bits

// The bytes of all records in the order of the file. With many tasks a block has few records of each, so that they are
// kept in one place and sorted by task at the end. Its memory serves one block after the other.
class RecordLog {
 public:
  // Forgets the block before.
  void Clear(std::size_t tasks) {
    size_ = 0;
    pieces_.clear();
    segments_.clear();
    segment_of_.assign(tasks, kNone);
  }

  // Begins the record of a stream with its time and room for so many numbers behind that.
  void Begin(std::uint32_t task, std::size_t stream, std::size_t numbers, Tick time) {
    std::uint32_t& index = segment_of_[task];
    if (index == kNone) {
      index = static_cast<std::uint32_t>(segments_.size());
      segments_.emplace_back().task = task;
    }
    const std::size_t most = size_ + (numbers + 1) * kLongestNumber;
    if (most > bytes_.size()) bytes_.resize(std::max(most, 2 * bytes_.size()));
    begin_ = at_ = bytes_.data() + size_;
    stream_ = static_cast<std::uint32_t>(stream);
    segment_ = index;
    ParaverTaskParts& segment = segments_[index];
    Put(ZigZag(time - segment.last[stream_]));
    if (segment.bytes[stream_] == 0) {
      segment.first[stream_] = time;
    } else if (time < segment.last[stream_]) {
      segment.in_order[stream_] = false;
    }
    segment.last[stream_] = time;
  }
  void Put(std::uint64_t value) {
    while (value >= 0x80) {
      *at_++ = static_cast<std::uint8_t>(value | 0x80);
      value >>= 7;
    }
    *at_++ = static_cast<std::uint8_t>(value);
  }
  // Returns the segment of the record.
  ParaverTaskParts& End() {
    const auto length = static_cast<std::uint32_t>(at_ - begin_);
    pieces_.emplace_back(segment_ * kParaverStreams + stream_, length);
    ParaverTaskParts& segment = segments_[segment_];
    segment.bytes[stream_] += length;
    size_ += length;
    return segment;
  }

  // Copies the records of each stream to where its bytes go.
  void SortInto(ParaverBlock& block) {
    std::vector<std::uint32_t> targets;  // one a stream of every segment: where its next bytes go
    std::uint32_t size = 0;
    for (const ParaverTaskParts& segment : segments_) {
      for (const std::uint32_t bytes : segment.bytes) {
        targets.push_back(size);
        size += bytes;
      }
    }
    block.bytes.resize(size);
    const std::uint8_t* from = bytes_.data();
    for (const auto& [stream, length] : pieces_) {
      std::memcpy(block.bytes.data() + targets[stream], from, length);
      targets[stream] += length;
      from += length;
    }
    block.segments = std::move(segments_);
  }

 private:
  std::vector<std::uint8_t> bytes_;
  std::size_t size_ = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pieces_;  // streams of segments, and lengths
  std::vector<ParaverTaskParts> segments_;                       // one a task of the block
  std::vector<std::uint32_t> segment_of_;                        // indexed by task
  std::uint8_t* begin_ = nullptr;                                // where the record at hand begins
  std::uint8_t* at_ = nullptr;
  std::uint32_t segment_ = 0, stream_ = 0;
};

constexpr std::array<std::uint64_t, 9> kPowersOfTen = {1,       10,        100,        1'000,      10'000,
                                                       100'000, 1'000'000, 10'000'000, 100'000'000};

// The number that begins the next eight bytes, and the number of its digits, at most eight. Eight at a time, since the
// lengths of numbers cannot be foreseen.
std::uint64_t NextDigits(const char* at, int& digits) {
  constexpr std::uint64_t kOfEach = 0x0101010101010101u;
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  word ^= '0' * kOfEach;
  const std::uint64_t others = (((word & 0x7F * kOfEach) + 0x76 * kOfEach) | word) & 0x80 * kOfEach;  // above 9
  digits = std::countr_zero(others) / 8;
  if (digits == 0) return 0;
  word <<= 64 - 8 * digits;  // zeros in front
  word = (10 * word + (word >> 8)) & 0x00FF00FF00FF00FFu;
  word = (100 * word + (word >> 16)) & 0x0000FFFF0000FFFFu;
  return (10'000 * word + (word >> 32)) & 0xFFFFFFFFu;
}
static_assert(std::endian::native == std::endian::little, "the first digit is the lowest byte");

class BlockReader {
 public:
  BlockReader(const ParaverInput& input, RecordLog& log) : input_(input), log_(log) {
    log_.Clear(input.chosen().tasks.size());
  }

  ParaverBlock Read(const TextBlock& text) {
    first_line_ = text.first_line;
    const char* at = text.text.data();
    const char* const end = at + text.text.size();
    while (at != end) {
      const char* const line_end = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
      try {
        ReadLine(at, line_end);
      } catch (const std::invalid_argument& damage) {
        if (block_.tally.damaged++ == 0) block_.tally.first_damage = damage.what();
      }
      ++block_.tally.lines;
      at = line_end + 1;
    }
    log_.SortInto(block_);
    return std::move(block_);
  }

 private:
  // Task and thread, both from 0 on; nothing for those of other applications.
  using Place = std::optional<std::pair<std::uint32_t, std::uint32_t>>;

  void ReadLine(const char* begin, const char* end) {
    at_ = begin;
    end_ = end > begin && end[-1] == '\r' ? end - 1 : end;
    field_ = 0;
    if (at_ == end_ || (*at_ == '#' && (end_ - at_ < 2 || at_[1] != ':'))) return;
    if (end_ - at_ < 2 || at_[1] != ':') Fail("", fmt::format("'{}' is no record", Shown(at_)));
    const char type = *at_;
    at_ += 2;
    field_ = 1;
    switch (type) {
      case '1': ReadState(); break;
      case '2': ReadEvents(); break;
      case '3': ReadMessage(); break;
      case '4':  // a global operation; in old traces they are also events
        while (at_ <= end_) SignedNumber("number");
        if (block_.tally.not_read++ == 0) block_.tally.first_not_read = Line();
        break;
      case 'c':
      case 'i': ReadDefinition(); break;
      default: field_ = 0; Fail("", fmt::format("'{}' is no record type", ToUtf8({&type, 1})));
    }
  }

  // Definitions behind the header, of another application or repeated. c:appl:communicator:count:members
  void ReadDefinition() {
    const bool is_list = at_[-2] == 'c';
    Number("application", kNone);
    Number("communicator", ~std::uint64_t{0});
    const std::uint64_t count = Number(is_list ? "size" : "first group", ~std::uint64_t{0});
    std::uint64_t members = 0;
    for (; at_ <= end_; ++members) SignedNumber("member");
    if (is_list && members != count) {
      Fail("size", fmt::format("the communicator has {} members, but {} follow", count, members));
    }
  }

  // 1:cpu:appl:task:thread:begin:end:state
  void ReadState() {
    const Place place = ReadPlace();
    const Tick begin = Time("begin");
    const Tick end = Time("end");
    if (end < begin) Fail("end", fmt::format("the state ends at {}, before it begins at {}", end, begin));
    const auto state = static_cast<std::uint32_t>(Number("state", 1u << 30));
    if (at_ <= end_) Fail("state", "the record goes on behind its last field");
    if (!Takes(place, begin, end)) {
      if (place && input_.options.keep_threads) ThreadAt(*place).states.push_back({begin, end, state});
      return;
    }
    block_.tally.has_mpi_states |= IsParaverMpiState(state);
    log_.Begin(place->first, kParaverStates, 2, begin);
    log_.Put(static_cast<std::uint64_t>(end - begin));
    log_.Put(state);
    log_.End().states.Add(begin, end, state, Line());
  }

  // 2:cpu:appl:task:thread:time:type:value[:type:value...]
  void ReadEvents() {
    const Place place = ReadPlace();
    const Tick time = Time("time");
    pairs_.clear();
    thread_counts_.clear();
    const bool keeps_counts = input_.options.keep_threads && place && place->second > 0;
    bool has_root = false;
    do {
      const auto type = static_cast<std::uint32_t>(Number("event type", kNone));
      const std::int64_t value = SignedNumber("value");
      const EventType& entry = TypeOf(type);
      if (entry.event == ParaverEvent::kIgnored) continue;
      if (entry.event == ParaverEvent::kCaller && value == 0) continue;  // recorded where the call is left
      if (entry.event == ParaverEvent::kCommunicator && place) {
        const auto& known = input_.chosen().communicator_index;
        const auto id = static_cast<std::uint64_t>(value);
        // Without any, all may be named.
        if (!known.empty() && id != known_communicator_ && !known.contains(id)) {
          Fail("value", fmt::format("there is no communicator {}: the header defines {}", id, known.size()));
        }
        if (!known.empty()) known_communicator_ = id;
      }
      if (HasSymbols(entry.event)) {
        pairs_.emplace_back(entry.index, SymbolOf(type, static_cast<std::uint64_t>(value)));
        if (entry.event == ParaverEvent::kMpi && value != 0 && place && place->second > 0) {
          ++block_.tally.mpi_calls_on_threads;
        }
      } else {
        pairs_.emplace_back(entry.index, ZigZag(value));
        if (keeps_counts && entry.event == ParaverEvent::kCounter) thread_counts_.emplace_back(type, value);
        has_root |= entry.event == ParaverEvent::kRoot;
      }
    } while (at_ <= end_);
    for (const auto& [type, count] : thread_counts_) ThreadAt(*place).counts[type].emplace_back(time, count);
    if (!Takes(place, time, time) || pairs_.empty()) return;
    log_.Begin(place->first, kParaverEvents, 1 + 2 * pairs_.size(), time);
    log_.Put(pairs_.size());
    for (const auto& [index, coded] : pairs_) {
      log_.Put(index);
      log_.Put(coded);
    }
    log_.End().has_roots |= has_root;
  }

  struct EventType {
    std::uint32_t type = 0;
    ParaverEvent event = ParaverEvent::kIgnored;
    std::uint32_t index = 0;  // among the types kept
    std::uint32_t next = 0;   // index of the one that came after it the last time
  };

  // Events follow each other in the same order again and again.
  const EventType& TypeOf(std::uint32_t type) {
    if (!types_.empty()) {
      const std::uint32_t guess = types_[last_type_].next;
      if (types_[guess].type == type) {
        last_type_ = guess;
        return types_[guess];
      }
    }
    const auto [found, is_new] = type_numbers_.try_emplace(type, static_cast<std::uint32_t>(types_.size()));
    if (is_new) {
      ParaverEvent event = ClassifyParaverEvent(type);
      if (event == ParaverEvent::kCounter && !input_.options.Keeps(ParaverCounter(input_, type).name)) {
        event = ParaverEvent::kIgnored;
      }
      types_.push_back({type, event, static_cast<std::uint32_t>(block_.types.size()), found->second});
      if (event != ParaverEvent::kIgnored) block_.types.push_back(type);
    }
    types_[last_type_].next = found->second;
    last_type_ = found->second;
    return types_[last_type_];
  }

  std::uint32_t SymbolOf(std::uint32_t type, std::uint64_t value) {
    if (value == 0) return 0;
    std::vector<ParaverSymbol>& symbols = block_.symbols;
    const std::uint64_t hash = (type * 0x9E3779B97F4A7C15u) ^ (value * 0xC2B2AE3D27D4EB4Fu);
    std::uint32_t& cached = symbol_cache_[(hash >> 40) % symbol_cache_.size()];
    if (cached != 0 && symbols[cached - 1] == ParaverSymbol(type, value)) return cached;
    std::vector<std::uint32_t>& alike = symbol_numbers_[hash];
    for (const std::uint32_t symbol : alike) {
      if (symbols[symbol - 1] == ParaverSymbol(type, value)) return cached = symbol;
    }
    symbols.emplace_back(type, value);
    alike.push_back(static_cast<std::uint32_t>(symbols.size()));
    return cached = alike.back();
  }

  // Records of one thread follow each other.
  ParaverThread& ThreadAt(const std::pair<std::uint32_t, std::uint32_t>& at) {
    if (thread_ == nullptr || thread_->first != at) thread_ = &*block_.threads.try_emplace(at).first;
    return thread_->second;
  }

  // 3:cpu:appl:task:thread:lsend:psend:cpu:appl:task:thread:lrecv:precv:size:tag
  void ReadMessage() {
    const Place sender = ReadPlace();
    const Tick logical_send = Time("logical send");
    const Tick physical_send = Time("physical send");
    const Place receiver = ReadPlace();
    const Tick logical_receive = Time("logical receive");
    const Tick physical_receive = Time("physical receive");
    const std::uint64_t bytes = Number("size", std::uint64_t{1} << 62);
    const auto tag = static_cast<std::uint32_t>(SignedNumber("tag"));
    if (at_ <= end_) Fail("tag", "the record goes on behind its last field");
    if (sender) Note(logical_send, physical_send);
    if (receiver) Note(logical_send, physical_receive);
    if (!sender || !receiver) return;  // between applications: no message of this one
    ++block_.tally.records;
    if (sender->second > 0 || receiver->second > 0) return;  // the call that it belongs to is not part of the analysis
    for (const bool is_send : {true, false}) {
      const auto [task, peer] =
          is_send ? std::pair(sender->first, receiver->first) : std::pair(receiver->first, sender->first);
      log_.Begin(task, kParaverMessages, 5, logical_send);
      log_.Put(static_cast<std::uint64_t>(peer) << 1 | (is_send ? 1 : 0));
      log_.Put(ZigZag(logical_receive - logical_send));
      log_.Put(ZigZag(physical_receive - logical_receive));
      log_.Put(bytes);
      log_.Put(tag);
      log_.End();
    }
  }

  // cpu:appl:task:thread
  Place ReadPlace() {
    Number("processor", kNone);
    const std::uint64_t application = Number("application", kNone);
    if (application < 1 || application > input_.applications.size()) {
      Fail("application",
           fmt::format("there is no application {}: the header lists {}", application, input_.applications.size()));
    }
    const auto& tasks = input_.applications[application - 1].tasks;
    const std::uint64_t task = Number("task", kNone);
    if (task < 1 || task > tasks.size()) {
      Fail("task", fmt::format("there is no task {}: the header lists {}", task, tasks.size()));
    }
    const std::uint64_t thread = Number("thread", kNone);
    const std::int32_t threads = tasks[task - 1].second;
    if (thread < 1 || thread > static_cast<std::uint64_t>(threads)) {
      Fail("thread", fmt::format("there is no thread {}: the header lists {} of task {}", thread, threads, task));
    }
    if (application - 1 != input_.application) return std::nullopt;
    return std::pair(static_cast<std::uint32_t>(task - 1), static_cast<std::uint32_t>(thread - 1));
  }

  bool Takes(const Place& place, Tick begin, Tick end) {
    if (!place) return false;
    Note(begin, end);
    ++block_.tally.records;
    return place->second == 0;
  }

  void Note(Tick begin, Tick end) {
    block_.tally.last_begin = std::max(block_.tally.last_begin, begin);
    block_.tally.last_tick = std::max(block_.tally.last_tick, end);
    if (input_.duration == 0 || end <= input_.duration) return;
    if (block_.tally.late++ == 0) {
      block_.tally.first_late =
          fmt::format("line {}: time {} lies behind the end at {} that the header gives", Line(), end, input_.duration);
    }
  }

  // Each reads a field up to its colon, and leaves at_ behind it: one past end_ after the last field.
  std::uint64_t Number(const char* name, std::uint64_t most) {
    ++field_;
    if (at_ >= end_) Fail(name, "the record has too few fields");
    std::uint64_t value = 0;
    const char* const begin = at_;
    int digits = 8;
    while (digits == 8 && end_ - at_ >= 8) {
      const std::uint64_t eight = NextDigits(at_, digits);
      value = kPowersOfTen[static_cast<std::size_t>(digits)] * value + eight;
      at_ += digits;
    }
    for (unsigned digit; digits == 8 && (digit = static_cast<unsigned>(*at_ - '0')) <= 9; ++at_) {
      value = 10 * value + digit;  // no line ends with a digit
    }
    const bool is_number = at_ != begin && (at_ == end_ || *at_ == ':');
    if (!is_number) Fail(name, fmt::format("'{}' is not a number", Shown(begin)));
    constexpr std::ptrdiff_t kMostDigits = 20;  // that 64 bits may have; not all such numbers fit
    std::uint64_t exact = 0;
    const bool overflows = at_ - begin > kMostDigits ||
                           (at_ - begin == kMostDigits && std::from_chars(begin, at_, exact).ec != std::errc());
    if (value > most || overflows) Fail(name, fmt::format("{} is too large", Shown(begin)));
    ++at_;
    return value;
  }

  // Values are unsigned numbers of 64 bits for some tools.
  std::int64_t SignedNumber(const char* name) {
    const bool is_negative = at_ < end_ && *at_ == '-';
    if (is_negative) ++at_;
    const std::uint64_t value = Number(name, ~std::uint64_t{0});
    return static_cast<std::int64_t>(is_negative ? 0 - value : value);
  }

  Tick Time(const char* name) {
    if (at_ < end_ && *at_ == '-') {
      ++field_;
      Fail(name, fmt::format("the time {} is negative", Shown(at_)));
    }
    return static_cast<Tick>(Number(name, static_cast<std::uint64_t>(kFurthestTick)));
  }

  std::string Shown(const char* begin) const {
    const char* end = begin;
    while (end < end_ && *end != ':' && end - begin < 24) ++end;
    return ToUtf8({begin, static_cast<std::size_t>(end - begin)});
  }

  [[noreturn]] void Fail(const char* name, const std::string& what) {
    const std::string field = field_ > 0 ? fmt::format(", field {} ({})", field_, name) : "";
    throw std::invalid_argument(fmt::format("line {}{}: {}", Line(), field, what));
  }

  std::uint64_t Line() const { return first_line_ + block_.tally.lines; }

  const ParaverInput& input_;
  RecordLog& log_;
  std::uint64_t first_line_ = 0;
  // In the record at hand: numbers of types, with symbols or values; types with counts.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> pairs_;
  std::vector<std::pair<std::uint32_t, std::int64_t>> thread_counts_;
  std::vector<EventType> types_;
  std::unordered_map<std::uint32_t, std::uint32_t> type_numbers_;
  std::uint32_t last_type_ = 0;
  std::array<std::uint32_t, 256> symbol_cache_{};
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> symbol_numbers_;  // keys: hashes
  ParaverBlock block_;
  ParaverThreads::value_type* thread_ = nullptr;     // that of the last record that is kept
  std::optional<std::uint64_t> known_communicator_;  // the last one that was named
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  int field_ = 0;
};

}  // namespace

ParaverEvent ClassifyParaverEvent(std::uint32_t type) {
  switch (type) {
    case 50100001: return ParaverEvent::kSendSize;
    case 50100002: return ParaverEvent::kReceiveSize;
    case 50100003: return ParaverEvent::kRoot;
    case 50100004: return ParaverEvent::kCommunicator;
    case 40000001: return ParaverEvent::kApplication;
    case 40000003: return ParaverEvent::kFlush;
    case 40000012: return ParaverEvent::kTracing;
    case 40000018: return ParaverEvent::kTracingMode;
    case kParaverCudaCall: return ParaverEvent::kUserEvent;
    case 60000018:  // outlined parallel regions of OpenMP
    case 60000019: return ParaverEvent::kFunction;
    default: break;
  }
  const auto within = [&](std::uint32_t first, std::uint32_t last) { return type >= first && type <= last; };
  if (within(50000001, 50000005)) return ParaverEvent::kMpi;
  if (within(70000001, 70000099)) return ParaverEvent::kCaller;
  if (within(42000000, 44999999) || within(46000000, 46999999)) return ParaverEvent::kCounter;
  // The tools number their own events from 40000000 on, samples of callers from 30000000 on and those of OmpSs from
  // 9000000 on. What is left are the program's.
  if (within(1, 8999999) || within(10000000, 29999999)) return ParaverEvent::kUserEvent;
  return ParaverEvent::kIgnored;
}

ParaverBlock ReadParaverBlock(const ParaverInput& input, const TextBlock& text) {
  thread_local RecordLog log;
  return BlockReader(input, log).Read(text);
}

const std::uint8_t* ParaverStreamReader::Begin(std::size_t part) const {
  const auto& [begin, bytes, block] = parts_[part];
  return std::accumulate(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(stream_), begin);
}

bool ParaverStreamReader::Next() {
  while (at_ == end_) {
    if (next_part_ == parts_.size()) return false;
    const std::size_t part = next_part_++;
    at_ = Begin(part);
    end_ = at_ + parts_[part].bytes[stream_];
    time_ = 0;
    // With many tasks the parts lie far from each other.
    if (next_part_ < parts_.size()) __builtin_prefetch(Begin(next_part_));
  }
  time_ += Signed();
  return true;
}

}  // namespace farscale
