// The regions that alone are to be recorded, as --record-only names them: REGION or REGION:i..j, its occurrences from i
// to j on every rank, counted from 1.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace farscale::collect {

struct RecordedRegion {
  std::string name;    // as pages have it
  std::string window;  // the region of pages that these occurrences are: `name` when they are all
  std::uint64_t first = 1;
  std::uint64_t last = ~std::uint64_t{0};
};

// ":3", ":3..5" and ":3.." at the end are occurrences; anything else belongs to the name.
RecordedRegion ParseRecordedRegion(const std::string& text);

// Of FARSCALE_ONLY, one a line.
std::vector<RecordedRegion> RecordedRegions();
std::vector<std::string> WindowNames();

}  // namespace farscale::collect
