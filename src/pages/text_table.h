// Tables for the terminal.
#pragma once

#include <string>
#include <vector>

namespace farscale {

// Columns are padded to their widest cell. The first row is the header and as long as any. The first column and
// those without a heading are texts and left-aligned, the others numbers and right-aligned.
std::string FormatTable(const std::vector<std::vector<std::string>>& rows);

}  // namespace farscale
