// Calls in which ranks may have waited for others, though the trace does not say for whom. A replay lets nobody wait in
// them, so it says nothing of a phase that has any [docs/formulas.md, one-sided communication].
#pragma once

#include <cstdint>
#include <string>

namespace farscale {

struct PhaseCut;
struct Trace;

struct UnknownWaits {
  std::uint64_t calls = 0;
  std::string example;           // "rank 3 in MPI_Win_unlock at 1.2 s"; empty when there are none
  std::uint64_t operations = 0;  // one-sided ones, for whose transfer no replay knows a time
  std::uint64_t messages = 0;    // calls that wait for messages without a record, too few to matter
  std::string message_example = {};

  bool any() const { return calls > 0; }

  friend bool operator==(const UnknownWaits&, const UnknownWaits&) = default;
};

// Collectives and messages without records matter from this share of a rank's time in the phase on, messages also from
// this share of MPI time; chosen: as much as an efficiency is printed with.
inline constexpr double kNoticeableWaits = 0.01;

// In the windows of the phase: fences and calls of access epochs without records of whom they synchronise; locks of one
// rank's window, which another may hold; and where operations are done in epochs of lock_all, the calls of these, since
// such operations may wait for a value that another rank puts there. Also collectives without records, such as those
// among neighbours, where any rank spends a noticeable part of the phase in them; those that do not block, in the waits
// in which they may complete, which Paraver traces do not record. The same for receives, sends, probes and waits that
// take time and have no record of a message: those of MPI_PROC_NULL take none. And states that show MPI where the trace
// has no calls.
//
// Locks that the trace records say who had them when, which another run need not repeat: waits as measured are known,
// those of a replay are not. Inside an epoch of an exclusive lock flushes wait for nobody.
inline constexpr bool kWaitsAsMeasured = true;
UnknownWaits FindUnknownWaits(const Trace& trace, const PhaseCut& cut, bool as_measured = false);

// Throws an error of kind kNotEnoughData when there are any: for what would be wrong without them, such as other times
// of the run.
void RequireKnownWaits(const Trace& trace, const PhaseCut& cut, bool as_measured = false);

// Calls that a trace lacks though others may wait for them.

// "those with ranks 2-3, which recorded nothing", those of a rank that alone was not recorded for 1 % of the run, those
// of threads other than the main ones, from 1 % of all calls on, or those where recording was off, from 1 % of all
// messages on that lack an end; empty: none. Else nobody knows who waits for whom, and messages without their other
// half are no damage.
std::string MissingCalls(const Trace& trace);

}  // namespace farscale
