#include "trace/otf2_library.h"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <utility>

#include "base/error.h"

namespace farscale {
namespace {

thread_local std::string last_message;

std::string DescriptionOf(OTF2_ErrorCode code) {
  const char* description = OTF2_Error_GetDescription(code);
  return description != nullptr ? description : "unknown error";
}

OTF2_ErrorCode Keep(void*, const char*, std::uint64_t, const char*, OTF2_ErrorCode code, const char* format,
                    va_list arguments) {
  std::array<char, 512> text{};
  if (format != nullptr) std::vsnprintf(text.data(), text.size(), format, arguments);
  std::string message = DescriptionOf(code);
  if (text[0] != '\0') message += std::string(" (") + text.data() + ")";
  if (last_message.empty()) last_message = message;  // the first is the cause
  return code;
}

}  // namespace

void CaptureOtf2Errors() {
  static std::once_flag once;
  std::call_once(once, [] { OTF2_Error_RegisterCallback(Keep, nullptr); });
  last_message.clear();
}

std::string TakeOtf2Message() { return std::exchange(last_message, {}); }

void CheckOtf2(OTF2_ErrorCode code, const std::string& where, const std::string& doing) {
  if (code == OTF2_SUCCESS) return;
  std::string message = TakeOtf2Message();
  if (message.empty()) message = DescriptionOf(code);
  throw Error(ErrorKind::kInput, where, doing + " failed: " + message, "the archive is damaged or incomplete");
}

}  // namespace farscale
