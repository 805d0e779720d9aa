// Where measure and trace are to put their results, looked at before the program runs: afterwards it would be too late.
#pragma once

#include <string>

namespace farscale {

// Both throw an output error that says what is in the way.
void CheckResultFile(const std::string& path);
void CheckTraceFolder(const std::string& path);

}  // namespace farscale
