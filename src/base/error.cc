#include "base/error.h"

#include "base/text.h"

namespace farscale {
namespace {

// One line that any terminal can show: names and messages come out of files that may be damaged.
std::string Printable(const std::string& text) {
  std::string printable = ToUtf8(text);
  for (char& c : printable) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '\n' || c == '\t') c = ' ';
    if (code < 0x20 || code == 0x7F) c = c == ' ' ? ' ' : '?';
  }
  return printable;
}

std::string Sentence(const std::string& where, const std::string& what, const std::string& advice) {
  std::string text = where.empty() ? what : where + ": " + what;
  if (!advice.empty()) text += "; " + advice;
  return text;
}

}  // namespace

Error::Error(ErrorKind kind, const std::string& where, const std::string& what, const std::string& advice)
    : std::runtime_error(Printable(Sentence(where, what, advice))), kind_(kind), where_(where) {}

}  // namespace farscale
