// Traces written as text, so that a test is a literal program and the numbers it must give
// [tests/programs/imbalance.txt describes the notation].
#pragma once

#include <map>
#include <string>
#include <vector>

#include "phases/phase_cut.h"
#include "trace/trace.h"

namespace farscale::test {

struct TextProgram {
  std::string name;                           // "T1 late-sender chain, indirect wait"
  Trace trace;                                // one tick is a second
  std::vector<std::vector<Tick>> cuts;        // ends of the iterations of every rank; empty without a `cuts:` line
  std::map<std::string, std::string> expect;  // "tideal" -> "6"
};

// One program; lines `rN: ...`, and optionally a first line with its name, `cuts:`, `expect:` and `comm NAME: 0 2`.
// A collective on such a communicator is written `Allreduce@1:NAME`. Fails with an exception when the text is wrong.
TextProgram ParseProgram(const std::string& text);
Trace ParseTrace(const std::string& text);

// The programs of a file, separated by empty lines; lines that begin with # are left out.
std::vector<TextProgram> ParsePrograms(const std::string& text);

// The whole run as a cut whose iterations end where the program says.
PhaseCut CutOf(const TextProgram& program);

}  // namespace farscale::test
