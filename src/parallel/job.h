// The processes of a job and what they do for each other. The first one runs the command as if it were alone; where
// there is work to share it asks the others, which do nothing but answer. So only the first one reads the command's
// other files, writes and talks, and its results are those of one process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "parallel/processes.h"

namespace farscale {

// Something that a process does for another: from the bytes of a request to those of the answer [parallel/bytes.h]. An
// Error that it throws is thrown where the answer is awaited.
struct Service {
  std::string_view name;
  std::function<std::string(std::string_view request)> answer;
};

// One a program.
class Job {
 public:
  // The first process has all others as helpers from now on.
  explicit Job(std::unique_ptr<Processes> processes);
  // Where this is the first process, the others stop serving.
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  bool IsFirst() const { return processes_->own() == 0; }
  // Answers others until the first process leaves the job.
  void Serve(const std::vector<Service>& services);
  // Ends all processes, for what none of them can go on from.
  void Abort(int code) { processes_->Abort(code); }

 private:
  std::unique_ptr<Processes> processes_;
};

// The other processes that this one may ask now. None in a program without a job, and while another thread has them:
// then there is nothing to share.
class Helpers {
 public:
  Helpers();
  // Waits for answers that nobody wanted.
  ~Helpers();
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  bool empty() const { return processes_.empty(); }
  const std::vector<std::size_t>& processes() const { return processes_; }

  // At most one question at a time to each process.
  void Ask(std::size_t process, std::string_view service, const std::string& request);
  std::string Answer(std::size_t process);

 private:
  std::vector<std::size_t> processes_;
  std::vector<std::size_t> asked_;  // whose answers are still to come
};

// Shares work among so many: which of them does what, by the sizes of the pieces. The largest go first, each to whoever
// has least so far.
std::vector<std::vector<std::size_t>> ShareOut(const std::vector<std::uint64_t>& sizes, std::size_t count);

}  // namespace farscale
