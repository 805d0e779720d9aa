// A job whose processes are threads of the test [support/thread_processes.h].
#pragma once

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "parallel/job.h"
#include "support/thread_processes.h"

namespace farscale::test {

class ThreadJob {
 public:
  // While this lives, the test has so many helpers with these services.
  explicit ThreadJob(const std::vector<Service>& services, std::size_t helpers = 1) : mail_(helpers + 1) {
    for (std::size_t i = helpers + 1; i-- > 0;) {
      jobs_.push_back(std::make_unique<Job>(std::make_unique<ThreadProcess>(mail_, i)));
    }
    for (std::size_t i = 0; i < helpers; ++i) threads_.emplace_back([this, i, services] { jobs_[i]->Serve(services); });
  }
  ~ThreadJob() {
    jobs_.back().reset();  // the first process
    for (std::thread& thread : threads_) thread.join();
  }
  ThreadJob(const ThreadJob&) = delete;
  ThreadJob& operator=(const ThreadJob&) = delete;

  // Texts sent to the first helper.
  std::size_t questions() const { return mail_.SentTo(1); }

 private:
  ThreadMail mail_;
  std::vector<std::unique_ptr<Job>> jobs_;
  std::vector<std::thread> threads_;
};

}  // namespace farscale::test
