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
#include "parallel/bytes.h"

namespace farscale {
namespace {

enum class MessageKind : std::uint8_t { kQuestion, kAnswer, kLeave };

struct Question {
  std::string service;
  std::string request;
};

struct Reply {
  std::string text;
  std::optional<Error> error;
};

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

Reply AnswerTo(const Question& question, const std::vector<Service>& services, std::size_t own) {
  Reply reply;
  try {
    reply.text = std::ranges::find(services, question.service, &Service::name)->answer(question.request);
  } catch (const Error& error) {
    reply.error = error;
  } catch (const std::bad_alloc&) {
    reply.error = Error(ErrorKind::kInput, "", fmt::format("process {} is out of memory", own),
                        "use more nodes, or fewer processes on each");
  } catch (const std::exception& error) {
    reply.error = Error(ErrorKind::kInput, "", fmt::format("internal error of process {}: {}", own, error.what()),
                        "please report it");
  }
  return reply;
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
  for (std::size_t i = 1; IsFirst() && i < processes_->count(); ++i) {
    MessageKind kind = MessageKind::kLeave;
    processes_->Send(i, ToBytes(kind));
  }
  job = nullptr;
}

void Job::Serve(const std::vector<Service>& services) {
  for (;;) {
    const Processes::Message message = processes_->ReceiveAny();
    MessageKind kind = MessageKind::kLeave;
    ByteReader reader(message.text);
    reader.Transfer(kind);
    if (kind == MessageKind::kLeave) return;
    Question question;
    reader.Transfer(question);
    Reply reply = AnswerTo(question, services, processes_->own());
    kind = MessageKind::kAnswer;
    processes_->Send(message.from, ToBytes(kind, reply));
  }
}

Helpers::Helpers() : processes_(Take()) {}

Helpers::~Helpers() {
  if (processes_.empty()) return;
  for (const std::size_t process : asked_) job->Receive(process);
  MakeAvailable(processes_);
}

void Helpers::Ask(std::size_t process, std::string_view service, const std::string& request) {
  MessageKind kind = MessageKind::kQuestion;
  Question question{std::string(service), request};
  job->Send(process, ToBytes(kind, question));
  asked_.push_back(process);
}

std::string Helpers::Answer(std::size_t process) {
  std::erase(asked_, process);
  const std::string text = job->Receive(process);
  MessageKind kind = MessageKind::kAnswer;
  Reply reply;
  FromBytes(text, kind, reply);
  if (reply.error) throw Error(*std::move(reply.error));
  return std::move(reply.text);
}

std::vector<std::vector<std::size_t>> ShareOut(const std::vector<std::uint64_t>& sizes, std::size_t count) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return sizes[i]; });
  std::vector<std::vector<std::size_t>> shares(count);
  // The least load first, then the lowest number.
  std::set<std::pair<std::uint64_t, std::size_t>> loads;
  for (std::size_t k = 0; k < count; ++k) loads.emplace(0, k);
  for (const std::size_t i : order) {
    const auto [load, k] = *loads.begin();
    loads.erase(loads.begin());
    shares[k].push_back(i);
    loads.emplace(load + sizes[i] + 1, k);  // pieces without size are work, too
  }
  for (std::vector<std::size_t>& share : shares) std::ranges::sort(share);
  return shares;
}

}  // namespace farscale
