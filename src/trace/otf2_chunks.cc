#include "trace/otf2_chunks.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <fstream>
#include <optional>
#include <vector>

#include "base/error.h"

namespace farscale {
namespace {

// A chunk is a header (its mark, the byte order, the first and last event) and records up to the mark of its end. A
// record is a byte of type, its length and so many bytes; only the time stamps of event files have a fixed length.
constexpr std::uint8_t kEndOfChunk = 0;
constexpr std::uint8_t kEndOfFile = 2;
constexpr std::uint8_t kTimeStamp = 5;
constexpr std::size_t kHeaderBytes = 18;
constexpr std::uint8_t kLittleEndian = 0x42;
constexpr std::uint8_t kLongRecord = 0xFF;  // the length follows in eight bytes

std::vector<std::uint8_t> LastChunk(const std::string& path, std::uint64_t chunk_size, std::uint64_t& begin) {
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  if (!stream) return {};
  const auto size = static_cast<std::uint64_t>(stream.tellg());
  begin = size == 0 ? 0 : (size - 1) / chunk_size * chunk_size;
  std::vector<std::uint8_t> bytes(size - begin);
  stream.seekg(static_cast<std::streamoff>(begin));
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return stream ? bytes : std::vector<std::uint8_t>{};
}

std::uint64_t LongLength(const std::uint8_t* bytes, bool is_swapped) {
  std::uint64_t length;
  std::memcpy(&length, bytes, sizeof length);
  return is_swapped ? __builtin_bswap64(length) : length;
}

// Where the record at `at` ends, or nothing when the chunk ends first.
std::optional<std::size_t> EndOfRecord(const std::vector<std::uint8_t>& chunk, std::size_t at, Otf2FileKind kind,
                                       bool is_swapped) {
  const std::size_t left = chunk.size() - at;
  if (kind == Otf2FileKind::kEvents && chunk[at] == kTimeStamp) return left >= 9 ? std::optional(at + 9) : std::nullopt;
  if (left < 2) return std::nullopt;
  if (chunk[at + 1] != kLongRecord) {
    const std::size_t length = 2u + chunk[at + 1];
    return length <= left ? std::optional(at + length) : std::nullopt;
  }
  if (left >= 10) {
    const std::uint64_t length = LongLength(&chunk[at + 2], is_swapped);
    if (length <= left - 10) return at + 10 + static_cast<std::size_t>(length);
  }
  return at + 2;  // not a length: a record of one number, the largest, takes one byte for it
}

}  // namespace

void RequireEndOfFile(const std::string& path, Otf2FileKind kind, std::uint64_t chunk_size, const std::string& where) {
  std::uint64_t begin = 0;
  const std::vector<std::uint8_t> chunk = LastChunk(path, chunk_size, begin);
  if (chunk.size() < kHeaderBytes) return;
  constexpr bool kHostIsLittle = std::endian::native == std::endian::little;
  const bool is_swapped = (chunk[1] == kLittleEndian) != kHostIsLittle;
  std::optional<std::size_t> at = kHeaderBytes;
  while (at && *at < chunk.size() && chunk[*at] != kEndOfFile && chunk[*at] != kEndOfChunk) {
    at = EndOfRecord(chunk, *at, kind, is_swapped);
  }
  if (at && *at < chunk.size() && chunk[*at] == kEndOfFile) return;
  const std::string what = at && *at < chunk.size()
                               ? fmt::format("the records of {} stop at byte {} without an end", path, begin + *at)
                               : fmt::format("{} ends in the middle of its records", path);
  throw Error(ErrorKind::kInput, where, what, "the file is truncated or damaged; copy the archive again");
}

}  // namespace farscale
