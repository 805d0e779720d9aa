// Heat maps of the call paths that cause most waiting: by rank and iteration, and on the process grid where one is
// known.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "imbalance/loss_record.h"
#include "report/cells.h"

namespace farscale {

struct LossGridMap {
  FARSCALE_TEXTS(svg, caption)
};

struct LossMap {
  std::string svg, title, number, caption;
  TextTable table;  // behind the picture
  std::optional<LossGridMap> grid;
  FARSCALE_TAGS(svg, title, number, caption, table, grid)
};

// The picture of a cause: by how much ranks exceed the usual, when. Nothing where there is none.
struct CauseMap {
  FARSCALE_TEXTS(svg, caption)
};
std::optional<CauseMap> MapOfCause(const LossRecord& losses, const Cause& cause, std::size_t number,
                                   const std::string& heading, const Partials& texts);

// A map a call path, of the `most` with the largest costs. `heading`: of the phase, for names of figures.
std::vector<LossMap> MapsOfLosses(const LossRecord& losses, std::size_t most, const std::string& heading,
                                  const Partials& texts);

}  // namespace farscale
