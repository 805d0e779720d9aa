// The view of `farscale watch`: rows of running programs, in an order and from a line on that keys choose.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "measure/measured_run.h"

namespace farscale {

struct WatchView {
  char order = 'n';  // the key: n program, r ranks, e elapsed, p parallel, b balance, c communication, m calls
  bool is_reversed = false;
  std::size_t first = 0;  // line of the table's body at the top
  bool is_over = false;
};

// Takes keys of a terminal: letters choose the order (again: reversed), arrows and page keys scroll, q ends.
// `lines` are those of the body, `room` those that the terminal has for it.
void Press(std::string_view keys, std::size_t lines, std::size_t room, WatchView& view);

// The worst first: the lowest efficiency, the longest time, the most calls. Regions are ordered within their run.
void Order(std::vector<MeasuredRun>& runs, const WatchView& view);

// Header and rows.
std::vector<std::vector<std::string>> CellsOf(const std::vector<MeasuredRun>& runs);
std::string CsvOf(const std::vector<MeasuredRun>& runs);

// The lines of a table from `view.first` on that fit under its header into so many lines, and a last line on the keys.
std::string Cut(const std::string& table, std::size_t lines, std::size_t columns, const WatchView& view);

}  // namespace farscale
