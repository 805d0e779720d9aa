#include "plot/latex.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "base/text.h"

namespace farscale {
namespace {

constexpr std::pair<std::uint32_t, const char*> kEscapes[] = {
    {'\\', "\\textbackslash{}"},
    {'{', "\\{"},
    {'}', "\\}"},
    {'$', "\\$"},
    {'&', "\\&"},
    {'#', "\\#"},
    {'%', "\\%"},
    {'_', "\\_"},
    {'^', "\\textasciicircum{}"},
    {'~', "\\textasciitilde{}"},
    {'<', "\\textless{}"},
    {'>', "\\textgreater{}"},
    {'|', "\\textbar{}"},
    {'`', "\\textasciigrave{}"},
    {'\'', "\\textquoteright{}"},
    {'[', "{[}"},  // behind the end of a line it would begin an option
    {'*', "{*}"},  // the same
    {0xA0, "~"},
    {0xB0, "\\ensuremath{^\\circ}"},
    {0xB1, "\\ensuremath{\\pm}"},
    {0xB2, "\\ensuremath{^2}"},
    {0xB3, "\\ensuremath{^3}"},
    {0xB5, "\\ensuremath{\\mu}"},
    {0x3BC, "\\ensuremath{\\mu}"},
    {0xB7, "\\ensuremath{\\cdot}"},
    {0xD7, "\\ensuremath{\\times}"},
    {0x2080, "\\ensuremath{_0}"},
    {0x2013, "--"},
    {0x2014, "---"},
    {0x2018, "\\textquoteleft{}"},
    {0x2019, "\\textquoteright{}"},
    {0x201C, "\\textquotedblleft{}"},
    {0x201D, "\\textquotedblright{}"},
    {0x2026, "\\dots{}"},
    {0x2212, "\\ensuremath{-}"},
    {0x2264, "\\ensuremath{\\le}"},
    {0x2265, "\\ensuremath{\\ge}"},
};

// One character of UTF-8 that is well-formed; moves on behind it.
std::uint32_t NextCharacter(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t first = byte(at);
  const int more = first < 0x80 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
  std::uint32_t character = more == 0 ? first : first & (0x3FU >> more);
  for (int i = 1; i <= more; ++i) character = character << 6 | (byte(at + static_cast<std::size_t>(i)) & 0x3FU);
  at += static_cast<std::size_t>(more) + 1;
  return character;
}

// A quotation mark opens at the beginning, behind a blank, a bracket or a dash, and closes elsewhere.
const char* QuotationMark(std::string_view text, std::size_t at) {
  const bool opens = at == 0 || std::string_view(" \t\n([{-/").find(text[at - 1]) != std::string_view::npos;
  return opens ? "``" : "''";
}

// Letters of Latin-1 that every font has, as base letters with accents.
bool IsAccentedLetter(std::uint32_t character) {
  const bool is_in_block = character >= 0xC0 && character <= 0xFF;
  return is_in_block && character != 0xD0 && character != 0xDE && character != 0xF0 && character != 0xFE &&
         character != 0xF7;
}

}  // namespace

std::string EscapeLatex(std::string_view source) {
  const std::string text = ToUtf8(source);
  std::string escaped;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const std::uint32_t character = NextCharacter(text, at);
    const char* known = nullptr;
    for (const auto& [one, escape] : kEscapes) {
      if (one == character) known = escape;
    }
    const bool becomes_a_dash = character == '-' && at < text.size() && text[at] == '-';
    if (character == '"') {
      escaped += QuotationMark(text, begin);
    } else if (known != nullptr) {
      escaped += known;
    } else if (becomes_a_dash) {
      escaped += "-{}";
    } else if (character < 0x20 || character == 0x7F) {
      escaped += ' ';
    } else if (character < 0x80 || IsAccentedLetter(character)) {
      escaped.append(text, begin, at - begin);
    } else {
      escaped += fmt::format("{{[}}U+{:04X}]", character);
    }
  }
  return escaped;
}

}  // namespace farscale
