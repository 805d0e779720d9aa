// The progress of work in several steps, for people who wait for it.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

namespace farscale {

// Called from any thread but never twice at once: how many of how many steps are done, and what is being done or which
// step was done last. 0 of them when work begins.
using ProgressSink = std::function<void(std::size_t done, std::size_t total, const std::string& what)>;

// Counts the steps of one piece of work. A null sink is fine.
class ProgressCount {
 public:
  // Reports that the work begins.
  ProgressCount(const ProgressSink& sink, std::size_t total, const std::string& what);
  void Done(const std::string& what);

 private:
  const ProgressSink& sink_;
  std::size_t done_ = 0, total_;
  std::mutex mutex_;
};

// Work of a single step, in a scope.
class ProgressStep {
 public:
  ProgressStep(ProgressSink sink, const std::string& what) : sink_(std::move(sink)), count_(sink_, 1, what) {}
  ~ProgressStep() { count_.Done(""); }
  ProgressStep(const ProgressStep&) = delete;
  ProgressStep& operator=(const ProgressStep&) = delete;

 private:
  ProgressSink sink_;
  ProgressCount count_;
};

}  // namespace farscale
