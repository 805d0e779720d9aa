#include "collect/patience.h"

#include <signal.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <system_error>

namespace farscale::collect {
namespace {

constexpr int kSeconds = 30;

int Seconds() {
  const char* wanted = std::getenv("FARSCALE_PATIENCE");
  const int seconds = wanted != nullptr ? std::atoi(wanted) : 0;
  return seconds > 0 ? seconds : kSeconds;
}

// One a node is enough.
bool IsToSpeak(int rank) {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}) {
    const char* here = std::getenv(name);
    if (here != nullptr && std::string(here) == "0") return true;
  }
  return rank == 0;
}

}  // namespace

Patience::Patience(int rank) {
  if (!IsToSpeak(rank)) return;
  sigset_t all, before;
  sigfillset(&all);
  // The program's signals are not this thread's.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this, rank] { Wait(rank); });
  } catch (const std::system_error&) {
    // Without a thread nothing is said.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Patience::~Patience() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Patience::Wait(int rank) {
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, std::chrono::seconds(Seconds()), [this] { return is_over_; })) return;
  std::fprintf(stderr,
               "farscale: rank %d has waited %d s in MPI_Init for the other ranks, and goes on waiting: all ranks of a "
               "job have to run under farscale\n",
               rank, Seconds());
}

}  // namespace farscale::collect
