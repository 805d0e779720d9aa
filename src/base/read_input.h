// Input of commands that may come from standard input.
#pragma once

#include <string>

namespace farscale {

// The content of a file; of standard input for "-", as often as it is asked for. Throws an input error.
std::string ReadInput(const std::string& path);

}  // namespace farscale
