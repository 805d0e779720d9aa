// A phase as a program for the replay engine [replay/replay.h] that takes exactly as long as was measured: calls wait
// for what they waited for, and what they take beyond is computation. Without a delay, it takes as long as the
// phase would have taken without it [docs/formulas.md, gain of a fix].
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "imbalance/waits/activities.h"
#include "imbalance/waits/wait_states.h"
#include "replay/matching.h"
#include "replay/program.h"
#include "trace/trace.h"

namespace farscale {

// Time taken off a rank before one of its calls, or off what the call before that took beyond its waiting; call `calls`
// stands for the end of the phase. Negative: added.
struct Saving {
  std::uint32_t rank = 0;
  std::uint32_t call = 0;
  Tick ticks = 0;
};

// Calls `save` for each of its savings, which may be as many as calls and so are not kept; nothing: the phase as it is.
using Save = std::function<void(const Saving& saving)>;
using Fix = std::function<void(const Save& save)>;

// The savings of all the lists.
Fix MakeFix(std::vector<const std::vector<Saving>*> lists);

// A replay may differ by this share from the measured length; chosen: beyond, its gains mean nothing.
inline constexpr double kMeasuredPrecision = 1e-3;

struct MeasuredProgram {
  Tick origin = 0;  // when ranks begin; fixes may shorten calls by more than is left, yet times are not to be negative
  Program program{};
  // One a rank and call, the end of the phase included: the instruction that computes what lies before it.
  std::vector<std::vector<std::uint32_t>> instructions{};
};

// A send depends on its receiver where it waited for it, or where it is too large to be sent at once. Scans keep their
// measured waits. The time of a call beyond its waiting for a message, and beyond the shortest call of its path, is
// that of the message on its way, which passes whatever the receiver does; or with `receivers_transmit` that of the
// receiver.
MeasuredProgram MakeMeasuredProgram(const Trace& trace, const Matching& matching, const WaitStates& states,
                                    bool receivers_transmit = false);

// Ticks from the begin of the phase to the end of its last rank. One result for each fix; several are replayed at a
// time, each in a program that is as it was measured again afterwards.
std::vector<Tick> Replay(MeasuredProgram& measured, const std::vector<Fix>& fixes);

}  // namespace farscale
