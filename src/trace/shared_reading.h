// Traces that several processes of a job read together.
#pragma once

#include "parallel/job.h"

namespace farscale {

// What a process does for others that read an OTF2 archive: it reads some of the locations, whose files no other
// process opens.
Service ReadingService();
// What it does for others that read a Paraver trace: it takes pieces of a plain text apart, and builds ranks.
Service TextReadingService();
Service RankBuildingService();

}  // namespace farscale
