// TBB comes without ThreadSanitizer, which therefore cannot see that a loop begins before and ends after its bodies.
// Under the preset `tsan` this file is compiled without it as well (see CMakeLists.txt) and tells it just that. Two
// bodies of one loop stay unordered, so races between them are found.
#include "base/parallel.h"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#ifdef FARSCALE_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace farscale {
namespace {

// An order between threads by a mark: what came before Release comes before what follows Acquire.
void Release([[maybe_unused]] char* mark) {
#ifdef FARSCALE_THREAD_SANITIZER
  __tsan_release(mark);
#endif
}
void Acquire([[maybe_unused]] char* mark) {
#ifdef FARSCALE_THREAD_SANITIZER
  __tsan_acquire(mark);
#endif
}

// Acts on the mark at the end of a scope, also when an exception ends it.
using AtEnd = std::unique_ptr<char, void (*)(char*)>;

}  // namespace

void parallel_internal::ForEachIndex(std::size_t count, void (*call)(const void* body, std::size_t i),
                                     const void* body) {
  // TBB starts a thread even where it may use none beside this one.
  if (ThreadsAtOnce() == 1) {
    for (std::size_t i = 0; i < count; ++i) call(body, i);
    return;
  }
  char fork = 0, join = 0;
  Release(&fork);
  const AtEnd loop(&join, Acquire);
  tbb::parallel_for(
      tbb::blocked_range<std::size_t>(0, count, 1),
      [&](const tbb::blocked_range<std::size_t>& range) {
        for (std::size_t i = range.begin(); i < range.end(); ++i) {
          Acquire(&fork);
          const AtEnd end(&join, Release);
          call(body, i);
        }
      },
      tbb::simple_partitioner());
}

std::size_t ThreadsAtOnce() { return tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism); }

}  // namespace farscale
