// Paths in studies. TOML is UTF-8 and names of files need not be: a byte that is none stands there as a character of
// its own, U+10FE00 plus the byte, which no name has by accident.
#pragma once

#include <string>
#include <string_view>

namespace farscale {

std::string TextOfPath(std::string_view path);
std::string PathOfText(std::string_view text);

}  // namespace farscale
