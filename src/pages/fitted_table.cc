#include "pages/fitted_table.h"

#include <algorithm>

#include "base/terminal.h"
#include "base/text.h"
#include "pages/text_table.h"

namespace farscale {

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
