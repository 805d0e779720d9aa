// Real traces that tests run on: those in sample-runs/, and those of the shared data folder when it is there.
#pragma once

#include <string>
#include <vector>

namespace farscale::test {

// Anchor files under sample-runs/.
std::vector<std::string> SampleTraces();

// Anchor files under $FARSCALE_SHARED_DATA (default: ../shared/data beside the checkout), without those known to be
// faulty; empty when there is no such folder.
std::vector<std::string> SharedTraces();

// Both.
std::vector<std::string> AllTraces();

// The same for what must hold of any trace: in daily checks some of the shared ones [support/repeats.h].
std::vector<std::string> TracesToTry();

std::string SourceFolder();
std::string SharedDataFolder();  // may not exist

}  // namespace farscale::test
