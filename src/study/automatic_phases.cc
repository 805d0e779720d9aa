#include "study/automatic_phases.h"

#include <algorithm>
#include <optional>

#include "phases/loop_choice.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

// Why others cannot be read is said where they are measured.
std::optional<Trace> ReadLargest(const std::vector<RunSpec>& runs) {
  for (const std::size_t i : LargestFirst(runs)) {
    try {
      return ReadTrace(runs[i].trace, {false, {}, runs[i].application});
    } catch (const Error&) {
      continue;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<PhaseSpec> LoopsOfRuns(const std::vector<RunSpec>& runs) {
  const std::optional<Trace> trace = ReadLargest(runs);
  return trace ? LoopsOf(*trace) : std::vector<PhaseSpec>();
}

std::vector<PhaseSpec> PhasesNamed(const std::vector<std::string>& texts, const std::vector<RunSpec>& runs) {
  std::optional<Trace> trace;
  if (std::ranges::any_of(texts, IsAutomatic)) trace = ReadLargest(runs);
  std::vector<PhaseSpec> phases;
  for (const std::string& text : texts) {
    phases.push_back(PhaseSpec::Region(text));
    if (trace && IsAutomatic(text)) phases.back() = WithLoopOf(*trace, phases.back());
  }
  return phases;
}

}  // namespace farscale
