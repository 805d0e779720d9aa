// Stretches of a run whose recording the program or its user switched off: MPI_Pcontrol(0) under farscale trace,
// SCOREP_RECORDING_OFF, Extrae_shutdown.
#pragma once

#include "trace/trace.h"

namespace farscale {

// Takes the time in which recording was off on all ranks at once out of the trace: all that follows moves up by it, so
// that no command sees it, and messages keep their order. Where it was off on some ranks alone it stays, as time that
// is neither useful nor MPI. Counters cannot be trusted then, unless farscale recorded them: its own stand still while
// recording is off.
// In traces whose regions alone were recorded the rest remains time outside MPI: phases are the regions.
void LeaveOutSwitchedOff(Trace& trace);

}  // namespace farscale
