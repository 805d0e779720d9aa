// Text on terminals: how wide it is, how it is broken and coloured, and how wide the terminal is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace farscale {

// Columns that UTF-8 text takes: two for a wide character, none for combining characters and colours (ESC [ ... m).
std::size_t DisplayWidth(std::string_view text);

// At most so many columns, the last of them "…" where something is left out.
std::string Shorten(std::string_view text, std::size_t columns);

// Lines of at most so many columns, broken at blanks; those after the first begin with `indent`. A word that is
// longer than a line is left whole, since it may be a path that somebody copies.
std::vector<std::string> WrapText(std::string_view text, std::size_t columns, const std::string& indent = "");

// Columns of the terminal behind an open file, such as STDOUT_FILENO; 100 where it is none.
std::size_t TerminalColumns(int file);

enum class Tone { kNone, kGood, kFair, kBad, kBold, kDim };
std::string Paint(const std::string& text, Tone tone);

// The look of outputs: for a terminal, or for a file.
struct TerminalStyle {
  std::size_t columns = 100;
  bool is_colored = false;

  std::string Painted(const std::string& text, Tone tone) const { return is_colored ? Paint(text, tone) : text; }
};

// True if an open file is a terminal that people read.
bool IsTerminal(int file);
// From now on nothing is one. For a process of a job: Open MPI gives the first one a terminal of its own and writes
// what comes out of it to wherever its own output goes.
void HaveNoTerminal();

}  // namespace farscale
