// Names as programs give them, made fit for a page, a table and a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace farscale::collect {

// Copies a name to where kNameBytes are. A longer one is cut, and what can stand in no table (control characters, bytes
// that are not UTF-8) becomes question marks; then a mark of the whole name ends it, "~" and eight digits, so that
// different names stay different. The same name gives the same result, and so does the result.
void CopyName(const char* name, char* to);

// Text in UTF-8 without control characters: a question mark for each that was there.
std::string Printable(std::string_view text);

// Columns it takes, one a character.
std::size_t Width(std::string_view text);

}  // namespace farscale::collect
