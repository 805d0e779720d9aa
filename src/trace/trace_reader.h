// The one way to read a trace, whatever its format, and to write one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace farscale {

struct ReadOptions {
  bool all_counters = true;
  std::vector<std::string> counters;              // those to keep when not all
  std::optional<int> application = std::nullopt;  // number of one in a Paraver trace with several, from 1 on
  AcceptedKinds accepted = {};                    // anomalies that would make the trace useless
  bool keep_threads = false;                      // those that form teams

  bool Keeps(const std::string& counter) const;
};

// Recognises the format from the content of the file. Throws an input error with what to do when the path is
// missing, a folder, of no known format, or anything behind it is damaged.
Trace ReadTrace(const std::string& path, const ReadOptions& options = {});

// True for names like those of OTF2 archives and Paraver traces.
bool IsTraceName(const std::filesystem::path& path);

// The files a trace consists of, sorted; for an OTF2 archive the anchor, the definitions and all event files, for a
// Paraver trace the trace and the files that name what is in it.
std::vector<std::string> FilesOfTrace(const std::string& path);

// The number of ranks of a trace, without reading its events; 0 when that cannot be found, which reading it reports.
std::size_t RanksOfTrace(const std::string& path);

// The size of its files together; 0 when they cannot be found, which reading the trace reports.
std::uint64_t BytesOfTrace(const std::string& path);

// The traces by that, the largest first: it shows most of how a program communicates.
std::vector<std::size_t> LargestFirst(const std::vector<std::string>& paths);

// SHA-256 over the SHA-256 of every file, so that two people can tell whether they have the same trace:
// in the folder of the anchor, `sha256sum FILES... | sha256sum` with the files in sorted order.
std::string FingerprintOfTrace(const std::string& path);

// The readers of the formats, which ReadTrace chooses from.

// Reads an OTF2 archive through the OTF2 C library, locations in parallel. `anchor` is the anchor file, whatever its
// name. Throws an input error when anything of it cannot be read.
Trace ReadOtf2(const std::string& anchor, const ReadOptions& options);

// Reads a Paraver trace: X.prv or X.prv.gz, with names from X.pcf and X.row where they are [docs/traces.md]. Throws an
// input error for anything unreadable, with line and field, and when more than a hundredth of the lines is damaged or
// of the run is missing at its end, unless that is accepted; a usage error when the trace has several applications and
// none is chosen, or not the one asked for.
Trace ReadParaver(const std::string& path, const ReadOptions& options);

// A Paraver trace and the files beside it.
std::vector<std::string> FilesOfParaver(const std::string& path);

// Writes a trace as an OTF2 archive in the layout of Score-P: NAME.otf2, NAME.def, and the folder NAME with events and
// definitions of every location.
// `anchor` is the anchor file to write, NAME.otf2. Reading it back gives the same timelines; data that a Trace does not
// hold (source lines, worker threads' events, the times of records within a call) is not in the archive either.
// Everything is written beside its place and renamed, the anchor last. Throws an output error when anything of that
// name exists or cannot be written.
void WriteOtf2(const Trace& trace, const std::filesystem::path& anchor);

// Takes the time in which the program or its user switched recording off on all ranks at once (MPI_Pcontrol(0) under
// farscale trace, SCOREP_RECORDING_OFF, Extrae_shutdown) out of the trace: all that follows moves up by it, so that no
// command sees it, and messages keep their order. Where it was off on some ranks alone it stays, as time that
// is neither useful nor MPI. Counters cannot be trusted then, unless farscale recorded them: its own stand still while
// recording is off.
// In traces whose regions alone were recorded the rest remains time outside MPI: phases are the regions.
void LeaveOutSwitchedOff(Trace& trace);

}  // namespace farscale
