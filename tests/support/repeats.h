// How often tests repeat themselves.
#pragma once

#include <cstddef>
#include <cstdlib>

namespace farscale::test {

// True unless scripts/check --full, which sets FARSCALE_ALL_TESTS, runs the tests.
inline bool IsDaily() {
  static const bool is_daily = std::getenv("FARSCALE_ALL_TESTS") == nullptr;
  return is_daily;
}

// Daily checks draw a tenth of the random programs, tables and the like; scripts/check --full draws all of them.
// Sanitizers make programs ten to twenty times slower and find what they find in the first few repetitions: with them
// it is always a tenth. The build says so, as the tests themselves may be compiled without.
inline bool IsBrief() {
#ifdef FARSCALE_SANITIZED
  return true;
#else
  return IsDaily();
#endif
}

// The step through what is tried whole every night, with sanitizers, too: bytes that are changed, traces.
inline std::size_t DailyStep(std::size_t daily) { return IsDaily() ? daily : 1; }

// All of them, or a tenth.
template <typename Count>
Count Repeats(Count full) {
  return IsBrief() ? (full + 9) / 10 : full;
}

}  // namespace farscale::test
