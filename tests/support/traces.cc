#include "support/traces.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "support/repeats.h"

namespace farscale::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> AnchorsUnder(const fs::path& folder) {
  std::vector<std::string> anchors;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder, code)) {
    if (entry.path().extension() == ".otf2") anchors.push_back(entry.path().string());
  }
  std::sort(anchors.begin(), anchors.end());
  return anchors;
}

}  // namespace

std::string SourceFolder() { return FARSCALE_SOURCE_FOLDER; }

std::string SharedDataFolder() {
  const char* chosen = std::getenv("FARSCALE_SHARED_DATA");
  return chosen != nullptr ? chosen : (fs::path(SourceFolder()) / ".." / "shared" / "data").lexically_normal().string();
}

std::vector<std::string> SampleTraces() { return AnchorsUnder(fs::path(SourceFolder()) / "sample-runs"); }

std::vector<std::string> SharedTraces() {
  std::vector<std::string> traces = AnchorsUnder(fs::path(SharedDataFolder()) / "traces");
  std::erase_if(traces, [](const std::string& path) { return path.find("/faulty/") != std::string::npos; });
  return traces;
}

std::vector<std::string> AllTraces() {
  std::vector<std::string> traces = SampleTraces();
  for (const std::string& trace : SharedTraces()) traces.push_back(trace);
  return traces;
}

std::vector<std::string> TracesToTry() {
  std::vector<std::string> traces;
  const std::vector<std::string> samples = SampleTraces(), shared = SharedTraces();
  for (std::size_t i = 0; i < samples.size(); i += DailyStep(2)) traces.push_back(samples[i]);
  for (std::size_t i = 0; i < shared.size(); i += IsDaily() ? 15 : IsBrief() ? 6 : 1) traces.push_back(shared[i]);
  return traces;
}

}  // namespace farscale::test
