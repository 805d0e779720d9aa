#include "phases/phase_spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostics.h"
#include "phases/found_loop.h"
#include "phases/phase_cut.h"

namespace farscale {

std::size_t ParseClean(const std::string& text, const std::string& where) {
  if (text == "longest") return kLongestRun;
  const bool is_number = !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos;
  const std::size_t count = is_number ? std::stoul(text) : 0;
  if (count > 0) return count;
  throw Error(ErrorKind::kUsage, where,
              "'" + text + "' must be longest, or how many of the cleanest iterations to keep");
}

PhaseSpec PhaseSpec::WholeRun() { return {.name = "whole"}; }

PhaseSpec PhaseSpec::TimeWindow(double begin, double end) {
  return {.name = "window", .kind = Kind::kTimeWindow, .window_begin = begin, .window_end = end};
}

PhaseSpec PhaseSpec::FoundLoop() { return {.name = "iteration", .kind = Kind::kFoundLoop}; }

PhaseSpec PhaseSpec::Region(const std::string& text) {
  for (const std::string_view loop : {"auto", "found"}) {
    const bool is_part = text.size() > loop.size() && text.starts_with(loop) && text[loop.size()] == ':';
    if (text != loop && !is_part) continue;
    PhaseSpec found = FoundLoop();
    if (!is_part) return found;
    found.name = found.part = text.substr(loop.size() + 1);
    if (found.part.empty())
      throw Error(ErrorKind::kUsage, text, "names no part of an iteration", "leave out the colon");
    return found;
  }
  const bool is_expression = text.size() > 2 && text.front() == '/' && text.back() == '/';
  if (!is_expression) return {.name = text, .kind = Kind::kRegion, .region = text};
  const std::string expression = text.substr(1, text.size() - 2);
  return {.name = expression, .kind = Kind::kRegularExpression, .region = expression};
}

std::string ToString(Span span) {
  constexpr const char* kNames[] = {"auto", "whole", "each"};
  return kNames[static_cast<std::size_t>(span)];
}

std::string Describe(const PhaseSpec& spec) {
  std::string text;
  switch (spec.kind) {
    case PhaseSpec::Kind::kWholeRun: return "the whole run";
    case PhaseSpec::Kind::kTimeWindow:
      return fmt::format("the window from {} s to {} s of the run", spec.window_begin, spec.window_end);
    case PhaseSpec::Kind::kRegion: text = "region " + spec.region; break;
    case PhaseSpec::Kind::kFoundLoop: text = "the iterations found in the MPI calls"; break;
    case PhaseSpec::Kind::kRegularExpression: text = "regions matching " + spec.region; break;
  }
  if (!spec.part.empty()) text = spec.part + " in " + text;
  if (spec.skip > 0) text += fmt::format(", without the first {}", spec.skip);
  if (spec.keep) text += fmt::format(", {} iteration{}", *spec.keep, *spec.keep == 1 ? "" : "s");
  if (spec.clean == kLongestRun) text += ", the longest run of clean iterations";
  if (spec.clean > kLongestRun) text += fmt::format(", the {} cleanest", *spec.clean);
  return text;
}

namespace {

constexpr char kQuote = '"';

std::string WithGroup(const std::string& name, const PhaseId& id) {
  return id.IsGroup() ? name + std::string(kGroupSeparator) + id.group : name;
}

// All are chosen, and tested in loop_choice_test.cc.
// Of the run, as of a loop found in the calls: a region that covers less may mark a loop beside the main one.
constexpr double kSmallRegion = 0.1;
// Regions that are tried: where every function is one, most of them are called once an iteration.
constexpr std::size_t kMostRegions = 16;

// The largest share of time between the iterations that a region marks: an output, a norm.
constexpr double kLargestGaps = 0.5;

}  // namespace

std::string PhaseId::Text() const {
  const bool misleads = name.find(kGroupSeparator) != std::string::npos || name.starts_with(kQuote);
  return WithGroup(misleads ? kQuote + name + kQuote : name, *this);
}

std::optional<PhaseId> PhaseByText(const std::vector<PhaseId>& known, const std::string& text) {
  if (std::find(known.begin(), known.end(), PhaseId(text)) != known.end()) return PhaseId(text);
  const auto found = std::find_if(known.begin(), known.end(), [&](const PhaseId& id) {
    return id.Text() == text || WithGroup(id.name, id) == text;
  });
  return found == known.end() ? std::nullopt : std::optional(*found);
}

void CheckGroupName(const std::string& where, const std::string& group) {
  if (group.find(kGroupSeparator) == std::string::npos) return;
  throw Error(ErrorKind::kInput, where,
              "the name of a group of ranks, '" + group + "', contains '" + std::string(kGroupSeparator) +
                  "', which stands between a phase and a group of its ranks",
              "give the group another name");
}

std::vector<std::string> TextsOf(const std::vector<PhaseId>& phases) {
  std::vector<std::string> texts;
  for (const PhaseId& id : phases) texts.push_back(id.Text());
  return texts;
}

std::optional<PhaseId> GroupInOldText(const std::string& text) {
  const std::size_t separator = text.rfind(kGroupSeparator);
  if (separator == std::string::npos || separator + kGroupSeparator.size() == text.size()) return std::nullopt;
  return PhaseId(text.substr(0, separator), text.substr(separator + kGroupSeparator.size()));
}

std::vector<PhaseSpec> LoopsOf(const Trace& trace) {
  std::vector<PhaseSpec> loops, with_gaps, others;
  std::size_t tried = 0;
  for (const RegionSummary& region : SummarizeRegions(trace)) {
    if (!region.IsLoop(trace) || tried++ >= kMostRegions) continue;
    const PhaseSpec spec{.name = region.name, .kind = PhaseSpec::Kind::kRegion, .region = region.name};
    const PhaseCut cut = CutPhase(trace, spec);
    Tick inside = 0, window = 0;
    for (const RankCut& rank : cut.ranks) {
      window += rank.window.length();
      for (const Interval& iteration : rank.iterations) inside += iteration.length();
    }
    // Relative to the time in the region, over all ranks.
    const double gaps = inside > 0 ? static_cast<double>(window - inside) / static_cast<double>(inside) : 1;
    const bool is_small = region.share < kSmallRegion || gaps > kLargestGaps;
    (is_small ? others : cut.span == Span::kEach ? with_gaps : loops).push_back(spec);
  }
  loops.insert(loops.end(), with_gaps.begin(), with_gaps.end());
  if (FindLoopOfRun(trace)) loops.push_back(PhaseSpec::FoundLoop());
  loops.insert(loops.end(), others.begin(), others.end());
  return loops;
}

bool IsAutomatic(const std::string& text) { return text == "auto" || text.starts_with("auto:"); }

PhaseSpec WithLoopOf(const Trace& trace, const PhaseSpec& found) {
  const std::vector<PhaseSpec> loops = LoopsOf(trace);
  PhaseSpec chosen = found;
  if (loops.empty()) return chosen;
  chosen.kind = loops.front().kind;
  chosen.region = loops.front().region;
  if (chosen.part.empty()) chosen.name = loops.front().name;
  return chosen;
}

}  // namespace farscale
