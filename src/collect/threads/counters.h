// Instructions and cycles of the thread that opens them: read from the processor where the kernel lets programs do so,
// else by a system call, or through PAPI where that is asked for.
#pragma once

#include <linux/perf_event.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace farscale::collect {

struct Counts {
  std::uint64_t instructions = 0;
  std::uint64_t cycles = 0;
};

enum class CounterAccess : std::uint8_t {
  kRegisters,    // the processor's own instruction, rdpmc
  kSystemCalls,  // read(2), which costs as much as short MPI calls
  kPapi,
  kForbidden,  // the kernel forbids it
  kMissing,    // the machine has none, or the kernel does not know them
  kNoPapi,     // there is no libpapi that can be loaded and has both counters
};

constexpr bool IsOpen(CounterAccess access) { return access <= CounterAccess::kPapi; }

// As perf_event_open(2) has it.
struct CounterEvent {
  std::uint32_t type = PERF_TYPE_HARDWARE;
  std::uint64_t config = 0;
};

struct CounterEvents {
  CounterEvent instructions = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS};
  CounterEvent cycles = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES};
};

// "4:0xc0,4:0x3c": types and configurations of instructions and cycles; nothing where it is not that.
std::optional<CounterEvents> ParseCounterEvents(const std::string& text);

// Both counters of the thread that opens them; they count together or not at all.
class CounterPair {
 public:
  CounterPair() = default;
  ~CounterPair() { Close(); }
  CounterPair(const CounterPair&) = delete;
  CounterPair& operator=(const CounterPair&) = delete;

  // After closing what was open.
  CounterAccess Open(const CounterEvents& events);
  void Close();
  bool is_open() const { return IsOpen(access_); }
  // Since they were opened, by the same thread; nothing where they are not open.
  Counts Read();
  std::uint64_t system_calls() const { return system_calls_; }

 private:
  struct Counter {
    int file = -1;
    const volatile perf_event_mmap_page* state = nullptr;  // for those that programs may read themselves
  };
  static CounterAccess Open(const CounterEvent& event, int group, Counter& counter);
  static void Close(Counter& counter);
  static std::uint64_t ReadRegister(const Counter& counter);
  Counts ReadGroup();

  CounterAccess access_ = CounterAccess::kMissing;
  Counter instructions_, cycles_;
  std::uint64_t system_calls_ = 0;
  Counts last_;
};

// Those of the main thread, of one of both kinds.
CounterAccess OpenCounters(const CounterEvents& events = {});
CounterAccess OpenCountersOfPapi();
void CloseCounters();
Counts ReadCounts();

// For other threads: the events that the main thread counts, by the kernel. False where that cannot be.
bool OpenCountersAsMain(CounterPair& counters);

// Nanoseconds that reading took since the main thread's were opened; 0 where it takes no system calls.
double TimeOfReading();
// That of one system call; known where the main thread needs them.
double TimeOfSystemCall();

// True if reading by system calls takes too long: more than a share of the time since the run began, which a burst of
// calls at its begin may exceed. Both in nanoseconds. Chosen: what measuring may cost.
inline bool TakesTooLong(double reading, double elapsed) {
  constexpr double kMostOfTime = 0.02, kShortestTime = 5e9;
  return reading > kMostOfTime * std::max(elapsed, kShortestTime);
}

// Counters through PAPI, for processors that the kernel counts on but has no names for. The library is loaded when it
// is asked for, so that farscale neither needs it to be built nor depends on one of its versions.

// For the calling thread. False, with nothing left, where there is no libpapi, or it does not count both.
bool StartPapi();
Counts ReadPapi();
void StopPapi();

}  // namespace farscale::collect
