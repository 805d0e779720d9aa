#include "collect/sums.h"

#include <cstdio>
#include <cstring>

namespace farscale::collect {

Sums Minus(const Sums& later, const Sums& earlier) {
  return {later.elapsed - earlier.elapsed,
          later.mpi - earlier.mpi,
          later.calls - earlier.calls,
          later.other_calls - earlier.other_calls,
          later.cpu - earlier.cpu,
          later.process_cpu - earlier.process_cpu,
          later.preemptions - earlier.preemptions,
          later.instructions - earlier.instructions,
          later.cycles - earlier.cycles,
          later.ideal - earlier.ideal};
}

void Add(Sums& sums, const Sums& more) {
  sums.elapsed += more.elapsed;
  sums.mpi += more.mpi;
  sums.calls += more.calls;
  sums.other_calls += more.other_calls;
  sums.cpu += more.cpu;
  sums.process_cpu += more.process_cpu;
  sums.preemptions += more.preemptions;
  sums.instructions += more.instructions;
  sums.cycles += more.cycles;
  sums.ideal += more.ideal;
}

Sums SumsOfPage(const Page& page, std::uint64_t now) {
  const RegionRecord& whole = page.region[0];
  if (page.end_tick != 0) {
    Sums sums = whole.at_start;
    Add(sums, whole.total);
    return sums;
  }
  Sums sums{};
  sums.elapsed = now > page.begin_tick ? now - page.begin_tick : 0;
  sums.mpi = page.mpi + (page.entered != 0 && now > page.entered ? now - page.entered : 0);
  sums.calls = page.calls;
  sums.other_calls = page.other_calls;
  sums.instructions = page.instructions;
  sums.cycles = page.cycles;
  sums.ideal = page.ideal + (page.entered == 0 && page.left != 0 && now > page.left ? now - page.left : 0);
  return sums;
}

Sums TotalOf(const Page& page, const RegionRecord& region, const Sums& now) {
  Sums total = region.total;
  if (region.open == 0 || page.end_tick != 0) return total;
  Sums open = Minus(now, region.at_start);
  open.cpu = open.process_cpu = open.preemptions = 0;  // known at the end only
  Add(total, open);
  return total;
}

int FindRegion(const Page& page, const char* name) {
  char cut[kNameBytes];
  CopyName(name, cut);
  for (std::uint32_t i = 1; i < page.regions; ++i) {
    if (std::strcmp(page.region[i].name, cut) == 0) return static_cast<int>(i);
  }
  return -1;
}

void CopyName(const char* name, char* to) {
  std::size_t length = 0;
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (; name[length] != '\0'; ++length) {
    const auto byte = static_cast<unsigned char>(name[length]);
    hash = (hash ^ byte) * 16777619U;
    if (length < kNameBytes - 1) to[length] = byte < 0x20 || byte == 0x7F ? ' ' : name[length];
  }
  if (length < kNameBytes) {
    to[length] = '\0';
    return;
  }
  constexpr std::size_t kNumberBytes = 9;  // ~ and eight digits
  std::size_t kept = kNameBytes - 1 - kNumberBytes;
  while (kept > 0 && (static_cast<unsigned char>(to[kept]) & 0xC0U) == 0x80) --kept;  // never half a letter
  std::snprintf(to + kept, kNumberBytes + 1, "~%08x", hash);
}

}  // namespace farscale::collect
