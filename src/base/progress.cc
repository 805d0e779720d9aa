#include "base/progress.h"

namespace farscale {

ProgressCount::ProgressCount(const ProgressSink& sink, std::size_t total, const std::string& what)
    : sink_(sink), total_(total) {
  if (sink_ && total_ > 0) sink_(0, total_, what);
}

void ProgressCount::Done(const std::string& what) {
  const std::lock_guard lock(mutex_);
  ++done_;
  if (sink_) sink_(done_, total_, what);
}

}  // namespace farscale
