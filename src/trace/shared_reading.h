// Traces that several processes of a job read together.
#pragma once

#include "parallel/job.h"

namespace farscale {

// What a process does for others that read an OTF2 archive: it reads some of the locations, whose files no other
// process opens.
Service ReadingService();

}  // namespace farscale
