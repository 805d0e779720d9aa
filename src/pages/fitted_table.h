// Tables for terminals that may be narrow.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace farscale {

// As FormatTable. Where lines would be wider than so many columns, long names of the first column are shortened; where
// that is not enough, the last columns are left out, which should say least, down to the `fewest`. A table of these and
// names of eight columns may still be wider.
std::string FormatTableWithin(std::vector<std::vector<std::string>> cells, std::size_t columns, std::size_t fewest);

}  // namespace farscale
