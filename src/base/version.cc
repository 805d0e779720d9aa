#include "base/files.h"

#include "base/commit.h"  // written by cmake/commit.cmake when the commit has changed

namespace farscale {

std::string Version() { return FARSCALE_VERSION; }
std::string Generator() { return "farscale " + Version(); }

std::string BuildDescription() {
  const std::string commit = FARSCALE_COMMIT, mpis = FARSCALE_MPI_VERSIONS;
  std::string text = Generator();
  if (!commit.empty()) text += "\ncommit " + commit;
  text += "\nlibraries: " FARSCALE_LIBRARY_VERSIONS;
  text += "\nmeasures programs of: " + (mpis.empty() ? std::string("no MPI (built without preload libraries)") : mpis);
  return text;
}

}  // namespace farscale
