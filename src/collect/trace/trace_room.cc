#include "collect/trace/trace_room.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

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

namespace {

// A chunk of OTF2 is a header (its mark, the byte order, the numbers of its first and its last event) and records; a
// record is a byte of type, one with its length, and so many bytes. Time stamps are nine bytes, and no events.
constexpr std::uint8_t kEndOfFile = 2, kChunkHeader = 3, kTimeStamp = 5, kFirstEvent = 10;
constexpr std::uint8_t kLongRecord = 0xFF;  // the length follows in eight bytes
constexpr std::size_t kHeaderBytes = 18, kFirstAt = 2, kLastAt = 10;

std::uint64_t NumberAt(const std::uint8_t* bytes) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes, sizeof number);
  return number;
}

// Where records end, and how many events are before that.
struct Walked {
  std::size_t end = kHeaderBytes;
  std::uint64_t events = 0;
  std::uint64_t last_time = 0;
};

Walked Walk(const std::uint8_t* chunk, std::size_t size, std::uint64_t most) {
  Walked walked;
  std::uint64_t time = 0;
  std::size_t at = kHeaderBytes;
  while (walked.events < most && at + 2 <= size) {
    const std::uint8_t type = chunk[at];
    std::size_t next = at + 9;
    if (type != kTimeStamp) {
      const std::uint8_t length = chunk[at + 1];
      if (type < kTimeStamp || (length == kLongRecord && at + 10 > size)) break;
      next = at + 2 + length;
      if (length == kLongRecord) {
        const std::uint64_t bytes = NumberAt(chunk + at + 2);
        if (bytes > size) break;
        next = at + 10 + static_cast<std::size_t>(bytes);
      }
    }
    if (next > size) break;
    if (type == kTimeStamp) time = NumberAt(chunk + at + 1);
    at = next;
    if (type < kFirstEvent) continue;
    ++walked.events;
    walked.end = at;
    walked.last_time = time;
  }
  return walked;
}

class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : file_(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW)) {}
  ~OpenFile() {
    if (file_ >= 0) close(file_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  std::uint64_t Size() const {
    struct stat status {};
    return file_ >= 0 && fstat(file_, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
  }
  bool Read(void* to, std::size_t bytes, std::uint64_t at) const {
    return pread(file_, to, bytes, static_cast<off_t>(at)) == static_cast<ssize_t>(bytes);
  }
  bool Write(const void* from, std::size_t bytes, std::uint64_t at) const {
    return pwrite(file_, from, bytes, static_cast<off_t>(at)) == static_cast<ssize_t>(bytes);
  }
  bool Cut(std::uint64_t bytes) const { return ftruncate(file_, static_cast<off_t>(bytes)) == 0; }

 private:
  const int file_;
};

}  // namespace

std::optional<EventFile> EndEventFile(const std::string& path, std::uint64_t events) {
  const OpenFile file(path);
  const std::uint64_t size = file.Size();
  for (std::uint64_t chunk = (size + kEventChunk - 1) / kEventChunk; chunk-- > 0;) {
    const std::uint64_t begin = chunk * kEventChunk;
    std::vector<std::uint8_t> bytes(std::min(kEventChunk, size - begin));
    if (bytes.size() <= kHeaderBytes || !file.Read(bytes.data(), bytes.size(), begin)) continue;
    const std::uint64_t first = NumberAt(&bytes[kFirstAt]);
    if (bytes[0] != kChunkHeader || first == 0 || (first > events && chunk > 0)) continue;
    const Walked walked = Walk(bytes.data(), bytes.size(), events >= first ? events - first + 1 : 0);
    // A chunk without an event begins with one of the others; the one before it is as good an end.
    if (walked.events == 0 && chunk > 0) continue;
    const std::uint64_t last = first - 1 + walked.events;
    const bool is_ended = file.Write(&last, sizeof last, begin + kLastAt) &&
                          file.Write(&kEndOfFile, 1, begin + walked.end) && file.Cut(begin + walked.end + 1);
    return is_ended ? std::optional(EventFile{last, walked.last_time}) : std::nullopt;
  }
  return std::nullopt;
}

std::uint64_t UsedOfChunk(const char* chunk, std::uint64_t events) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(chunk);
  const std::uint64_t first = NumberAt(bytes + kFirstAt);
  return Walk(bytes, kEventChunk, events >= first ? events - first + 1 : 0).end;
}

}  // namespace farscale::collect
