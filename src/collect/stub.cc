// The library that instrumented programs are linked with: it does nothing. `farscale measure` loads the real functions
// before it.
#include <cstring>

#include "collect/include/farscale.h"

extern "C" {

int farscale_region_start(const char*) { return FARSCALE_NOT_MEASURING; }
int farscale_region_stop(const char*) { return FARSCALE_NOT_MEASURING; }
int farscale_region_report(const char*) { return FARSCALE_NOT_MEASURING; }

int farscale_query(const char*, int, farscale_metrics* metrics) {
  if (metrics != nullptr) std::memset(metrics, 0, sizeof *metrics);
  return FARSCALE_NOT_MEASURING;
}

}  // extern "C"
