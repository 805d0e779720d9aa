// The memory that farscale may use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace farscale {

// Bytes of memory that this process may still take, by the system, its control group and its own limits; 0 where the
// system does not say.
std::uint64_t AvailableMemory();

// The same by the control groups alone, of version 1 or 2, that the text of /proc/self/cgroup names below `root`, which
// is /sys/fs/cgroup. Files that the kernel keeps in memory count as available. The largest number there is where no
// group has a limit.
std::uint64_t MemoryLeftInGroups(const std::string& groups, const std::filesystem::path& root);

// "24", "1.5G", "800M" or "4096k" in bytes; GiB without a unit. Throws a usage error for anything else at `where`.
std::uint64_t ParseMemory(const std::string& text, const std::string& where);

// The budget that farscale shall get along with: runs are read at once as far as they fit, and what exceeds it is kept
// in files. Not set: three quarters of what was available when it was first asked for.
void SetMemoryBudget(std::uint64_t bytes);
std::uint64_t MemoryBudget();

}  // namespace farscale
