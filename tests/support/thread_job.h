// A job of two processes that are threads of the test: what one sends to the other goes through the same bytes as in a
// job of MPI.
#pragma once

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "parallel/job.h"

namespace farscale::test {

class ThreadJob {
 public:
  // While this lives, the test has a helper with these services.
  explicit ThreadJob(std::vector<Service> services)
      : other_(std::make_unique<Job>(std::make_unique<End>(mail_, 1))),
        first_(std::make_unique<Job>(std::make_unique<End>(mail_, 0))),
        thread_([this, services = std::move(services)] { other_->Serve(services); }) {}
  ~ThreadJob() {
    first_.reset();
    thread_.join();
  }
  ThreadJob(const ThreadJob&) = delete;
  ThreadJob& operator=(const ThreadJob&) = delete;

  std::size_t questions() const { return mail_.sent[1]; }

 private:
  struct Mail {
    std::mutex mutex;
    std::condition_variable has_arrived;
    std::deque<std::string> texts[2];  // by the one they are for
    std::size_t sent[2] = {};
  };

  class End : public Processes {
   public:
    End(Mail& mail, std::size_t own) : mail_(mail), own_(own) {}
    std::size_t count() const override { return 2; }
    std::size_t own() const override { return own_; }
    void Send(std::size_t to, const std::string& text) override {
      const std::lock_guard lock(mail_.mutex);
      mail_.texts[to].push_back(text);
      ++mail_.sent[to];
      mail_.has_arrived.notify_all();
    }
    std::string Receive(std::size_t) override {
      std::unique_lock lock(mail_.mutex);
      mail_.has_arrived.wait(lock, [this] { return !mail_.texts[own_].empty(); });
      std::string text = std::move(mail_.texts[own_].front());
      mail_.texts[own_].pop_front();
      return text;
    }
    Message ReceiveAny() override { return {1 - own_, Receive(1 - own_)}; }
    void Abort(int code) override { std::_Exit(code); }

   private:
    Mail& mail_;
    std::size_t own_;
  };

  Mail mail_;
  std::unique_ptr<Job> other_, first_;
  std::thread thread_;
};

}  // namespace farscale::test
