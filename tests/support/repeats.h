// How often tests repeat themselves.
#pragma once

namespace farscale::test {

// Sanitizers make programs ten to twenty times slower, and find what they find in the first few repetitions. The build
// says whether the rooms have them, as the tests themselves may be compiled without.
#ifdef FARSCALE_SANITIZED
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

// Random programs, tables and the like: all of them, or a tenth under sanitizers.
template <typename Count>
constexpr Count Repeats(Count full) {
  return kIsSanitized ? (full + 9) / 10 : full;
}

}  // namespace farscale::test
