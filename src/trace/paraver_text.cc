#include "trace/paraver_text.h"

#include <fmt/format.h>
#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/diagnostics.h"

namespace farscale {
namespace {

constexpr std::size_t kLongestHeader = std::size_t{1} << 30;  // a hundred million ranks

// Newlines, eight bytes at a time: the sum below sets the highest bit of those that differ from one.
std::uint64_t CountLines(std::string_view text) {
  constexpr std::uint64_t kOfEach = 0x0101010101010101u, kLow = 0x7F * kOfEach;
  std::uint64_t lines = 0;
  for (; text.size() >= 8; text.remove_prefix(8)) {
    std::uint64_t word;
    std::memcpy(&word, text.data(), sizeof word);
    word ^= '\n' * kOfEach;
    const std::uint64_t equal = ~(((word & kLow) + kLow) | word | kLow);
    lines += (equal >> 7) * kOfEach >> 56;
  }
  return lines + static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
}

}  // namespace

ParaverText::ParaverText(const std::string& path) : path_(path), file_(path) {}

void ParaverText::Read(std::string& text, std::size_t count) {
  const std::size_t before = text.size();
  text.resize(before + count);
  const std::size_t got = file_.Read(text.data() + before, count);
  text.resize(before + got);
  at_end_ = got < count;
}

std::string ParaverText::Peek(std::size_t count) {
  if (rest_.size() < count && !at_end_) Read(rest_, count - rest_.size());
  return rest_.substr(0, count);
}

bool ParaverText::NextLine(std::string& line) {
  std::size_t searched = 0;
  std::size_t end = rest_.find('\n');
  while (end == std::string::npos && !at_end_) {
    searched = rest_.size();
    if (searched > kLongestHeader) throw Error(ErrorKind::kInput, path_, "has a header line without end");
    Read(rest_, 1 << 16);
    end = rest_.find('\n', searched);
  }
  if (end == std::string::npos && rest_.empty()) return false;
  line = rest_.substr(0, end);
  rest_.erase(0, end == std::string::npos ? end : end + 1);
  if (!line.empty() && line.back() == '\r') line.pop_back();
  ++lines_;
  return true;
}

void ParaverText::MakeBlocksFor(std::size_t tasks) {
  constexpr std::size_t kBytesOfTask = 512,
                        kMost = 4 * kBlockBytes;  // chosen: ten records, and what eight threads hold
  block_bytes_ = std::clamp(kBytesOfTask * tasks, kBlockBytes, kMost);
}

bool ParaverText::NextBlock(TextBlock& block) {
  if (is_over_) return false;
  block.text.assign(rest_);
  rest_.clear();
  block.is_cut = block.is_endless = false;
  block.first_line = lines_ + 1;
  block.text.reserve(block_bytes_ + 1);
  std::size_t last = std::string::npos;
  for (;;) {
    if (!at_end_ && block.text.size() < block_bytes_) Read(block.text, block_bytes_ - block.text.size());
    last = block.text.rfind('\n');
    if (last != std::string::npos || at_end_) break;
    if (block.text.size() > kLongestRecord) {
      block.text.clear();
      block.is_endless = true;
      is_over_ = true;
      return true;
    }
    Read(block.text, block_bytes_);
  }
  if (block.text.empty()) return false;
  if (last == std::string::npos) {
    block.is_cut = true;
    block.text += '\n';
    return true;
  }
  rest_.assign(block.text, last + 1);
  block.text.resize(last + 1);
  lines_ += CountLines(block.text);
  return true;
}

bool IsParaver(const std::string& path) {
  std::string head = ParaverText(path).Peek(64);
  if (head.starts_with("new format")) head.erase(0, head.find('\n') + 1);
  return head.starts_with("#Paraver");
}

namespace {

constexpr std::string_view kMagic = "\x1F\x8B";  // gzip's [RFC 1952]
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
  bool at_end = false;  // behind the last member
};

PackedText::PackedText(const std::string& path) : path_(path), file_(nullptr, std::fclose) {
  errno = 0;
  file_.reset(std::fopen(path.c_str(), "rb"));
  if (!file_) {
    throw Error(ErrorKind::kInput, path, std::string("cannot be read: ") + std::strerror(errno == 0 ? ENOMEM : errno));
  }
  std::setvbuf(file_.get(), nullptr, _IONBF, 0);  // large parts are read at a time
  head_.resize(kMagic.size());
  head_.resize(std::fread(head_.data(), 1, head_.size(), file_.get()));  // errors are left to Read
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
