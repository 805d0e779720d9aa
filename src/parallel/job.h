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

class Exchange;

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

  // At most one question at a time to each process. `its_helpers`: some of the others, which serve that process until
  // it has answered.
  void Ask(std::size_t process, std::string_view service, const std::string& request,
           const std::vector<std::size_t>& its_helpers = {});
  std::string Answer(std::size_t process);

  // Calls body while some of the processes are helpers of this one for whatever the body does.
  void Lend(const std::vector<std::size_t>& some, const std::function<void()>& body);

 private:
  std::vector<std::size_t> processes_;
  std::vector<std::size_t> asked_;  // whose answers are still to come
};

// Of processes of the job, each of which calls this: the one that asks for a service, and those that answer it.
Exchange ExchangeAmong(const std::vector<std::size_t>& processes);

// The number of this process.
std::size_t OwnProcess();

// Ends all processes with a sentence: for errors of one that others, which wait for it, cannot be told of.
void EndJob(const std::string& sentence);

// Shares work among so many: which of them does what, by the sizes of the pieces. The largest go first, each to whoever
// has least so far.
std::vector<std::vector<std::size_t>> ShareOut(const std::vector<std::uint64_t>& sizes, std::size_t count);

}  // namespace farscale
