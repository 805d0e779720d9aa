// The text of a Paraver trace in blocks of whole lines, plain or compressed by gzip.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

struct inflate_state;  // in ISA-L

namespace farscale {

// Lines of the text, each with its newline.
struct TextBlock {
  std::string text;
  std::uint64_t first_line = 1;
  bool is_cut = false;      // the end of the text, which has no newline (one is added here)
  bool is_endless = false;  // without text: the line here is longer than any record is
};

class ParaverText {
 public:
  // Throws an input error when the file cannot be opened.
  explicit ParaverText(const std::string& path);
  ~ParaverText();

  // The next bytes, at most `count`, without handing them out.
  std::string Peek(std::size_t count);

  // The next line without its newline, nor a carriage return before it; false at the end of the text. For the header,
  // before any block is read. Throws an input error when the line is longer than any header is.
  bool NextLine(std::string& line);

  // Chooses the size of blocks for so many tasks: each has some records of every task.
  void MakeBlocksFor(std::size_t tasks);

  // Some whole lines, about a block of bytes. A text that ends without newline gives its last line as a block of its
  // own. False at the end. Throws an input error when the file cannot be read on, or the compressed data is damaged or
  // ends early. Uses the memory of the block that is there.
  bool NextBlock(TextBlock& block);

  std::uint64_t lines() const { return lines_; }  // handed out

  static constexpr std::size_t kBlockBytes = std::size_t{1} << 19;
  static constexpr std::size_t kLongestRecord = std::size_t{1} << 22;

 private:
  // Appends up to `count` bytes to `text`; fewer only at the end of the file.
  void Append(std::string& text, std::size_t count);
  // The same into memory of that size; these return how many.
  std::size_t ReadFile(char* to, std::size_t count);
  std::size_t Unpack(char* to, std::size_t count);
  bool BeginMember();
  [[noreturn]] void Fail(const std::string& reason, const std::string& advice) const;

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::unique_ptr<inflate_state> unpacker_;  // nothing for plain files
  std::vector<std::uint8_t> packed_;         // read, but not unpacked
  bool is_unpacked_ = false;                 // to the end of the last member
  std::uint64_t bytes_ = 0;                  // read, unpacked
  std::size_t block_bytes_ = kBlockBytes;
  std::string rest_;         // read, but not handed out
  std::uint64_t lines_ = 0;  // handed out
  bool at_end_ = false, is_over_ = false;
};

// True if the text of the file, decompressed if need be, begins like a Paraver trace. Throws an input error when the
// file cannot be read.
bool IsParaver(const std::string& path);

}  // namespace farscale
