// Processes that are threads of the test: what one sends to another goes through the same bytes as in a job of MPI.
#pragma once

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "parallel/processes.h"

namespace farscale::test {

// The letter boxes of so many processes.
class ThreadMail {
 public:
  explicit ThreadMail(std::size_t count) : boxes_(count, std::vector<std::deque<std::string>>(count)), sent_(count) {}

  std::size_t count() const { return boxes_.size(); }
  void Send(std::size_t from, std::size_t to, const std::string& text) {
    const std::lock_guard lock(mutex_);
    boxes_[to][from].push_back(text);
    ++sent_[to];
    has_arrived_.notify_all();
  }
  std::string Receive(std::size_t own, std::size_t from) {
    std::unique_lock lock(mutex_);
    std::deque<std::string>& box = boxes_[own][from];
    has_arrived_.wait(lock, [&] { return !box.empty(); });
    std::string text = std::move(box.front());
    box.pop_front();
    return text;
  }
  // From whoever has sent; whom from goes to `from`.
  std::string ReceiveAny(std::size_t own, std::size_t& from) {
    {
      std::unique_lock lock(mutex_);
      has_arrived_.wait(lock, [&] {
        for (from = 0; from < count() && boxes_[own][from].empty(); ++from) continue;
        return from < count();
      });
    }
    return Receive(own, from);
  }
  std::size_t SentTo(std::size_t process) {
    const std::lock_guard lock(mutex_);
    return sent_[process];
  }

 private:
  std::mutex mutex_;
  std::condition_variable has_arrived_;
  std::vector<std::vector<std::deque<std::string>>> boxes_;  // by receiver, then sender
  std::vector<std::size_t> sent_;                            // by receiver
};

class ThreadProcess : public Processes {
 public:
  ThreadProcess(ThreadMail& mail, std::size_t own) : mail_(mail), own_(own) {}
  std::size_t count() const override { return mail_.count(); }
  std::size_t own() const override { return own_; }
  void Send(std::size_t to, const std::string& text) override { mail_.Send(own_, to, text); }
  std::string Receive(std::size_t from) override { return mail_.Receive(own_, from); }
  Message ReceiveAny() override {
    Message message;
    message.text = mail_.ReceiveAny(own_, message.from);
    return message;
  }
  void Abort(int code) override { std::_Exit(code); }

 private:
  ThreadMail& mail_;
  std::size_t own_;
};

// Calls body(process) in so many processes at once.
inline void RunProcesses(std::size_t count, const std::function<void(Processes&)>& body) {
  ThreadMail mail(count);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      ThreadProcess process(mail, i);
      body(process);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace farscale::test
