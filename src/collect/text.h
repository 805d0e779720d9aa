// Text of the environment and of programs, made fit for a page, a table and a terminal.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace farscale::collect {

// Copies a name to where kNameBytes are. A longer one is cut, and what can stand in no table (control characters, bytes
// that are not UTF-8) becomes question marks; then a mark of the whole name ends it, "~" and eight digits, so that
// different names stay different. The same name gives the same result, and so does the result.
void CopyName(const char* name, char* to);

// Text in UTF-8 without control characters: a question mark for each that was there.
std::string Printable(std::string_view text);

// Columns it takes, one a character.
std::size_t Width(std::string_view text);

// The parts of a text between any of the separators; none behind a last one.
std::vector<std::string> Split(const std::string& text, const char* separators);

// Texts as functions of the system take lists of them: pointers to each, and a null pointer behind.
std::vector<char*> Pointers(std::vector<std::string>& texts);

// A variable of the environment; empty where it is not set.
std::string Variable(const char* name);
// True if it is "1".
inline bool IsSet(const char* name) { return Variable(name) == "1"; }

// The first bytes of a file, as many as one call reads; empty where it cannot be opened.
std::string ReadStart(const std::string& path, std::size_t most);

// False where not all could be written; errno says why.
bool WriteAll(int file, std::string_view text);

// As printf does; cut after 511 bytes.
template <typename... Values>
std::string Format(const char* format, Values... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

// "0.98 s", "12.3 ms".
std::string FormatSeconds(double seconds);

}  // namespace farscale::collect
