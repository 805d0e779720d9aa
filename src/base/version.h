// What this program calls itself in the files it writes.
#pragma once

#include <string>

namespace farscale {

std::string Version();    // "0.1.0"
std::string Generator();  // "farscale 0.1.0"

}  // namespace farscale
