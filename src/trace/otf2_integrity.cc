#include "trace/otf2_anchor.h"

#include <fmt/format.h>
#include <otf2/otf2.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "base/files.h"

namespace farscale {
namespace {

constexpr std::size_t kFixedHead = 12;  // chunk header, byte order, "OTF2", versions
constexpr char kHostByteOrder = 'B';    // as this machine; anything else is the other order

// Fields in the order of the file, in the byte order it was written in.
class Fields {
 public:
  Fields(const std::string& path, std::string_view rest, bool is_swapped)
      : path_(path), rest_(rest), is_swapped_(is_swapped) {}

  template <typename Number>
  Number Take(const char* name) {
    if (rest_.size() < sizeof(Number)) Damaged(fmt::format("it ends before the {}", name));
    char bytes[sizeof(Number)];
    std::memcpy(bytes, rest_.data(), sizeof bytes);
    if (is_swapped_) std::reverse(std::begin(bytes), std::end(bytes));
    rest_.remove_prefix(sizeof bytes);
    Number number;
    std::memcpy(&number, bytes, sizeof bytes);
    return number;
  }

  void SkipText(const char* name) {
    const std::size_t end = rest_.find('\0');
    if (end == std::string_view::npos) Damaged(fmt::format("the {} does not end", name));
    rest_.remove_prefix(end + 1);
  }

  std::size_t left() const { return rest_.size(); }

  [[noreturn]] void Damaged(const std::string& what) const {
    throw Error(ErrorKind::kInput, path_, "the anchor file is damaged: " + what, "copy the archive again");
  }

 private:
  const std::string& path_;
  std::string_view rest_;
  const bool is_swapped_;
};

std::uint64_t TakeChunkSize(Fields& fields, const char* name) {
  const auto size = fields.Take<std::uint64_t>(name);
  if (size < OTF2_CHUNK_SIZE_MIN || size > OTF2_CHUNK_SIZE_MAX) {
    fields.Damaged(fmt::format("the {} is {} bytes", name, size));
  }
  return size;
}

void RequireCount(Fields& fields, const char* name, std::uintmax_t definition_bytes) {
  const auto count = fields.Take<std::uint64_t>(name);
  if (count > definition_bytes) {
    fields.Damaged(
        fmt::format("the {} is {}, more than fit into definitions of {} bytes", name, count, definition_bytes));
  }
}

}  // namespace

Otf2Layout RequireSoundAnchor(const std::string& path, std::uintmax_t definition_bytes) {
  const std::string content = ReadFile(path);
  if (content.size() < kFixedHead) throw Error(ErrorKind::kInput, path, "the anchor file is damaged: it is too short");
  Fields fields(path, std::string_view(content).substr(kFixedHead), content[1] != kHostByteOrder);
  Otf2Layout layout;
  layout.event_chunk = TakeChunkSize(fields, "chunk size of events");
  layout.definition_chunk = TakeChunkSize(fields, "chunk size of definitions");
  const auto substrate = fields.Take<std::uint8_t>("file substrate");
  const auto compression = fields.Take<std::uint8_t>("compression");
  layout.is_plain = substrate == OTF2_SUBSTRATE_POSIX && compression == OTF2_COMPRESSION_NONE;
  RequireCount(fields, "number of locations", definition_bytes);
  RequireCount(fields, "number of definitions", definition_bytes);
  for (const char* name : {"machine name", "creator", "description"}) fields.SkipText(name);
  const auto properties = fields.Take<std::uint32_t>("number of properties");
  if (properties > fields.left() / 2) fields.Damaged(fmt::format("the number of properties is {}", properties));
  for (std::uint32_t i = 0; i < properties; ++i) {
    fields.SkipText("name of a property");
    fields.SkipText("value of a property");
  }
  fields.Take<std::uint64_t>("identifier of the trace");
  return layout;
}

}  // namespace farscale
