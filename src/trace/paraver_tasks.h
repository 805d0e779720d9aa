// All records of a Paraver text, by task.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/counters.h"
#include "trace/paraver_cursors.h"
#include "trace/paraver_header.h"
#include "trace/paraver_records.h"
#include "trace/paraver_text.h"
#include "trace/paraver_timeline.h"
#include "trace/trace_builder.h"

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

// Threads of the tasks of a Paraver trace other than the first, by their states.

// Regions of the states that a thread of a team has in the runtime, beside what it runs.
void AddParaverTeamRegions(TraceBuilder& builder, ParaverTraceFacts& facts);

// Adds the threads of every task with their teams, once the timelines of the ranks are there. A team lasts as long as
// any thread of the task but the first is neither idle nor missing; what a thread idles meanwhile is the runtime's.
// What counters count between two samples of a thread grows evenly with the time that it runs in between.
void AddParaverThreads(ParaverRecords& records, const ParaverTraceFacts& facts, TraceBuilder& builder);

// Streams of devices in a Paraver trace: to Extrae they are threads of their task, with names of their own.

// Takes the states of streams out of those of the threads of every task, and makes devices of them. Streams are known
// by the .row file, "CUDA-D1.S2-host" being the second of the first device; they are no threads of their rank.
void AddParaverDevices(const ParaverNames& names, const ParaverHeader& header, std::size_t application,
                       std::vector<std::vector<ParaverThreadState>>& states, TraceBuilder& builder);

}  // namespace farscale
