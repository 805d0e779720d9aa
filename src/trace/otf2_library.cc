#include "trace/otf2_error.h"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <mutex>

#include "base/error.h"

namespace farscale {
namespace {

thread_local std::string last_words;

OTF2_ErrorCode Keep(void*, const char*, std::uint64_t, const char*, OTF2_ErrorCode code, const char* format,
                    va_list arguments) {
  std::array<char, 512> text{};
  if (format != nullptr) std::vsnprintf(text.data(), text.size(), format, arguments);
  const char* description = OTF2_Error_GetDescription(code);
  std::string words = description != nullptr ? description : "unknown error";
  if (text[0] != '\0') words += std::string(" (") + text.data() + ")";
  if (last_words.empty()) last_words = words;  // the first is the cause
  return code;
}

}  // namespace

void CaptureOtf2Errors() {
  static std::once_flag once;
  std::call_once(once, [] { OTF2_Error_RegisterCallback(Keep, nullptr); });
  last_words.clear();
}

std::string TakeOtf2Words() {
  std::string words;
  words.swap(last_words);
  return words;
}

void CheckOtf2(OTF2_ErrorCode code, const std::string& where, const std::string& doing) {
  if (code == OTF2_SUCCESS) return;
  std::string words = TakeOtf2Words();
  if (words.empty()) {
    const char* description = OTF2_Error_GetDescription(code);
    words = description != nullptr ? description : "unknown error";
  }
  throw Error(ErrorKind::kInput, where, doing + " failed: " + words, "the archive is damaged or incomplete");
}

}  // namespace farscale
