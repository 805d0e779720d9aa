// The bytes of a text file, plain or compressed by gzip.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace farscale {

class PackedText {
 public:
  // Throws an input error when the file cannot be opened.
  explicit PackedText(const std::string& path);
  ~PackedText();
  PackedText(const PackedText&) = delete;
  PackedText& operator=(const PackedText&) = delete;

  // Writes the next bytes, at most `count`, and returns how many; fewer only at the end of the file. Throws an input
  // error when the file cannot be read on, or the compressed data is damaged or ends early.
  std::size_t Read(char* to, std::size_t count);

 private:
  struct Unpacker;

  std::size_t ReadFile(char* to, std::size_t count);
  std::size_t Unpack(char* to, std::size_t count);
  bool NextInput();
  bool BeginMember();
  [[noreturn]] void Fail(const std::string& reason, const std::string& advice) const;

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::unique_ptr<Unpacker> unpacker_;  // nothing for plain files
  std::string head_;                    // of a plain file: read to see that it is one, not yet handed out
  std::uint64_t bytes_ = 0;             // handed out
};

}  // namespace farscale
