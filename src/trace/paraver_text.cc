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
constexpr std::size_t kPackedBytes = std::size_t{1} << 16;    // read at once
constexpr std::string_view kMagic = "\x1F\x8B";               // gzip's [RFC 1952]

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

ParaverText::ParaverText(const std::string& path) : path_(path), file_(nullptr, std::fclose) {
  errno = 0;
  file_.reset(std::fopen(path.c_str(), "rb"));
  if (!file_) {
    throw Error(ErrorKind::kInput, path, std::string("cannot be read: ") + std::strerror(errno == 0 ? ENOMEM : errno));
  }
  std::setvbuf(file_.get(), nullptr, _IONBF, 0);  // large parts are read at a time
  rest_.resize(kMagic.size());
  rest_.resize(std::fread(rest_.data(), 1, rest_.size(), file_.get()));
  std::clearerr(file_.get());  // errors will come again
  bytes_ = rest_.size();
  if (rest_ != kMagic) return;
  bytes_ = 0;
  packed_.assign(kPackedBytes, 0);
  std::ranges::copy(rest_, packed_.begin());
  unpacker_ = std::make_unique<inflate_state>();
  isal_inflate_init(unpacker_.get());
  unpacker_->crc_flag = ISAL_GZIP;
  unpacker_->next_in = packed_.data();
  unpacker_->avail_in = static_cast<std::uint32_t>(rest_.size());
  rest_.clear();
}

ParaverText::~ParaverText() = default;

void ParaverText::Fail(const std::string& reason, const std::string& advice) const {
  throw Error(ErrorKind::kInput, path_, fmt::format("cannot be read after {} bytes of text: {}", bytes_, reason),
              advice);
}

void ParaverText::Append(std::string& text, std::size_t count) {
  const std::size_t before = text.size();
  text.resize(before + count);
  std::size_t got = 0;
  if (unpacker_) {
    got = Unpack(text.data() + before, count);
  } else {
    got = ReadFile(text.data() + before, count);
    bytes_ += got;
  }
  text.resize(before + got);
  at_end_ = got < count;
}

std::size_t ParaverText::ReadFile(char* to, std::size_t count) {
  errno = 0;
  const std::size_t got = std::fread(to, 1, count, file_.get());
  if (got < count && std::ferror(file_.get()) != 0) Fail(std::strerror(errno == 0 ? EIO : errno), "");
  return got;
}

// A file may have several members, one behind the other; what else stands behind one is no part of the text. False when
// there is none.
bool ParaverText::BeginMember() {
  std::array<std::uint8_t, kMagic.size()> next{};
  const std::size_t known = std::min<std::size_t>(unpacker_->avail_in, next.size());
  std::copy_n(unpacker_->next_in, known, next.begin());
  const std::size_t missing = next.size() - known;
  if (ReadFile(reinterpret_cast<char*>(next.data()) + known, missing) < missing) return false;
  if (!std::ranges::equal(next, kMagic, {}, {}, [](char c) { return static_cast<std::uint8_t>(c); })) return false;
  std::uint8_t* rest = unpacker_->next_in;
  std::uint32_t left = unpacker_->avail_in;
  if (missing > 0) {  // the magic number lies on the edge of the input
    std::ranges::copy(next, packed_.begin());
    rest = packed_.data();
    left = static_cast<std::uint32_t>(next.size());
  }
  isal_inflate_reset(unpacker_.get());
  unpacker_->crc_flag = ISAL_GZIP;
  unpacker_->next_in = rest;
  unpacker_->avail_in = left;
  return true;
}

std::size_t ParaverText::Unpack(char* to, std::size_t count) {
  inflate_state& state = *unpacker_;
  std::size_t got = 0;
  while (got < count && !is_unpacked_) {
    if (state.block_state == ISAL_BLOCK_FINISH) {
      is_unpacked_ = !BeginMember();
      continue;
    }
    if (state.avail_in == 0) {
      state.next_in = packed_.data();
      state.avail_in = static_cast<std::uint32_t>(ReadFile(reinterpret_cast<char*>(packed_.data()), packed_.size()));
    }
    const std::uint32_t input = state.avail_in;
    const auto room = static_cast<std::uint32_t>(std::min<std::size_t>(count - got, std::size_t{1} << 30));
    state.next_out = reinterpret_cast<std::uint8_t*>(to + got);
    state.avail_out = room;
    const int code = isal_inflate(&state);
    const std::size_t unpacked = room - state.avail_out;
    got += unpacked;
    bytes_ += unpacked;
    const bool stands_still = unpacked == 0 && state.avail_in == input && state.block_state != ISAL_BLOCK_FINISH;
    if (code < 0 || (stands_still && input > 0)) {
      Fail(ReasonOf(code), "the compressed file is damaged; copy or compress the trace again");
    }
    if (stands_still) {
      throw Error(ErrorKind::kInput, path_,
                  fmt::format("the compressed file is cut short: it ends after {} bytes of text", bytes_),
                  "copy or compress the trace again");
    }
  }
  return got;
}

std::string ParaverText::Peek(std::size_t count) {
  if (rest_.size() < count && !at_end_) Append(rest_, count - rest_.size());
  return rest_.substr(0, count);
}

bool ParaverText::NextLine(std::string& line) {
  std::size_t searched = 0;
  std::size_t end = rest_.find('\n');
  while (end == std::string::npos && !at_end_) {
    searched = rest_.size();
    if (searched > kLongestHeader) throw Error(ErrorKind::kInput, path_, "has a header line without end");
    Append(rest_, 1 << 16);
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
    if (!at_end_ && block.text.size() < block_bytes_) Append(block.text, block_bytes_ - block.text.size());
    last = block.text.rfind('\n');
    if (last != std::string::npos || at_end_) break;
    if (block.text.size() > kLongestRecord) {
      block.text.clear();
      block.is_endless = true;
      is_over_ = true;
      return true;
    }
    Append(block.text, block_bytes_);
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

}  // namespace farscale
