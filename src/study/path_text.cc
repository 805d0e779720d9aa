#include "study/path_text.h"

#include "base/text.h"

namespace farscale {
namespace {

// U+10FE80 to U+10FEFF.
constexpr std::string_view kBegin = "\xf4\x8f";

bool IsByte(std::string_view text) {
  if (text.size() < 4 || !text.starts_with(kBegin)) return false;
  const auto third = static_cast<unsigned char>(text[2]), last = static_cast<unsigned char>(text[3]);
  return (third == 0xba || third == 0xbb) && (last & 0xc0U) == 0x80U;
}

std::string TextOfByte(unsigned char byte) {
  return std::string(kBegin) + static_cast<char>(byte < 0xc0U ? 0xba : 0xbb) +
         static_cast<char>(0x80U | (byte & 0x3fU));
}

// The UTF-8 character that a text begins with; nothing where it is none.
std::string_view FirstCharacter(std::string_view text) {
  for (std::size_t length = 1; length <= 4 && length <= text.size(); ++length) {
    if (IsUtf8(text.substr(0, length))) return text.substr(0, length);
  }
  return {};
}

}  // namespace

std::string TextOfPath(std::string_view path) {
  std::string text;
  while (!path.empty()) {
    std::string_view next = FirstCharacter(path);
    if (next.empty() || IsByte(path)) {
      next = path.substr(0, 1);
      text += TextOfByte(static_cast<unsigned char>(next[0]));
    } else {
      text += next;
    }
    path.remove_prefix(next.size());
  }
  return text;
}

std::string PathOfText(std::string_view text) {
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!IsByte(text.substr(i))) {
      path += text[i];
      continue;
    }
    const unsigned high = static_cast<unsigned char>(text[i + 2]) == 0xba ? 0x80U : 0xc0U;
    path += static_cast<char>(high | (static_cast<unsigned char>(text[i + 3]) & 0x3fU));
    i += 3;
  }
  return path;
}

}  // namespace farscale
