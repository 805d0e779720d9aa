// Traces that several processes of a job read together.
#pragma once

#include "parallel/job.h"

namespace farscale {

// What a process does for others that read an OTF2 archive: it reads some of the locations, whose files no other
// process opens.
Service ReadingService();
// What it does for others that read a plain Paraver text: it reads pieces of it into packed records.
Service TextReadingService();

}  // namespace farscale
