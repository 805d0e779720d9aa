// Tables for the terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace farscale {

// The width of text for files and pipes, which nothing bounds.
inline constexpr std::size_t kAnyWidth = SIZE_MAX;

// Columns are padded to their widest cell. The first row is the header and as long as any. The first column, those
// without a heading and those `of_words` are texts and left-aligned, the others numbers and right-aligned.
// Columns that do not fit the width follow below, beside the first column again.
std::string FormatTable(const std::vector<std::vector<std::string>>& rows, std::size_t width = kAnyWidth,
                        const std::vector<bool>& of_words = {});

// The same for a terminal that may be narrow. Where lines would be wider than so many columns, long names of the first
// column are shortened; where that is not enough, the last columns are left out, which should say least, down to the
// `fewest`. A table of these and names of eight columns may still be wider.
std::string FormatTableWithin(std::vector<std::vector<std::string>> cells, std::size_t columns, std::size_t fewest);

}  // namespace farscale
