// The head of a Paraver trace: what its first lines say before the records begin [docs/traces.md].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/paraver_text.h"
#include "trace/trace.h"

namespace farscale {

struct ParaverTask {
  int threads = 1;
  std::int32_t node = 0;  // from 0 on
};

struct ParaverCommunicator {
  std::uint64_t id = 0;
  std::vector<std::int32_t> members;  // tasks from 0 on
  std::vector<std::int32_t> remote;   // of an intercommunicator
};

struct ParaverApplication {
  std::vector<ParaverTask> tasks;
  std::vector<ParaverCommunicator> communicators;
  std::size_t intercommunicators = 0;  // of these
  std::uint64_t announced_communicators = 0;
};

struct ParaverHeader {
  Tick duration = 0;  // 0: not known
  double ticks_per_second = 1e6;
  std::vector<ParaverApplication> applications;
  std::string tools;                        // that made this trace out of another, as its comments say
  std::vector<std::string> contradictions;  // sentences with file and line
};

// Reads the lines before the first record. Throws an input error with the line when they are not as they must be.
ParaverHeader ReadParaverHeader(const std::string& path, ParaverText& text);

}  // namespace farscale
