#include "base/error.h"

namespace farscale {
namespace {

std::string Sentence(const std::string& where, const std::string& what, const std::string& advice) {
  std::string text = where.empty() ? what : where + ": " + what;
  if (!advice.empty()) text += "; " + advice;
  return text;
}

}  // namespace

Error::Error(ErrorKind kind, const std::string& where, const std::string& what, const std::string& advice)
    : std::runtime_error(Sentence(where, what, advice)), kind_(kind), where_(where) {}

}  // namespace farscale
