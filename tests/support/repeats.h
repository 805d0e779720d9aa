// How often tests repeat themselves.
#pragma once

#include <cstdlib>

namespace farscale::test {

// Daily checks draw a tenth of the random programs, tables and the like; scripts/check --full sets FARSCALE_ALL_TESTS
// and draws all of them. Sanitizers make programs ten to twenty times slower and find what they find in the first few
// repetitions: with them it is always a tenth. The build says so, as the tests themselves may be compiled without.
inline bool IsBrief() {
#ifdef FARSCALE_SANITIZED
  return true;
#else
  static const bool is_brief = std::getenv("FARSCALE_ALL_TESTS") == nullptr;
  return is_brief;
#endif
}

// All of them, or a tenth.
template <typename Count>
Count Repeats(Count full) {
  return IsBrief() ? (full + 9) / 10 : full;
}

}  // namespace farscale::test
