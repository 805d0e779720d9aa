#include "trace/packed_text.h"

#include <fmt/format.h>
#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/error.h"

namespace farscale {
namespace {

constexpr std::string_view kMagic = "\x1F\x8B";  // of gzip [RFC 1952]
constexpr const char* kDamaged = "the compressed file is damaged; copy or compress the trace again";

const char* ReasonOf(int code) {
  switch (code) {
    case ISAL_INVALID_BLOCK: return "a block of the compressed data is invalid";
    case ISAL_INVALID_SYMBOL: return "a code of the compressed data is invalid";
    case ISAL_INVALID_LOOKBACK: return "the compressed data refers to bytes before its begin";
    case ISAL_INCORRECT_CHECKSUM: return "the check sum of the compressed data is wrong";
    case ISAL_UNSUPPORTED_METHOD: return "the method of compression is not deflate";
    default: return "the head of the compressed data is invalid";
  }
}

}  // namespace

struct PackedText::Unpacker {
  inflate_state state;
  std::array<std::uint8_t, std::size_t{1} << 16> input;
  bool at_end = false;  // of the last member
};

PackedText::PackedText(const std::string& path) : path_(path), file_(nullptr, std::fclose) {
  errno = 0;
  file_.reset(std::fopen(path.c_str(), "rb"));
  if (!file_) {
    throw Error(ErrorKind::kInput, path, std::string("cannot be read: ") + std::strerror(errno == 0 ? ENOMEM : errno));
  }
  std::setvbuf(file_.get(), nullptr, _IONBF, 0);  // large parts are read at a time
  head_.resize(kMagic.size());
  head_.resize(std::fread(head_.data(), 1, head_.size(), file_.get()));  // whether it can be read, Read says
  std::clearerr(file_.get());
  if (head_ != kMagic) return;
  unpacker_ = std::make_unique<Unpacker>();
  isal_inflate_init(&unpacker_->state);
  unpacker_->state.crc_flag = ISAL_GZIP;
  std::ranges::copy(head_, unpacker_->input.begin());
  unpacker_->state.next_in = unpacker_->input.data();
  unpacker_->state.avail_in = static_cast<std::uint32_t>(head_.size());
}

PackedText::~PackedText() = default;

void PackedText::Fail(const std::string& reason, const std::string& advice) const {
  throw Error(ErrorKind::kInput, path_, fmt::format("cannot be read after {} bytes of text: {}", bytes_, reason),
              advice);
}

std::size_t PackedText::Read(char* to, std::size_t count) {
  if (unpacker_) return Unpack(to, count);
  const std::size_t from_head = std::min(count, head_.size());
  std::copy_n(head_.begin(), from_head, to);
  head_.erase(0, from_head);
  const std::size_t got = from_head + ReadFile(to + from_head, count - from_head);
  bytes_ += got;
  return got;
}

std::size_t PackedText::ReadFile(char* to, std::size_t count) {
  errno = 0;
  const std::size_t got = std::fread(to, 1, count, file_.get());
  if (got < count && std::ferror(file_.get()) != 0) Fail(std::strerror(errno == 0 ? EIO : errno), "");
  return got;
}

// False at the end of the file.
bool PackedText::NextInput() {
  inflate_state& state = unpacker_->state;
  if (state.avail_in > 0) return true;
  state.next_in = unpacker_->input.data();
  state.avail_in =
      static_cast<std::uint32_t>(ReadFile(reinterpret_cast<char*>(state.next_in), unpacker_->input.size()));
  return state.avail_in > 0;
}

// A file may have several members, one behind the other; what else stands behind one is no part of the text. False when
// there is none.
bool PackedText::BeginMember() {
  inflate_state& state = unpacker_->state;
  std::array<std::uint8_t, kMagic.size()> next{};
  std::copy_n(state.next_in, std::min<std::size_t>(state.avail_in, next.size()), next.begin());
  for (std::size_t known = std::min<std::size_t>(state.avail_in, next.size()); known < next.size(); ++known) {
    if (ReadFile(reinterpret_cast<char*>(&next[known]), 1) == 0) return false;
  }
  if (!std::ranges::equal(next, kMagic, {}, {}, [](char c) { return static_cast<std::uint8_t>(c); })) return false;
  std::uint8_t* rest = state.next_in;
  const std::uint32_t left = state.avail_in;
  isal_inflate_reset(&state);
  state.crc_flag = ISAL_GZIP;
  state.next_in = rest;
  state.avail_in = left;
  if (left < next.size()) {  // the magic number lies on the edge of the input
    std::ranges::copy(next, unpacker_->input.begin());
    state.next_in = unpacker_->input.data();
    state.avail_in = static_cast<std::uint32_t>(next.size());
  }
  return true;
}

std::size_t PackedText::Unpack(char* to, std::size_t count) {
  inflate_state& state = unpacker_->state;
  std::size_t got = 0;
  while (got < count && !unpacker_->at_end) {
    if (state.block_state == ISAL_BLOCK_FINISH) {
      unpacker_->at_end = !BeginMember();
      continue;
    }
    const bool has_input = NextInput();
    const std::uint32_t input = state.avail_in;
    const auto room = static_cast<std::uint32_t>(std::min<std::size_t>(count - got, std::size_t{1} << 30));
    state.next_out = reinterpret_cast<std::uint8_t*>(to + got);
    state.avail_out = room;
    const int code = isal_inflate(&state);
    const std::size_t unpacked = room - state.avail_out;
    got += unpacked;
    bytes_ += unpacked;
    if (code < 0) Fail(ReasonOf(code), kDamaged);
    const bool stands_still = unpacked == 0 && state.avail_in == input && state.block_state != ISAL_BLOCK_FINISH;
    if (stands_still && has_input) Fail(ReasonOf(code), kDamaged);
    if (stands_still) {
      throw Error(ErrorKind::kInput, path_,
                  fmt::format("the compressed file is cut short: it ends after {} bytes of text", bytes_),
                  "copy or compress the trace again");
    }
  }
  return got;
}

}  // namespace farscale
