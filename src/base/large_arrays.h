// Where the large arrays of the program lie: in memory while all of them fit into the budget, in a file beyond that.
// cli/operator_new.cc makes every `new` ask here, so that rooms use ordinary vectors, and results do not depend on
// where those lie.
#pragma once

#include <cstddef>
#include <cstdint>

namespace farscale {

// From so many bytes on an array is large. Chosen: two pages; a column of a rank in traces of many ranks is not much
// larger.
inline constexpr std::size_t kLargeArray = 8192;

// From here on arrays beyond these bytes together lie in a file; fewer bytes, once the system has refused memory that
// they allow. Before, all lie in memory.
void LimitLargeArrays(std::uint64_t bytes);

// The part of the budget that is left for large arrays: small ones, code and stacks take the rest.
std::uint64_t ShareOfLargeArrays(std::uint64_t budget);

// nullptr where neither memory nor the disk has room.
void* AllocateArray(std::size_t bytes);
void FreeArray(void* array);
// The same for one whose bytes are known, which is faster for a small one.
void FreeArray(void* array, std::size_t bytes);

}  // namespace farscale
