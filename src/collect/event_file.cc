#include "collect/event_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "collect/trace_definitions.h"

namespace farscale::collect {
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
