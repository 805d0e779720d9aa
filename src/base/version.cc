#include "base/version.h"

namespace farscale {

std::string Version() { return FARSCALE_VERSION; }
std::string Generator() { return "farscale " + Version(); }

}  // namespace farscale
