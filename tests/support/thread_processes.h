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
  explicit ThreadMail(std::size_t count) : boxes_(count) {
    for (Boxes& boxes : boxes_) boxes.from.resize(count);
  }

  std::size_t count() const { return boxes_.size(); }
  void Send(std::size_t from, std::size_t to, const std::string& text) {
    Boxes& boxes = boxes_[to];
    const std::lock_guard lock(boxes.mutex);
    boxes.from[from].push_back(text);
    ++boxes.received;
    boxes.has_arrived.notify_one();  // one thread owns them
  }
  std::string Receive(std::size_t own, std::size_t from) {
    Boxes& boxes = boxes_[own];
    std::unique_lock lock(boxes.mutex);
    std::deque<std::string>& box = boxes.from[from];
    boxes.has_arrived.wait(lock, [&] { return !box.empty(); });
    std::string text = std::move(box.front());
    box.pop_front();
    return text;
  }
  // From whoever has sent; whom from goes to `from`.
  std::string ReceiveAny(std::size_t own, std::size_t& from) {
    {
      Boxes& boxes = boxes_[own];
      std::unique_lock lock(boxes.mutex);
      boxes.has_arrived.wait(lock, [&] {
        for (from = 0; from < count() && boxes.from[from].empty(); ++from) continue;
        return from < count();
      });
    }
    return Receive(own, from);
  }
  std::size_t SentTo(std::size_t process) const {
    const std::lock_guard lock(boxes_[process].mutex);
    return boxes_[process].received;
  }

 private:
  struct Boxes {  // of a receiver
    mutable std::mutex mutex;
    std::condition_variable has_arrived;
    std::vector<std::deque<std::string>> from;
    std::size_t received = 0;
  };
  std::deque<Boxes> boxes_;
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
    message.second = mail_.ReceiveAny(own_, message.first);
    return message;
  }
  void Abort(int code) override { std::_Exit(code); }

 private:
  ThreadMail& mail_;
  std::size_t own_;
};

}  // namespace farscale::test
