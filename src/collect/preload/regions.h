// Regions that the program marks itself.
#pragma once

#include "collect/page.h"

namespace farscale::collect {

// Codes of farscale.h.
int StartRegion(const char* name);
int StopRegion(const char* name);

// The same without a trace knowing it.
void OpenQuietly(const char* name);
void CloseQuietly(const char* name);

// MPI_Pcontrol(0) and (1): what the process does in between counts for no region, nor for the run. Other threads than
// the main one have no say. Returns whether it was the other way before.
bool SwitchMeasuring(bool on);

// Region 0, which is open as long as the run.
void OpenWholeRun(Page& fresh);
void SetWholeRunStart();
// Ends all that is open; regions that the program left open keep saying so.
void CloseRegions();

}  // namespace farscale::collect
