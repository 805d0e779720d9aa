#include "collect/trace_room.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstring>
#include <iterator>

#include "collect/packing.h"
#include "collect/page_file.h"

namespace farscale::collect {
namespace {

constexpr std::size_t kPageBytes = 4096;  // a divisor of the page size of any processor we run on
constexpr std::size_t kHeadBytes = (sizeof(RoomHead) + kPageBytes - 1) / kPageBytes * kPageBytes;

// The MPI and the program need shared memory, too; chosen: a rank takes at most a quarter of what is left.
constexpr std::size_t kShareOfFree = 4;

bool IsRoomFor(std::size_t bytes) {
  struct statvfs disk {};
  return statvfs(PageFolder().c_str(), &disk) == 0 && bytes <= disk.f_bavail * disk.f_frsize / kShareOfFree;
}

void* MapShared(const std::string& path, std::size_t bytes) {
  if (!IsRoomFor(bytes)) return nullptr;
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return nullptr;
  void* memory = MAP_FAILED;
  if (posix_fallocate(file, 0, static_cast<off_t>(bytes)) == 0) {
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  close(file);
  if (memory != MAP_FAILED) return memory;
  unlink(path.c_str());
  return nullptr;
}

void* MapOwn(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, bytes, MADV_HUGEPAGE);
  return memory;
}

// The first touch of a page of memory takes longer than the calls whose events it holds.
void Touch(char* memory, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += kPageBytes) static_cast<volatile char*>(memory)[i] = 0;
}

void Append(RankDefinitions& to, RankDefinitions&& more) {
  const auto append = [](auto& list, auto& added) {
    list.insert(list.end(), std::make_move_iterator(added.begin()), std::make_move_iterator(added.end()));
  };
  append(to.calls, more.calls);
  append(to.communicators, more.communicators);
  append(to.windows, more.windows);
  append(to.groups, more.groups);
  append(to.offsets, more.offsets);
  append(to.teams, more.teams);
}

constexpr unsigned kBitsInMemory = 16;

}  // namespace

Chunks ChunksOf(const RoomHead& head) {
  const std::uint64_t both = __atomic_load_n(&head.chunks, __ATOMIC_RELAXED);
  return {both >> kBitsInMemory, both & ((1U << kBitsInMemory) - 1)};
}

void SetChunks(RoomHead& head, Chunks chunks) {
  __atomic_store_n(&head.chunks, chunks.in_file << kBitsInMemory | chunks.in_memory, __ATOMIC_RELEASE);
}

std::string RoomPath(const std::string& job, int rank) { return PagePath(job, rank) + ".trace"; }
std::string EstimateFolder(const std::string& job) { return PagePath(job, 0) + ".estimate"; }

Room CreateRoom(const std::string& path, std::size_t chunks) {
  const std::size_t bytes = chunks * kEventChunk;
  Room room;
  bool is_shared = true;
  auto* memory = static_cast<char*>(MapShared(path, kHeadBytes + bytes));
  if (memory != nullptr) {
    room.chunks = memory + kHeadBytes;
  } else {
    is_shared = false;
    memory = static_cast<char*>(MapShared(path, kHeadBytes));
    if (memory == nullptr) memory = static_cast<char*>(MapOwn(kHeadBytes));
    room.chunks = static_cast<char*>(MapOwn(bytes));
  }
  if (memory == nullptr || room.chunks == nullptr) return {};
  Touch(room.chunks, bytes);
  room.head = reinterpret_cast<RoomHead*>(memory);
  std::memcpy(room.head->magic, kRoomMagic, sizeof kRoomMagic);
  room.head->version = kRoomVersion;
  room.head->shared_chunks = is_shared ? chunks : 0;
  return room;
}

Room MapRoom(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return {};
  struct stat status {};
  const bool is_good = fstat(file, &status) == 0 && status.st_uid == geteuid() && S_ISREG(status.st_mode) &&
                       static_cast<std::size_t>(status.st_size) >= kHeadBytes;
  const auto bytes = static_cast<std::size_t>(status.st_size);
  void* memory = is_good ? mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
  close(file);
  if (memory == MAP_FAILED) return {};
  auto* head = static_cast<RoomHead*>(memory);
  const bool is_room = std::memcmp(head->magic, kRoomMagic, sizeof kRoomMagic) == 0 && head->version == kRoomVersion &&
                       head->shared_chunks <= (bytes - kHeadBytes) / kEventChunk;
  if (is_room) return {head, static_cast<char*>(memory) + kHeadBytes};
  munmap(memory, bytes);
  return {};
}

void LogDefinitions(RoomHead& head, const RankDefinitions& added) {
  const std::string packed = Pack(added);
  const auto size = static_cast<std::uint64_t>(packed.size());
  if (size + sizeof size > kLogBytes - head.log_bytes) {
    head.is_log_full = 1;
    return;
  }
  std::memcpy(head.log + head.log_bytes, &size, sizeof size);
  std::memcpy(head.log + head.log_bytes + sizeof size, packed.data(), packed.size());
  __atomic_store_n(&head.log_bytes, head.log_bytes + sizeof size + size, __ATOMIC_RELEASE);
}

std::optional<RankDefinitions> DefinitionsInLog(const std::string& log) {
  RankDefinitions all;
  for (std::size_t at = 0; at < log.size();) {
    std::uint64_t size = 0;
    if (log.size() - at < sizeof size) return std::nullopt;
    std::memcpy(&size, log.data() + at, sizeof size);
    at += sizeof size;
    RankDefinitions added;
    if (size > log.size() - at || !Unpack(std::string_view(log).substr(at, size), added)) return std::nullopt;
    Append(all, std::move(added));
    at += size;
  }
  return all;
}

}  // namespace farscale::collect
