// Says it when the other ranks of MPI_COMM_WORLD do not come: where only some run under farscale, the first thing that
// all have to do together never ends.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace farscale::collect {

// Lives as long as this rank waits for the others.
class Patience {
 public:
  explicit Patience(int rank);
  ~Patience();

  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

 private:
  void Wait(int rank);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace farscale::collect
