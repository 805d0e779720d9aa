// The [[groups]] of a study file [docs/study-file.md].
#pragma once

#include <vector>

#include "base/config.h"
#include "phases/group_spec.h"

namespace farscale {

// Throws a usage error with file and line for everything that is not as docs/study-file.md says.
std::vector<GroupSpec> ParseGroups(const ConfigTable& root);

}  // namespace farscale
