// All records of a Paraver text, by task.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/paraver_cursors.h"
#include "trace/paraver_header.h"
#include "trace/paraver_records.h"
#include "trace/paraver_text.h"
#include "trace/paraver_timeline.h"
#include "trace/trace_builder.h"
#include "trace/trace_reader.h"

namespace farscale {

struct ParaverRecords : ParaverTally {
  explicit ParaverRecords(std::size_t count) : tasks(count), thread_states(count), thread_counts(count) {}

  // True if threads other than the first of their tasks recorded when they run.
  bool HasThreads() const {
    return std::ranges::any_of(thread_states, [](const std::vector<ParaverThreadState>& states) {
      return std::ranges::find(states, kParaverRunning, &ParaverThreadState::state) != states.end();
    });
  }

  // `block` follows behind it in the file.
  void Add(ParaverBlock block);

  std::vector<ParaverBlock> blocks;
  std::uint64_t last_line = 0;
  std::vector<ParaverTaskParts> tasks;
  std::vector<std::vector<ParaverThreadState>> thread_states;  // one list a task
  std::vector<std::vector<ParaverThreadCount>> thread_counts;  // the same
  bool is_cut_short = false;                                   // ends in the middle of a line
};

// Reads the text behind its header. Throws an input error when the file cannot be read on, or a line is longer than any
// record is. `application`: from 0 on.
ParaverRecords ReadParaverRecords(const std::string& path, const ReadOptions& options, std::uint32_t application,
                                  const ParaverHeader& header, const ParaverNames& names, ParaverText& text);

// Regions of the states that a thread of a team has in the runtime, beside what it runs.
void AddParaverTeamRegions(TraceBuilder& builder, ParaverTraceFacts& facts);

// Adds the threads of every task with their teams, once the timelines of the ranks are there. A team lasts as long as
// any thread of the task but the first is neither idle nor missing; what a thread idles meanwhile is the runtime's.
// What counters count between two samples of a thread grows evenly with the time that it runs in between.
void AddParaverThreads(ParaverRecords& records, const ParaverTraceFacts& facts, TraceBuilder& builder);

// Takes the states of streams out of those of the threads of every task, and makes devices of them. To Extrae streams
// are threads of their task, with names of their own in the .row file: "CUDA-D1.S2-host" is the second stream of the
// first device.
void AddParaverDevices(const ParaverNames& names, const ParaverHeader& header, std::size_t application,
                       std::vector<std::vector<ParaverThreadState>>& states, TraceBuilder& builder);

}  // namespace farscale
