#include "collect/text.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "collect/page.h"

namespace farscale::collect {
namespace {

constexpr std::size_t kMarkBytes = 9;

bool Continues(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80; }

// Bytes of the character that `text` begins with, 0 if it is none or one that cannot be printed.
std::size_t CharacterBytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t bytes = first < 0x80 ? 1 : first >> 5U == 6 ? 2 : first >> 4U == 14 ? 3 : first >> 3U == 30 ? 4 : 0;
  if (bytes == 0 || bytes > text.size()) return 0;
  std::uint32_t c = bytes == 1 ? first : first & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if (!Continues(text[i])) return 0;
    c = c << 6U | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_none = c < kLeast[bytes] || c > 0x10FFFF || (c >> 11U) == 0x1B;
  // These move the cursor, end lines or turn the direction of writing.
  const bool is_control =
      c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
  return is_none || is_control ? 0 : bytes;
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const std::size_t bytes = CharacterBytes(text);
    if (bytes == 0) clean += '?';
    if (bytes > 0) clean += text.substr(0, bytes);
    text.remove_prefix(bytes > 0 ? bytes : 1);
  }
  return clean;
}

void CopyName(const char* name, char* to) {
  std::size_t length = 0;
  while (length < kNameBytes && name[length] >= ' ' && name[length] < '\x7f') ++length;
  if (length < kNameBytes && name[length] == '\0') {
    std::memcpy(to, name, length + 1);
    return;
  }
  std::string clean = Printable(name);
  if (clean != name || clean.size() >= kNameBytes) {
    std::size_t end = clean.size() < kNameBytes - kMarkBytes ? clean.size() : kNameBytes - 1 - kMarkBytes;
    while (end > 0 && end < clean.size() && Continues(clean[end])) --end;
    std::uint32_t hash = 2166136261U;  // FNV-1a
    for (const char c : std::string_view(name)) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    char mark[kMarkBytes + 1];
    std::snprintf(mark, sizeof mark, "~%08x", static_cast<unsigned>(hash));
    clean = clean.substr(0, end) + mark;
  }
  std::memcpy(to, clean.c_str(), clean.size() + 1);
}

std::size_t Width(std::string_view text) {
  std::size_t width = 0;
  for (const char c : text) width += Continues(c) ? 0 : 1;
  return width;
}

std::vector<std::string> Split(const std::string& text, const char* separators) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find_first_of(separators, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
  }
  return parts;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string ReadStart(const std::string& path, std::size_t most) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return "";
  std::string text(most, '\0');
  const ssize_t bytes = read(file, text.data(), most);
  close(file);
  text.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return text;
}

bool WriteAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t part = write(file, text.data(), text.size());
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(part));
  }
  return true;
}

std::string FormatSeconds(double seconds) {
  if (seconds >= 0.9995) return Format("%.*f s", seconds < 10 ? 2 : seconds < 100 ? 1 : 0, seconds);
  if (seconds >= 0.9995e-3) return Format("%.*f ms", seconds < 1e-2 ? 2 : seconds < 1e-1 ? 1 : 0, seconds * 1e3);
  return Format("%.*f us", seconds < 1e-5 ? 2 : seconds < 1e-4 ? 1 : 0, seconds * 1e6);
}

}  // namespace farscale::collect
