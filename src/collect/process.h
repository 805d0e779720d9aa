// What this process has measured so far.
#pragma once

#include "collect/page.h"
#include "collect/sums.h"

namespace farscale::collect {

// Sums since the run began. CPU time and preemptions take three system calls, so they are 0 unless asked for.
Sums SumsSoFar(bool with_cpu);

bool IsMeasuring();
bool IsMainThread();

// Makes `fresh` the page of this process and the calling thread its main thread.
void StartMeasuring(Page* fresh, bool is_slow);
void StopMeasuring();

}  // namespace farscale::collect
