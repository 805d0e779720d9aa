// SHA-256, for fingerprints of traces and for the content security policy of reports.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

namespace farscale {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Add(std::string_view bytes);
  // The digest of all that was added; nothing can be added afterwards.
  std::array<unsigned char, 32> Digest();
  // The same in hexadecimal digits.
  std::string Hex();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

// The digest of a text in base 64, as a content security policy names it behind "sha256-".
std::string Sha256Base64(std::string_view text);

}  // namespace farscale
