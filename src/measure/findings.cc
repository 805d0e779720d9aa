#include <algorithm>
#include <utility>

#include "collect/text.h"
#include "measure/measured_run.h"

namespace farscale {
namespace {

using collect::Format;
using collect::Termination;
using RunFindings = std::vector<Finding>;

// From this rate on, in calls a millisecond, measuring is more than a percent of the time on a machine half as fast as
// those of docs/performance.md: the clock is read twice a call; a trace adds records, ideal clocks a message.
constexpr double kManyCalls = 300, kManyCallsOfTrace = 80, kManyCallsOfIdeal = 10;
// Chosen: interrupts and daemons take less than the rest of a core.
constexpr double kLittleCpu = 0.95;
// Seconds; chosen: in shorter runs one preemption is a large share.
constexpr double kShortRun = 0.01;

// Share of the run; chosen.
constexpr double kMuchOff = 0.01;

void Warn(RunFindings& findings, const char* id, std::string sentence) {
  findings.push_back({id, Severity::kWarning, std::move(sentence), 0, 0, ""});
}
void Note(RunFindings& findings, const char* id, std::string sentence) {
  findings.push_back({id, Severity::kNote, std::move(sentence), 0, 0, ""});
}

std::string Ranks(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size() && i < 8; ++i) text += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  return ranks.size() > 8 ? text + " and more" : text;
}

void DiagnoseTermination(const MeasuredRun& run, RunFindings& findings) {
  const std::string then = "; what was measured until then is reported";
  const bool is_alone = run.ranks == 1;
  const std::string who = is_alone ? "the program" : Ranks(run.ended_first);
  const std::string before = run.not_finalized.size() > run.ended_first.size() ? ", before the others" : "";
  const char* name = sigabbrev_np(run.signal);
  const std::string signal = name != nullptr ? std::string("SIG") + name : Format("signal %d", run.signal);
  if (run.termination == Termination::kAborted) {
    Warn(findings, "aborted", "the program aborted" + (is_alone ? "" : " on " + who) + then);
  } else if (run.termination == Termination::kError) {
    Warn(findings, "mpiError", "an MPI error ended " + who + before + ": " + run.error + then);
  } else if (run.termination == Termination::kSignal) {
    Warn(findings, "endedBySignal", signal + " ended " + who + before + then);
  } else if (run.termination == Termination::kNotFinalized) {
    Warn(findings, "notFinalized", Ranks(run.left) + " did not reach MPI_Finalize" + then);
  } else if (run.termination == Termination::kLost) {
    Warn(findings, "lost", who + " ended without MPI_Finalize, killed or by _exit" + before + then);
  }
  if (!run.missing.empty()) {
    Warn(findings, "ranksMissing",
         "nothing is known of " + Ranks(run.missing) + ": killed, or on another node; the rest is reported");
  }
}

void DiagnoseThreads(const MeasuredRun& run, RunFindings& findings) {
  const MeasuredRegion& whole = run.regions.front();
  const std::uint64_t others = whole.mpi_calls_of_other_threads;
  if (others == 0) return;
  const bool is_most = others > whole.mpi_calls && !whole.totals.threads;
  const char* what = whole.totals.threads ? "those of OpenMP teams are in the factors"
                     : is_most ? "useful time is that of this thread, which made fewer: the factors say little of "
                                 "this program"
                               : "useful time is that of this thread";
  (is_most ? Warn : Note)(findings, "callsOfOtherThreads",
                          Format("%llu MPI calls were made by other threads than the one that called MPI_Init; %s",
                                 static_cast<unsigned long long>(others), what));
  if (!run.Has(collect::kIsTraced)) return;
  Warn(findings, "threadsNotTraced",
       "MPI calls of other threads are not in the trace: messages between them and the threads that "
       "called MPI_Init lack a half, so serialization and transfer are not known of it");
}

void DiagnoseUnknownThreads(const MeasuredRun& run, RunFindings& findings) {
  const MeasuredRegion& whole = run.regions.front();
  if (whole.threads_seen > 1 && whole.totals.threads) {
    Warn(findings, "threadsAtProcessLevel",
         "threads that are in no OpenMP team used CPU time: the factors are those of OpenMP's threads, and "
         "what the others did is not in them");
  } else if (whole.threads_seen > 1) {
    const std::string bound = whole.parallel_at_most ? Format("; parallel efficiency of all threads is at most %.1f %%",
                                                              *whole.parallel_at_most * 100)
                                                     : "";
    Warn(findings, "threadsAtProcessLevel",
         Format("%d threads of a rank used CPU time, and no OpenMP library said what for: the factors are "
                "those of the threads that called MPI_Init%s",
                whole.threads_seen, bound.c_str()));
  } else if (run.Has(collect::kTooManyThreads)) {
    Warn(findings, "threadsAtProcessLevel",
         Format("some threads of OpenMP teams could not be measured, of which a rank may have %d: the "
                "factors are those of the threads that called MPI_Init",
                static_cast<int>(collect::kMostThreads)));
  }
}

void DiagnoseDevices(const MeasuredRun& run, RunFindings& findings) {
  if (run.devices_unknown) {
    Warn(findings, "devicesUnknown",
         Format("what devices did is not known: a rank did not come to MPI_Finalize, or used more than %d "
                "devices or more regions with devices than there is room for",
                static_cast<int>(collect::kMostDevices)));
  }
  double kernels = 0;
  bool is_shared = false;
  for (const MeasuredDevice& device : run.regions.front().devices) {
    kernels += device.kernels;
    is_shared |= device.ranks.size() > 1;
  }
  if (is_shared) {
    Note(findings, "devicesShared",
         "several ranks used the same device: what they did there at the same time counts for each");
  }
  if (run.device_work_lost > 0.001 * kernels) {
    Warn(findings, "deviceWorkLost",
         Format("%.3g s of kernels and copies came too late to be counted", run.device_work_lost));
  }
}

void DiagnoseIdealClocks(const MeasuredRun& run, RunFindings& findings) {
  if (run.Has(collect::kIdealRefused)) {
    Warn(findings, "idealRefused",
         "serialization and transfer are not known: threads other than the main one called MPI, and "
         "ideal clocks follow the main thread alone");
  }
  if (run.not_followed > 0) {
    Warn(findings, "idealIncomplete",
         Format("serialization and transfer are not known: %llu calls may wait for others without ideal "
                "clocks (one-sided, collective on files or neighbours, persistent or partitioned, on "
                "communicators not followed)",
                static_cast<unsigned long long>(run.not_followed)));
  } else if (run.large_messages > 0) {
    Warn(findings, "idealLargeMessages",
         Format("serialization is at most what is shown, transfer at least: the senders of %llu messages of "
                "32 KiB and more wait for their receivers, which a trace knows and ideal clocks do not",
                static_cast<unsigned long long>(run.large_messages)));
  }
}

// Ranks begin and end together, so what one was not off as long as others is time in which these were.
void DiagnoseSwitchedOff(const MeasuredRegion& whole, RunFindings& findings) {
  const std::vector<double>& off = whole.off_by_rank;
  if (off.empty()) return;
  const double longest = std::ranges::max(off), shortest = std::ranges::min(off);
  const auto ranks = static_cast<int>(std::ranges::count_if(off, [](double seconds) { return seconds > 0; }));
  std::string sentence =
      Format("MPI_Pcontrol(0) switched measuring off for %s to %s on %d of %d ranks; that time is left out",
             collect::FormatSeconds(shortest).c_str(), collect::FormatSeconds(longest).c_str(), ranks,
             static_cast<int>(off.size()));
  if (longest - shortest > kMuchOff * whole.totals.elapsed) {
    sentence += "; some were off while others were measured, so efficiencies may be too low";
  }
  Warn(findings, "switchedOff", sentence);
}

void DiagnoseRegion(const MeasuredRun& run, const MeasuredRegion& region, RunFindings& findings) {
  const int known = run.ranks - static_cast<int>(run.missing.size());
  if (static_cast<int>(region.ranks.size()) < known) {
    Warn(findings, "regionOnSomeRanks",
         Format("region %s was started on %d of %d ranks; its factors are of those alone", region.name.c_str(),
                static_cast<int>(region.ranks.size()), known));
  } else if (region.fewest_starts != region.most_starts) {
    Note(findings, "regionStartsDiffer",
         Format("region %s was started %llu to %llu times a rank", region.name.c_str(),
                static_cast<unsigned long long>(region.fewest_starts),
                static_cast<unsigned long long>(region.most_starts)));
  }
  if (region.is_open_somewhere) {
    Warn(findings, "regionLeftOpen",
         "region " + region.name + " was not stopped on every rank; it counts until the end");
  }
}

}  // namespace

std::vector<Finding> FindingsOn(const MeasuredRun& run) {
  RunFindings findings;
  DiagnoseTermination(run, findings);
  const MeasuredRegion& whole = run.regions.front();
  const double many = whole.totals.ideal_elapsed > 0 ? kManyCallsOfIdeal
                      : run.Has(collect::kIsTraced)  ? kManyCallsOfTrace
                                                     : kManyCalls;
  if (whole.calls_a_millisecond >= many) {
    Warn(findings, "manyCalls",
         Format("%.0f MPI calls a millisecond: measuring them may take more than 1 %% of the time",
                whole.calls_a_millisecond));
  }
  if (whole.cpu_share && *whole.cpu_share + whole.runtime_share.value_or(0) < kLittleCpu &&
      whole.totals.elapsed >= kShortRun) {
    Warn(findings, "preempted",
         Format("the ranks ran only %.0f %% of the time (%llu preemptions): they share cores with each "
                "other or with something else, or sleep, and useful time contains the rest",
                *whole.cpu_share * 100, static_cast<unsigned long long>(whole.preemptions.value_or(0))));
  }
  DiagnoseThreads(run, findings);
  DiagnoseUnknownThreads(run, findings);
  DiagnoseDevices(run, findings);
  DiagnoseIdealClocks(run, findings);
  if (run.flushed_largest > 0.01 * whole.totals.elapsed) {
    Warn(findings, "traceFlushed",
         Format("writing the trace while the program ran took up to %.1f %% of a rank's time, which counts "
                "as computation or MPI wherever it happened; --only records less",
                100 * run.flushed_largest / whole.totals.elapsed));
  }
  DiagnoseSwitchedOff(whole, findings);
  if (!whole.factors[Factor::kParallelEfficiency])
    Warn(findings, "nothingUseful", "no rank computed anything outside MPI");
  for (const MeasuredRegion& region : run.regions) DiagnoseRegion(run, region, findings);
  if (run.Has(collect::kTooManyRegions)) {
    Warn(findings, "tooManyRegions",
         Format("only the first %d regions of a rank were measured", static_cast<int>(collect::kMostRegions) - 1));
  }
  if (run.Has(collect::kRegionsOutOfOrder)) {
    Warn(findings, "stopWithoutStart", "a region was stopped that was not started; the stop was ignored");
  }
  if ((run.flags_of_all & collect::kHasCounters) == 0) {
    const char* why = run.Has(collect::kCountersForbidden)
                          ? "the kernel forbids counting; set kernel.perf_event_paranoid to 2 or less"
                      : run.Has(collect::kCountersSlow)
                          ? "the kernel lets them be read by system calls alone (no rdpmc), and between "
                            "so many MPI calls that would have taken too long"
                      : run.Has(collect::kCountersNoPapi)
                          ? "no libpapi that can be loaded counts both"
                          : "the machine shows no hardware counters, as most virtual machines";
    Note(findings, "noCounters", Format("instructions and cycles are not known: %s", why));
  }
  return findings;
}

}  // namespace farscale
