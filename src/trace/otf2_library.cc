#include "trace/otf2_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/files.h"

namespace farscale {
namespace {

thread_local std::string last_message;

std::string DescriptionOf(OTF2_ErrorCode code) {
  const char* description = OTF2_Error_GetDescription(code);
  return description != nullptr ? description : "unknown error";
}

OTF2_ErrorCode Keep(void*, const char*, std::uint64_t, const char*, OTF2_ErrorCode code, const char* format,
                    va_list arguments) {
  std::array<char, 512> text{};
  if (format != nullptr) std::vsnprintf(text.data(), text.size(), format, arguments);
  std::string message = DescriptionOf(code);
  if (text[0] != '\0') message += std::string(" (") + text.data() + ")";
  if (last_message.empty()) last_message = message;  // the first is the cause
  return code;
}

constexpr std::size_t kFixedHead = 12;  // chunk header, byte order, "OTF2", versions
constexpr char kHostByteOrder = 'B';    // as this machine; anything else is the other order

// A chunk is a header (its mark, the byte order, the first and last event) and records up to the mark of its end. A
// record is a byte of type, its length and so many bytes; only the time stamps of event files have a fixed length.
constexpr std::uint8_t kEndOfChunk = 0;
constexpr std::uint8_t kEndOfFile = 2;
constexpr std::uint8_t kTimeStamp = 5;
constexpr std::size_t kHeaderBytes = 18;
constexpr std::uint8_t kChunkHeader = 3;
constexpr std::uint8_t kLittleEndian = 0x42;
constexpr std::uint8_t kLongRecord = 0xFF;  // the length follows in eight bytes
constexpr std::uint8_t kClockOffset = 6;  // in local definitions: time in eight bytes, offset, deviation in eight bytes
constexpr std::size_t kZeroOffsetBytes = 19;  // an offset of 0 takes one byte, which is 0; any other more

std::vector<std::uint8_t> LastChunk(const std::string& path, std::uint64_t chunk_size, std::uint64_t& begin) {
  const FilePieces file(path);
  const std::uint64_t size = file.Size().value_or(0);
  begin = size == 0 ? 0 : (size - 1) / chunk_size * chunk_size;
  std::vector<std::uint8_t> bytes(size - begin);
  const auto read = file.Read(begin, reinterpret_cast<char*>(bytes.data()), bytes.size());
  return read == bytes.size() ? bytes : std::vector<std::uint8_t>{};
}

std::uint64_t NumberAt(const std::uint8_t* bytes, bool is_swapped) {
  std::uint64_t number;
  std::memcpy(&number, bytes, sizeof number);
  return is_swapped ? __builtin_bswap64(number) : number;
}

// Where the record at `at` ends, or nothing when the chunk ends first.
std::optional<std::size_t> EndOfRecord(const std::vector<std::uint8_t>& chunk, std::size_t at, bool has_events,
                                       bool is_swapped) {
  const std::size_t left = chunk.size() - at;
  if (has_events && chunk[at] == kTimeStamp) return left >= 9 ? std::optional(at + 9) : std::nullopt;
  if (left < 2) return std::nullopt;
  if (chunk[at + 1] != kLongRecord) {
    const std::size_t length = 2u + chunk[at + 1];
    return length <= left ? std::optional(at + length) : std::nullopt;
  }
  if (left >= 10) {
    const std::uint64_t length = NumberAt(&chunk[at + 2], is_swapped);
    if (length <= left - 10) return at + 10 + static_cast<std::size_t>(length);
  }
  return at + 2;  // not a length: a record of one number, the largest, takes one byte for it
}

bool IsSwapped(const std::vector<std::uint8_t>& chunk) {
  constexpr bool kHostIsLittle = std::endian::native == std::endian::little;
  return (chunk[1] == kLittleEndian) != kHostIsLittle;
}

// `begin` is where the chunk begins in its file.
void RequireEnd(const std::vector<std::uint8_t>& chunk, std::uint64_t begin, const std::string& path, bool has_events,
                const std::string& where) {
  if (chunk.size() < kHeaderBytes) return;
  const bool is_swapped = IsSwapped(chunk);
  std::optional<std::size_t> at = kHeaderBytes;
  while (at && *at < chunk.size() && chunk[*at] != kEndOfFile && chunk[*at] != kEndOfChunk) {
    at = EndOfRecord(chunk, *at, has_events, is_swapped);
  }
  if (at && *at < chunk.size() && chunk[*at] == kEndOfFile) return;
  const std::string what = at && *at < chunk.size()
                               ? fmt::format("the records of {} stop at byte {} without an end", path, begin + *at)
                               : fmt::format("{} ends in the middle of its records", path);
  throw Error(ErrorKind::kInput, where, what, "the file is truncated or damaged; copy the archive again");
}

}  // namespace

void CaptureOtf2Errors() {
  static std::once_flag once;
  std::call_once(once, [] { OTF2_Error_RegisterCallback(Keep, nullptr); });
  last_message.clear();
}

std::string TakeOtf2Message() { return std::exchange(last_message, {}); }

void CheckOtf2(OTF2_ErrorCode code, const std::string& where, const std::string& doing) {
  if (code == OTF2_SUCCESS) return;
  std::string message = TakeOtf2Message();
  if (message.empty()) message = DescriptionOf(code);
  throw Error(ErrorKind::kInput, where, doing + " failed: " + message, "the archive is damaged or incomplete");
}

Otf2Layout RequireSoundAnchor(const std::string& path, std::uintmax_t definition_bytes) {
  const auto require = [&](bool is_sound, const std::string& what) {
    if (!is_sound)
      throw Error(ErrorKind::kInput, path, "the anchor file is damaged: " + what, "copy the archive again");
  };
  const std::string content = ReadFile(path);
  if (content.size() < kFixedHead) throw Error(ErrorKind::kInput, path, "the anchor file is damaged: it is too short");
  const bool is_swapped = content[1] != kHostByteOrder;
  std::string_view rest = std::string_view(content).substr(kFixedHead);
  // Fields in the order of the file, in the byte order it was written in.
  const auto take = [&](auto number, const char* name) {
    require(rest.size() >= sizeof number, fmt::format("it ends before the {}", name));
    char bytes[sizeof number];
    std::memcpy(bytes, rest.data(), sizeof bytes);
    if (is_swapped) std::reverse(std::begin(bytes), std::end(bytes));
    rest.remove_prefix(sizeof bytes);
    std::memcpy(&number, bytes, sizeof bytes);
    return number;
  };
  const auto skip_text = [&](const char* name) {
    const std::size_t end = rest.find('\0');
    require(end != std::string_view::npos, fmt::format("the {} does not end", name));
    rest.remove_prefix(end + 1);
  };
  Otf2Layout layout;
  for (const auto& [size, name] : {std::pair(&layout.event_chunk, "chunk size of events"),
                                   std::pair(&layout.definition_chunk, "chunk size of definitions")}) {
    *size = take(std::uint64_t{0}, name);
    require(*size >= OTF2_CHUNK_SIZE_MIN && *size <= OTF2_CHUNK_SIZE_MAX,
            fmt::format("the {} is {} bytes", name, *size));
  }
  const auto substrate = take(std::uint8_t{0}, "file substrate"), compression = take(std::uint8_t{0}, "compression");
  layout.is_plain = substrate == OTF2_SUBSTRATE_POSIX && compression == OTF2_COMPRESSION_NONE;
  for (const char* name : {"number of locations", "number of definitions"}) {
    const std::uint64_t count = take(std::uint64_t{0}, name);
    require(count <= definition_bytes,
            fmt::format("the {} is {}, more than fit into definitions of {} bytes", name, count, definition_bytes));
  }
  for (const char* name : {"machine name", "creator", "description"}) skip_text(name);
  const std::uint32_t properties = take(std::uint32_t{0}, "number of properties");
  require(properties <= rest.size() / 2, fmt::format("the number of properties is {}", properties));
  for (std::uint32_t i = 0; i < properties; ++i) {
    skip_text("name of a property");
    skip_text("value of a property");
  }
  take(std::uint64_t{0}, "identifier of the trace");
  return layout;
}

void RequireEndOfFile(const std::string& path, bool has_events, std::uint64_t chunk_size, const std::string& where) {
  std::uint64_t begin = 0;
  RequireEnd(LastChunk(path, chunk_size, begin), begin, path, has_events, where);
}

bool RequireEndOfLocalDefinitions(const std::string& path, std::uint64_t chunk_size, const std::string& where) {
  std::uint64_t begin = 0;
  const std::vector<std::uint8_t> chunk = LastChunk(path, chunk_size, begin);
  RequireEnd(chunk, begin, path, false, where);
  // Offsets that are 0 at every time leave time stamps as they are, whatever their deviations. A file that is unusual
  // in any other way is left to the library; so are times that do not increase, between which it would divide by 0.
  if (begin > 0 || chunk.size() < kHeaderBytes || chunk[0] != kChunkHeader || chunk[1] != kLittleEndian) return true;
  std::size_t at = kHeaderBytes;
  std::optional<std::uint64_t> before;
  while (chunk.size() - at >= kZeroOffsetBytes && chunk[at] == kClockOffset) {
    if (chunk[at + 1] != kZeroOffsetBytes - 2 || chunk[at + 10] != 0) return true;
    const std::uint64_t time = NumberAt(&chunk[at + 2], IsSwapped(chunk));
    if (before && time <= *before) return true;
    before = time;
    at += kZeroOffsetBytes;
  }
  return at >= chunk.size() || chunk[at] != kEndOfFile;
}

}  // namespace farscale
