// Numbers as people read them. Everything printed in a report passes through here, so that it looks the same
// everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace farscale {

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

}  // namespace farscale
