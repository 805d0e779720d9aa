#include "pages/text_table.h"

#include <algorithm>

#include "base/terminal.h"
#include "base/text.h"

namespace farscale {
namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t kGap = 2, kShortestName = 16;

bool IsText(const Rows& rows, const std::vector<bool>& of_words, std::size_t column) {
  return column == 0 || column >= rows.front().size() || rows.front()[column].empty() ||
         (column < of_words.size() && of_words[column]);
}

// The first column and those from `begin` to before `end`.
std::string FormatColumns(const Rows& rows, const std::vector<std::size_t>& widths, const std::vector<bool>& of_words,
                          std::size_t begin, std::size_t end) {
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    const auto add = [&](std::size_t i) {
      const std::string padding(widths[i] - DisplayWidth(row[i]), ' ');
      if (i > 0) line += std::string(kGap, ' ');
      line += IsText(rows, of_words, i) ? row[i] + padding : padding + row[i];
    };
    if (!row.empty()) add(0);
    for (std::size_t i = begin; i < std::min(end, row.size()); ++i) add(i);
    while (!line.empty() && line.back() == ' ') line.pop_back();
    text += line + "\n";
  }
  return text;
}

// Room for the widest column beside names, and for texts.
void ShortenTexts(Rows& rows, std::vector<std::size_t>& widths, const std::vector<bool>& of_words, std::size_t width) {
  const std::size_t widest = *std::max_element(widths.begin() + 1, widths.end());
  const std::size_t room = width > widest + kGap ? width - widest - kGap : 0;
  const std::size_t longest = std::max(kShortestName, std::min(room, width / 2));
  const auto shorten = [&](std::size_t column, std::size_t to) {
    if (widths[column] <= to) return;
    for (auto& row : rows) {
      if (column < row.size()) row[column] = Shorten(row[column], to);
    }
    widths[column] = to;
  };
  shorten(0, longest);
  for (std::size_t i = 1; i < widths.size(); ++i) {
    if (IsText(rows, of_words, i)) shorten(i, std::max(kShortestName, width - std::min(width, widths[0] + kGap)));
  }
}

}  // namespace

std::string FormatTable(const Rows& rows, std::size_t width, const std::vector<bool>& of_words) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  std::size_t whole = 0;
  for (const std::size_t column : widths) whole += (whole > 0 ? kGap : 0) + column;
  if (widths.size() < 2 || whole <= width) return FormatColumns(rows, widths, of_words, 1, widths.size());
  Rows shortened = rows;
  ShortenTexts(shortened, widths, of_words, width);
  std::string text;
  for (std::size_t begin = 1; begin < widths.size();) {
    std::size_t used = widths[0], end = begin;  // as many as fit beside the first; one at least
    while (end < widths.size() && (end == begin || used + kGap + widths[end] <= width)) used += kGap + widths[end++];
    text += (begin > 1 ? "\n" : "") + FormatColumns(shortened, widths, of_words, begin, end);
    begin = end;
  }
  return text;
}

std::string FormatTableWithin(std::vector<std::vector<std::string>> cells, std::size_t columns, std::size_t fewest) {
  constexpr std::size_t kShortName = 8;
  const auto width = [&] {
    std::size_t widest = 0;
    for (const std::string& line : Split(FormatTable(cells), '\n')) widest = std::max(widest, DisplayWidth(line));
    return widest;
  };
  std::size_t names = 0;
  for (const auto& row : cells) names = std::max(names, DisplayWidth(row[0]));
  const auto shorten = [&](std::size_t to) {
    for (auto& row : cells) row[0] = Shorten(row[0], to);
  };
  for (std::size_t now = width(); now > columns; now = width()) {
    const std::size_t over = now - columns;
    if (names >= over + kShortName) {
      shorten(names - over);
      break;
    }
    if (cells[0].size() <= fewest) {
      shorten(kShortName);
      break;
    }
    for (auto& row : cells) row.pop_back();
  }
  return FormatTable(cells);
}

}  // namespace farscale
