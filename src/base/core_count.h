// Numbers of cores as people write them, in options and in rules.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace farscale {

inline constexpr std::int64_t kMostCores = 1000000000;  // that can be asked for

// Why a text is no number of cores from 1 to kMostCores in plain digits, as a clause; empty when it is one, which is
// then in `cores`. A zero in front is none: it would be octal to some, and is half of "1,024" to others. `before` is
// what stands before the text and a comma, so that the advice can name the number meant.
std::string WhyNoCoreCount(std::string_view text, std::int64_t& cores, std::string_view before = "");

// The same of a list separated by commas, of which no item may be empty.
std::string WhyNoCoreCounts(std::string_view text, std::vector<std::int64_t>& cores);

// The error of an item that is missing between commas.
inline constexpr const char* kEmptyCoreCount = "a number of cores is missing beside a comma";

}  // namespace farscale
