// Groups of ranks that a study names, before they are looked for in a trace.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace farscale {

struct RankGroup;
struct Trace;

// Ranks [begin, end), or those shares of all ranks.
struct RankRange {
  double begin = 0;
  double end = 0;
  bool is_share = false;

  friend bool operator==(const RankRange&, const RankRange&) = default;
};

struct GroupSpec {
  enum class Kind { kRegion, kRanks, kEvery };

  std::string name;
  Kind kind = Kind::kRegion;
  std::string region;             // the program's region that the ranks enter
  std::vector<RankRange> ranges;  // ranks beyond those of a run are left out
  std::size_t every = 1;          // ranks that leave the rest `offset` when divided by it
  std::size_t offset = 0;
  std::string where;  // file and line that says so, for error messages
};

// Name of the group of all ranks that no other has.
inline constexpr std::string_view kOtherRanks = "others";

// "0-11, 16", "75%-100%". Throws a usage error at `where` for anything else.
std::vector<RankRange> ParseRankRanges(const std::string& text, const std::string& where);

// The groups in the order of the study, then the others if there are any. None when there is only one. Throws a usage
// error when a group has no rank in this trace, or two groups have the same one.
std::vector<RankGroup> NamedGroups(const Trace& trace, const std::vector<GroupSpec>& specs);

}  // namespace farscale
