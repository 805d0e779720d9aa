// All records of a Paraver text, by task.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/counters.h"
#include "trace/paraver_cursors.h"
#include "trace/paraver_header.h"
#include "trace/paraver_names.h"
#include "trace/paraver_records.h"
#include "trace/paraver_text.h"

namespace farscale {

struct ParaverRecords : ParaverTally {
  explicit ParaverRecords(std::size_t count) : tasks(count), thread_states(count), thread_counts(count) {}

  // Whether threads other than the first of their tasks recorded when they run.
  bool HasThreads() const {
    return std::ranges::any_of(thread_states, [](const std::vector<ParaverThreadState>& states) {
      return std::ranges::find(states, kParaverRunning, &ParaverThreadState::state) != states.end();
    });
  }

  // What follows behind it in the file.
  void Add(ParaverBlock block);

  ParaverBlocks all;
  std::uint64_t last_line = 0;
  std::vector<ParaverTaskParts> tasks;
  std::vector<std::vector<ParaverThreadState>> thread_states;  // by task
  std::vector<std::vector<ParaverThreadCount>> thread_counts;  // the same
  bool is_cut_short = false;                                   // ends in the middle of a line
};

// What is read of a text.
struct ParaverSelection {
  std::string path;
  std::uint32_t application = 0;  // from 0 on
  CounterSelection counters;
  bool keep_threads = false;
};

// Reads the text behind its header. Throws an input error when the file cannot be read on, or a line is longer than any
// record is.
ParaverRecords ReadParaverRecords(const ParaverSelection& selection, const ParaverHeader& header,
                                  const ParaverNames& names, ParaverText& text);

}  // namespace farscale
