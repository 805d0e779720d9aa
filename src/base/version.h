// The name of this program in the files it writes, and the commit it was built from.
#pragma once

#include <string>

namespace farscale {

std::string Version();    // "0.2.0"
std::string Generator();  // "farscale 0.2.0"

// For --version: Generator(), then lines with the commit where the source tree knows it, the libraries and their
// versions, and the MPIs that preload libraries were built for. Without a newline at the end.
std::string BuildDescription();

}  // namespace farscale
