// How often tests repeat themselves.
#pragma once

namespace farscale::test {

// Sanitizers make programs ten to twenty times slower, and find what they find in the first few repetitions.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
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
