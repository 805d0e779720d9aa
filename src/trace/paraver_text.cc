#include "trace/paraver_text.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/error.h"

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

}  // namespace farscale
