// Puts results where several jobs may put theirs at the same time.
#pragma once

#include <string>

namespace farscale::collect {

// Writes `text`, which contains `job`, to `path`, whole or not at all. A file there that another job has written stays:
// then the name gets a number, farscale-2.json. Returns the path taken, or nothing and `why`.
std::string WriteResult(const std::string& path, const std::string& job, const std::string& text, std::string& why);

}  // namespace farscale::collect
