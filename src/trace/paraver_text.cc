#include "trace/paraver_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace farscale {
namespace {

constexpr std::size_t kLongestHeader = std::size_t{1} << 30;  // a hundred million ranks
constexpr std::size_t kLongestRecord = std::size_t{1} << 22;

}  // namespace

ParaverText::ParaverText(const std::string& path) : path_(path), file_(nullptr, gzclose_r) {
  errno = 0;
  file_.reset(gzopen(path.c_str(), "rb"));  // zlib reads plain files as they are
  if (!file_) {
    throw Error(ErrorKind::kInput, path, std::string("cannot be read: ") + std::strerror(errno == 0 ? ENOMEM : errno));
  }
  gzbuffer(file_.get(), 1 << 18);
  is_compressed_ = gzdirect(file_.get()) == 0;
}

void ParaverText::Read(std::string& text, std::size_t count) {
  const std::size_t before = text.size();
  text.resize(before + count);
  errno = 0;
  const int got = gzread(file_.get(), text.data() + before, static_cast<unsigned>(count));
  text.resize(before + static_cast<std::size_t>(std::max(got, 0)));
  bytes_ += static_cast<std::uint64_t>(std::max(got, 0));
  int code = Z_OK;
  const char* message = gzerror(file_.get(), &code);
  if (code == Z_BUF_ERROR && static_cast<std::size_t>(std::max(got, 0)) < count) {  // read ahead, it may come later
    throw Error(ErrorKind::kInput, path_,
                fmt::format("the compressed file is cut short: it ends after {} bytes of text", bytes_),
                "copy or compress the trace again");
  }
  if (got < 0) {
    std::string reason = code == Z_ERRNO ? std::strerror(errno) : message;
    if (reason.starts_with(path_ + ": ")) reason.erase(0, path_.size() + 2);  // zlib names the file, as the error does
    throw Error(ErrorKind::kInput, path_, fmt::format("cannot be read after {} bytes of text: {}", bytes_, reason),
                is_compressed_ ? "the compressed file is damaged; copy or compress the trace again" : "");
  }
  at_end_ = static_cast<std::size_t>(got) < count;
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

bool ParaverText::NextBlock(TextBlock& block) {
  block.text = std::exchange(rest_, {});
  block.is_cut = false;
  block.first_line = lines_ + 1;
  block.text.reserve(kBlockBytes + 1);
  std::size_t last = std::string::npos;
  do {
    if (!at_end_ && block.text.size() < kBlockBytes) Read(block.text, kBlockBytes - block.text.size());
    last = block.text.rfind('\n');
    if (last == std::string::npos && !at_end_) {
      if (block.text.size() > kLongestRecord) {
        throw Error(
            ErrorKind::kInput, path_,
            fmt::format("has a line of more than {} bytes behind line {}, which no record is", kLongestRecord, lines_),
            "the trace is damaged");
      }
      Read(block.text, kBlockBytes);
    }
  } while (last == std::string::npos && !at_end_);
  if (block.text.empty()) return false;
  if (last == std::string::npos) {
    block.is_cut = true;
    block.text += '\n';
    return true;
  }
  rest_ = block.text.substr(last + 1);
  block.text.resize(last + 1);
  lines_ += static_cast<std::uint64_t>(std::count(block.text.begin(), block.text.end(), '\n'));
  return true;
}

bool IsParaver(const std::string& path) {
  std::string head = ParaverText(path).Peek(64);
  if (head.starts_with("new format")) head.erase(0, head.find('\n') + 1);
  return head.starts_with("#Paraver");
}

}  // namespace farscale
