// Texts for LaTeX.
#pragma once

#include <string>
#include <string_view>

namespace farscale {

// The text as LaTeX prints it, in any font encoding and without packages: its special characters, characters that the
// usual fonts lack, and whatever else names from traces contain. Line breaks become blanks.
std::string EscapeLatex(std::string_view text);

}  // namespace farscale
