// Traces of runs that did not come to MPI_Finalize: the events that ranks had written become whole files again, and the
// definitions are made of what pages and rooms say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collect/page.h"
#include "collect/trace/trace_room.h"

namespace farscale::collect {

// Saves what a rank has recorded in the folder of its trace: events in `traces/RANK.evt`, from chunk `first` of the
// file on, all else in `traces/RANK.room`. `state` is its page, ended. Whether all could be written.
bool SaveRank(const std::string& folder, const Page& state, const Room& room, std::uint64_t first);

// Folders of ranks that were saved.
bool HasSavedRanks(const std::string& folder);
// True if all ranks of the run in a folder were.
bool HasAllRanks(const std::string& folder);

struct RecoveredTrace {
  std::string anchor;             // empty where there is no trace
  std::string why;                // there is none
  bool is_nothing_saved = false;  // so that another try would find no more
  std::vector<int> missing;       // ranks of which nothing was saved
  double first_end = 0;           // seconds of the run until the last event of the rank that ends first
  int first_rank = 0;
  int threaded = 0;          // ranks of which other threads than the main one are not in the trace
  bool has_devices = false;  // their work is not in the trace
  double last_end = 0;
};

// Makes a trace of the ranks that were saved in a folder and removes what it was made of. `end` says how the run ended.
RecoveredTrace RecoverTrace(const std::string& folder, const std::string& end, const std::string& generator);

// "the trace ends early: ...", without a full stop, and the file.
std::string SentenceOf(const RecoveredTrace& trace);

// Removes the files of a trace that was not finished.
void RemoveUnfinished(const std::string& folder);

}  // namespace farscale::collect
