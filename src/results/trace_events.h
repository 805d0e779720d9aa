// A phase of a run for viewers of timelines: its calls and regions, the wait states in them, and where the causes are
// worst. The format is the JSON of Chrome's trace events, which ui.perfetto.dev opens:
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU, "Trace Event Format".
#pragma once

#include <string>

#include "imbalance/loss_record.h"
#include "imbalance/waits/wait_states.h"
#include "phases/phase_cut.h"
#include "trace/trace.h"

namespace farscale {

struct Diagnosis;

// One process a node, one thread a rank. Times are microseconds since the begin of the trace. A wait lies in its call
// and names the late rank; waits for messages are connected with the call of the other side.
// Devices have a thread for every rank that uses them, sorted behind it. The causes of `losses` have tracks of their
// own.
std::string WriteTraceEvents(const Trace& trace, const PhaseCut& cut, const WaitStates& states,
                             const LossRecord& losses);

// The worst instance of each cause with the command that cuts it out of the trace, for other tools.
std::string WriteAnnotations(const LossRecord& losses);

// Wait states, delay costs and the critical path as a profile for CubeGUI and other readers of Cube 4
// [docs/file-formats.md, Cube profiles; https://www.scalasca.org/software/cube-4.x].

// The bytes of a .cubex file: a tar archive with the call tree, ranks and metrics as XML, and the values of each
// metric. Metrics have the names of Scalasca's where they mean the same.
std::string WriteCube(const Trace& trace, const Diagnosis& diagnosis);

}  // namespace farscale
