#include "base/memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "base/error.h"
#include "base/text.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

std::uint64_t Left(std::uint64_t limit, std::uint64_t used) { return limit > used ? limit - used : 0; }

// The number behind `name`, with which a line of the file begins; 0 without one.
std::uint64_t NumberIn(const fs::path& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    std::uint64_t number = 0;
    if (words >> word && word == name && words >> number) return number;
  }
  return 0;
}

// The number in a file; "max" is none.
std::uint64_t OnlyNumber(const fs::path& path, std::uint64_t otherwise) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  return file >> number ? number : otherwise;
}

struct GroupFiles {
  const char *limit, *used;
  const char *active, *inactive;  // in memory.stat: bytes of files
};
constexpr GroupFiles kVersion1 = {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_active_file",
                                  "total_inactive_file"};
constexpr GroupFiles kVersion2 = {"memory.max", "memory.current", "active_file", "inactive_file"};

std::uint64_t LeftInGroup(const fs::path& folder, const GroupFiles& files) {
  const std::uint64_t limit = OnlyNumber(folder / files.limit, kNoLimit);
  if (limit == kNoLimit) return kNoLimit;
  const std::uint64_t used = OnlyNumber(folder / files.used, 0);
  const fs::path stat = folder / "memory.stat";
  return Left(limit, Left(used, NumberIn(stat, files.active) + NumberIn(stat, files.inactive)));
}

// A group may take no more than each of those around it. In a container the path may be one of the host's, which is not
// there; the container's own group is then the root.
std::uint64_t LeftInGroupAndAbove(const fs::path& root, const std::string& path, const GroupFiles& files) {
  std::uint64_t left = LeftInGroup(root, files);
  fs::path folder = root;
  for (const std::string& name : Split(path, '/')) {
    if (name.empty()) continue;
    folder /= name;
    left = std::min(left, LeftInGroup(folder, files));
  }
  return left;
}

std::uint64_t LeftOfLimit(int resource, const std::string& used_as) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return kNoLimit;
  }
  return Left(limit.rlim_cur, NumberIn("/proc/self/status", used_as) * 1024);
}

std::atomic<std::uint64_t> memory_budget = 0;

}  // namespace

std::uint64_t MemoryLeftInGroups(const std::string& groups, const fs::path& root) {
  std::uint64_t left = kNoLimit;
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string path = line.substr(second + 1);
    const std::vector<std::string> controllers = Split(line.substr(first + 1, second - first - 1), ',');
    if (std::ranges::count(controllers, "memory") > 0) {
      left = std::min(left, LeftInGroupAndAbove(root / "memory", path, kVersion1));
    } else if (first + 1 == second) {
      left = std::min(left, LeftInGroupAndAbove(root, path, kVersion2));
    }
  }
  return left;
}

std::uint64_t AvailableMemory() {
  std::ostringstream groups;
  groups << std::ifstream("/proc/self/cgroup").rdbuf();
  const std::uint64_t system = NumberIn("/proc/meminfo", "MemAvailable:") * 1024;
  const std::uint64_t left =
      std::min({system > 0 ? system : kNoLimit, MemoryLeftInGroups(groups.str(), "/sys/fs/cgroup"),
                LeftOfLimit(RLIMIT_DATA, "VmData:"), LeftOfLimit(RLIMIT_AS, "VmSize:")});
  return left == kNoLimit ? 0 : left;
}

std::uint64_t ParseMemory(const std::string& text, const std::string& where) {
  constexpr double kMost = 1e18;  // bytes; chosen: far above the memory of any machine
  std::string number = text;
  double unit = 1 << 30;
  if (number.ends_with('B') || number.ends_with('b')) number.pop_back();
  if (number.ends_with('i')) number.pop_back();
  const std::size_t digits = number.find_last_of("0123456789.");
  const std::string letter = digits == std::string::npos ? number : number.substr(digits + 1);
  number.resize(number.size() - letter.size());
  const std::size_t power = letter.size() == 1 ? std::string("kKmMgGtT").find(letter) : std::string::npos;
  if (power != std::string::npos) unit = std::pow(1024.0, static_cast<double>(power / 2 + 1));
  double count = 0;
  const bool is_known = letter.empty() ? number.size() == text.size() : power != std::string::npos;
  if (!is_known || !ParseNumber(number, count) || !(count > 0) || count * unit > kMost) {
    throw Error(ErrorKind::kUsage, where, "'" + text + "' is no size of memory",
                "write 24 for GiB, or 800M, 24G, 1.5T");
  }
  return static_cast<std::uint64_t>(count * unit);
}

void SetMemoryBudget(std::uint64_t bytes) { memory_budget = bytes; }

std::uint64_t MemoryBudget() {
  std::uint64_t bytes = memory_budget;
  if (bytes > 0) return bytes;
  const std::uint64_t available = AvailableMemory();
  const std::uint64_t found = available > 0 ? available / 4 * 3 : kNoLimit;
  memory_budget.compare_exchange_strong(bytes, found);
  return memory_budget;
}

}  // namespace farscale
