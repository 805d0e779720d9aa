#include "base/large_arrays.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <mutex>

#include "base/memory_file.h"

namespace farscale {
namespace {

std::atomic<std::uint64_t> most_in_memory = std::numeric_limits<std::uint64_t>::max();
std::atomic<std::uint64_t> bytes_in_memory = 0;
std::atomic<MemoryFile*> overflow = nullptr;  // never closed: arrays live until the program ends
std::once_flag overflow_is_opened;

// Kept for small arrays, until the system refuses a large one. Chosen: a fifth of what code and libraries take anyway.
constexpr std::size_t kReserve = 8 << 20;
std::atomic<void*> reserve = nullptr;

// The allocator of the system may return a little more than was asked for. What it returned decides whether an array is
// large, since that is known again when it is freed.
constexpr std::size_t kRoundedUp = 64;

bool IsSurelySmall(std::size_t bytes) { return bytes + kRoundedUp < kLargeArray; }

void* InMemory(std::size_t bytes) {
  void* array = std::malloc(bytes > 0 ? bytes : 1);
  if (IsSurelySmall(bytes) || array == nullptr) return array;
  if (const std::size_t size = malloc_usable_size(array); size >= kLargeArray) {
    bytes_in_memory.fetch_add(size, std::memory_order_relaxed);
  }
  return array;
}

void* InFile(std::size_t bytes) {
  std::call_once(overflow_is_opened, [] { overflow = MemoryFile::InTemporaryFolder().release(); });
  MemoryFile* opened = overflow.load(std::memory_order_acquire);
  return opened != nullptr ? opened->Allocate(bytes) : nullptr;
}

// The system has refused memory that the budget allows. Small arrays will need some, so that large ones may no longer
// take all of it.
void LeaveRoom() {
  std::free(reserve.exchange(nullptr));
  // Chosen: a search for waits in a trace of six times the memory has room so [tests/memory_test.py tries three].
  const std::uint64_t most = bytes_in_memory.load(std::memory_order_relaxed) / 4 * 3;
  std::uint64_t before = most_in_memory.load(std::memory_order_relaxed);
  while (most < before && !most_in_memory.compare_exchange_weak(before, most)) continue;
}

}  // namespace

void LimitLargeArrays(std::uint64_t bytes) {
  most_in_memory = bytes;
  std::free(reserve.exchange(std::malloc(kReserve)));
}

std::uint64_t ShareOfLargeArrays(std::uint64_t budget) {
  constexpr std::uint64_t kRest = 96 << 20;  // chosen with room to spare: code, libraries and stacks take 40 MB
  return budget > 2 * kRest ? (budget - kRest) / 8 * 7 : budget / 4;
}

void* AllocateArray(std::size_t bytes) {
  if (bytes < kLargeArray) return InMemory(bytes);
  const bool fits =
      bytes_in_memory.load(std::memory_order_relaxed) + bytes <= most_in_memory.load(std::memory_order_relaxed);
  if (!fits) {
    if (void* array = InFile(bytes)) return array;
  }
  void* array = InMemory(bytes);
  if (array != nullptr || !fits) return array;
  LeaveRoom();
  array = InFile(bytes);
  return array != nullptr ? array : InMemory(bytes);
}

void FreeArray(void* array) {
  if (array == nullptr) return;
  MemoryFile* opened = overflow.load(std::memory_order_acquire);
  if (opened != nullptr && opened->Contains(array)) return opened->Free(array);
  if (const std::size_t size = malloc_usable_size(array); size >= kLargeArray) {
    bytes_in_memory.fetch_sub(size, std::memory_order_relaxed);
  }
  std::free(array);
}

void FreeArray(void* array, std::size_t bytes) { return IsSurelySmall(bytes) ? std::free(array) : FreeArray(array); }

}  // namespace farscale
