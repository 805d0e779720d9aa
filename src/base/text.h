// Small text tools: suggestions for misspelt names, splitting, joining.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace farscale {

// The candidate with the smallest edit distance to `name`, or empty when none is close enough to be what was meant.
std::string Nearest(std::string_view name, const std::vector<std::string>& candidates);

// "; did you mean 'cycle'?", or "" when nothing is near.
std::string DidYouMean(std::string_view name, const std::vector<std::string>& candidates);

std::vector<std::string> Split(std::string_view text, char separator);
std::string Join(const std::vector<std::string>& parts, std::string_view separator);
std::string_view Trim(std::string_view text);
std::string ToLower(std::string_view text);

// Reads a whole text as a number; false when any of it is something else.
bool ParseNumber(std::string_view text, double& value);
bool ParseInteger(std::string_view text, long long& value);

// True when the bytes are well-formed UTF-8; names out of traces need not be.
bool IsUtf8(std::string_view text);
// The text itself when it is UTF-8, else with every offending byte replaced by '?'.
std::string ToUtf8(std::string_view text);

// Text for XML and HTML, outside and inside of attributes. Control characters that XML does not have become blanks.
std::string EscapeXml(const std::string& text);

// Numbers as people read them. Everything printed in a report passes through here, so that it looks the same
// everywhere.

std::string FormatFactor(double value);                   // 0.8734 -> "0.873", 0.00123 -> "0.0012"
std::string FormatSpeedup(double value);                  // 2.345 -> "2.35", 26237.4 -> "26,200"
std::string FormatPercent(double share);                  // 0.8734 -> "87.3 %", -0.02 -> "−2.0 %"
std::string FormatSeconds(double seconds);                // 0.00123 -> "1.23 ms"
std::string FormatBytes(std::uint64_t bytes);             // 3600721 -> "3.4 MiB"
std::string FormatCount(std::uint64_t count);             // 1048576 -> "1,048,576"
std::string FormatCores(double cores);                    // the same for numbers that may be fractions
std::string FormatCoreCount(double cores);                // 1 -> "1 core", 1024 -> "1,024 cores"
std::string FormatSignificant(double value, int digits);  // 0.00123456, 3 -> "0.00123"
std::string FormatRatio(double ratio);                    // 8.192 -> "8.2×", 0.5 -> "0.5×"
std::string FormatOrdinal(std::size_t number);            // 2 -> "2nd", 11 -> "11th"
std::string FormatExact(double value);                    // shortest text that reads back as the same number

// Two formatted bounds as one range, with a common unit at its end: "20.4–59.4 %"; one of them when they are the same.
std::string FormatRange(const std::string& low, const std::string& high, const char* between = "–");

// Numbers of cores as people write them, in options and in rules.

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
