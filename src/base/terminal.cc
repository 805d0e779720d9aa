#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <clocale>
#include <cwchar>
#include <utility>

#include "base/text.h"

namespace farscale {
namespace {

constexpr std::size_t kColumnsOfFiles = 100;
constexpr std::size_t kFewestColumns = 20;  // for terminals that say less, or nothing

bool has_no_terminal = false;

// The widths of characters do not depend on the locale of the user.
class Utf8Locale {
 public:
  Utf8Locale() : locale_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)), before_(nullptr) {
    if (locale_ != nullptr) before_ = uselocale(locale_);
  }
  ~Utf8Locale() {
    if (locale_ == nullptr) return;
    uselocale(before_);
    freelocale(locale_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  locale_t locale_, before_;
};

// The bytes and columns of the character, or colour, that a text begins with.
std::pair<std::size_t, std::size_t> FirstPiece(std::string_view text) {
  if (text.starts_with("\033[")) {
    const std::size_t end = text.find('m');
    return {end == std::string_view::npos ? text.size() : end + 1, 0};
  }
  std::mbstate_t state{};
  wchar_t character = 0;
  const std::size_t bytes = std::mbrtowc(&character, text.data(), text.size(), &state);
  if (bytes == 0 || bytes > text.size()) return {1, 1};  // not UTF-8
  const int columns = wcwidth(character);
  return {bytes, columns < 0 ? 1 : static_cast<std::size_t>(columns)};
}

}  // namespace

std::size_t DisplayWidth(std::string_view text) {
  const Utf8Locale locale;
  std::size_t width = 0;
  while (!text.empty()) {
    const auto [bytes, columns] = FirstPiece(text);
    width += columns;
    text.remove_prefix(bytes);
  }
  return width;
}

std::string Shorten(std::string_view text, std::size_t columns) {
  if (DisplayWidth(text) <= columns) return std::string(text);
  const Utf8Locale locale;
  std::string kept;
  std::size_t used = 1;
  bool is_colored = false;
  for (std::string_view rest = text; !rest.empty();) {
    const auto [bytes, width] = FirstPiece(rest);
    if ((used += width) > columns) break;
    is_colored |= width == 0 && rest.front() == '\033';
    kept += rest.substr(0, bytes);
    rest.remove_prefix(bytes);
  }
  return kept + "…" + (is_colored ? "\033[0m" : "");
}

std::vector<std::string> WrapText(std::string_view text, std::size_t columns, const std::string& indent) {
  std::vector<std::string> lines;
  std::string line;
  bool is_begun = false;  // the line holds a word
  for (const std::string& word : Split(text, ' ')) {
    if (is_begun && DisplayWidth(line) + 1 + DisplayWidth(word) > columns) {
      lines.push_back(line);
      line = indent;
      is_begun = false;
    }
    line += (is_begun ? " " : "") + word;
    is_begun = true;
  }
  lines.push_back(line);
  return lines;
}

std::size_t TerminalColumns(int file) {
  winsize size{};
  if (!IsTerminal(file) || ioctl(file, TIOCGWINSZ, &size) != 0 || size.ws_col < kFewestColumns) return kColumnsOfFiles;
  return size.ws_col;
}

std::string Paint(const std::string& text, Tone tone) {
  constexpr const char* kCodes[] = {nullptr, "32", "33", "31", "1", "2"};  // indexed by tone
  const char* code = kCodes[static_cast<std::size_t>(tone)];
  return code == nullptr || text.empty() ? text : "\033[" + std::string(code) + "m" + text + "\033[0m";
}

bool IsTerminal(int file) { return !has_no_terminal && isatty(file) != 0; }

void HaveNoTerminal() { has_no_terminal = true; }

}  // namespace farscale
