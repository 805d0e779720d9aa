// The processes of one job, which exchange texts of bytes. MPI is behind this interface, in a library of its own
// [parallel/mpi_processes.cc], so that a farscale that is started alone neither needs nor loads it.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace farscale {

class Processes {
 public:
  virtual ~Processes() = default;

  virtual std::size_t count() const = 0;
  virtual std::size_t own() const = 0;  // from 0 on

  // Texts may have any length. Those from one process to another arrive in the order in which they were sent. Sending
  // may last until the other one receives.
  virtual void Send(std::size_t to, const std::string& text) = 0;
  virtual std::string Receive(std::size_t from) = 0;

  using Message = std::pair<std::size_t, std::string>;  // the sender, and its text
  // From whoever sends first.
  virtual Message ReceiveAny() = 0;

  // Ends all processes of the job.
  virtual void Abort(int code) = 0;
};

// The entry point of a library with processes. Joins the processes of the job that this one was started in;
// nullptr where it is the only one. Called once; the job is left when the object is destroyed.
using JoinJobFunction = Processes* (*)();
inline constexpr const char* kJoinJob = "FarscaleJoinJob";

}  // namespace farscale
