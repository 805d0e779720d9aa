#include "parallel/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "base/diagnostics.h"
#include "base/search.h"
#include "parallel/bytes.h"

namespace farscale {
namespace {

std::mutex mutex;
Processes* job = nullptr;
std::vector<std::size_t> available;  // helpers that no thread has taken

std::vector<std::size_t> Take() {
  const std::lock_guard lock(mutex);
  return std::exchange(available, {});
}

void MakeAvailable(std::vector<std::size_t> processes) {
  const std::lock_guard lock(mutex);
  available = std::move(processes);
}

// The answer to a question and the error that prevented it, as bytes.
std::string Reply(const std::string& question, const std::vector<Service>& services, std::size_t own) {
  std::string service, request, answer;
  std::optional<Error> failure;
  try {
    FromBytes(question, service, request);
    answer = std::ranges::find(services, service, &Service::name)->answer(request);
  } catch (const Error& error) {
    failure = error;
  } catch (const std::bad_alloc&) {
    failure = Error(ErrorKind::kInput, "", fmt::format("process {} is out of memory", own),
                    "use more nodes, or fewer processes on each");
  } catch (const std::exception& error) {
    failure = Error(ErrorKind::kInput, "", fmt::format("internal error of process {}: {}", own, error.what()),
                    "please report it");
  }
  return ToBytes(answer, failure);
}

}  // namespace

Job::Job(std::unique_ptr<Processes> processes) : processes_(std::move(processes)) {
  job = processes_.get();
  if (!IsFirst()) return;
  std::vector<std::size_t> others(processes_->count() - 1);
  std::iota(others.begin(), others.end(), std::size_t{1});
  MakeAvailable(others);
}

Job::~Job() {
  Take();
  for (std::size_t i = 1; IsFirst() && i < processes_->count(); ++i) processes_->Send(i, "");
  job = nullptr;
}

void Job::Serve(const std::vector<Service>& services) {
  for (;;) {
    const auto [from, text] = processes_->ReceiveAny();
    if (text.empty()) return;  // the first process leaves the job
    processes_->Send(from, Reply(text, services, processes_->own()));
  }
}

Helpers::Helpers() : processes_(Take()) {}

Helpers::~Helpers() {
  if (processes_.empty()) return;
  for (const std::size_t process : asked_) job->Receive(process);
  MakeAvailable(processes_);
}

void Helpers::Ask(std::size_t process, std::string_view service, const std::string& request) {
  job->Send(process, ToBytes(std::string(service), request));
  asked_.push_back(process);
}

std::string Helpers::Answer(std::size_t process) {
  std::erase(asked_, process);
  std::string answer;
  std::optional<Error> failure;
  FromBytes(job->Receive(process), answer, failure);
  if (failure) throw Error(*std::move(failure));
  return answer;
}

std::vector<std::vector<std::size_t>> ShareOut(const std::vector<std::uint64_t>& sizes, std::size_t count) {
  std::vector<std::vector<std::size_t>> shares(count);
  // The least load first, then the lowest number.
  std::set<std::pair<std::uint64_t, std::size_t>> loads;
  for (std::size_t k = 0; k < count; ++k) loads.emplace(0, k);
  for (const std::size_t i : LargestFirst(sizes)) {
    const auto [load, k] = *loads.begin();
    loads.erase(loads.begin());
    shares[k].push_back(i);
    loads.emplace(load + sizes[i] + 1, k);  // pieces without size are work, too
  }
  for (std::vector<std::size_t>& share : shares) std::ranges::sort(share);
  return shares;
}

}  // namespace farscale
