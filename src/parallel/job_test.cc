#include "parallel/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/diagnostics.h"

namespace farscale {
namespace {

using testing::ElementsAre;

// Processes on this machine, with a socket between each two.
class LocalProcesses : public Processes {
 public:
  // Returns in every process; those beside the first one are children of it.
  explicit LocalProcesses(std::size_t count) : sockets_(count, std::vector<int>(count, -1)) {
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) std::abort();
        sockets_[i][k] = pair[0];
        sockets_[k][i] = pair[1];
      }
    }
    for (std::size_t i = 1; i < count && own_ == 0; ++i) {
      if (fork() == 0) own_ = i;
    }
  }

  std::size_t count() const override { return sockets_.size(); }
  std::size_t own() const override { return own_; }

  void Send(std::size_t to, const std::string& text) override {
    const std::uint64_t length = text.size();
    Write(to, reinterpret_cast<const char*>(&length), sizeof length);
    Write(to, text.data(), text.size());
  }
  std::string Receive(std::size_t from) override {
    std::uint64_t length = 0;
    Read(from, reinterpret_cast<char*>(&length), sizeof length);
    std::string text(length, '\0');
    Read(from, text.data(), length);
    return text;
  }
  Message ReceiveAny() override {
    std::vector<pollfd> files;
    for (const int file : sockets_[own_]) files.push_back({file, POLLIN, 0});
    while (poll(files.data(), files.size(), -1) < 1) continue;
    std::size_t from = 0;
    while ((files[from].revents & POLLIN) == 0) ++from;
    return {from, Receive(from)};
  }
  void Abort(int code) override { _exit(code); }

 private:
  void Write(std::size_t to, const char* bytes, std::size_t count) {
    while (count > 0) {
      const ssize_t written = write(sockets_[own_][to], bytes, count);
      if (written < 1) _exit(99);
      bytes += written;
      count -= static_cast<std::size_t>(written);
    }
  }
  void Read(std::size_t from, char* bytes, std::size_t count) {
    while (count > 0) {
      const ssize_t got = read(sockets_[own_][from], bytes, count);
      if (got < 1) _exit(98);
      bytes += got;
      count -= static_cast<std::size_t>(got);
    }
  }

  std::vector<std::vector<int>> sockets_;
  std::size_t own_ = 0;
};

std::string Twice(std::string_view text) { return std::string(text) + std::string(text); }

std::string Refuse(std::string_view text) {
  throw Error(ErrorKind::kOutput, std::string(text), "cannot be done", "do it otherwise");
}

// Runs `first` in the first process of several, and checks that the others end well.
void WithJob(std::size_t count, const std::function<void()>& first) {
  auto processes = std::make_unique<LocalProcesses>(count);
  const bool is_first = processes->own() == 0;
  {
    Job job(std::move(processes));
    if (is_first) {
      first();
    } else {
      job.Serve({{"twice", Twice}, {"refuse", Refuse}});
    }
  }
  if (!is_first) _exit(0);
  for (std::size_t i = 1; i < count; ++i) {
    int status = 0;
    wait(&status);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

TEST(Job, HelpersAnswer) {
  WithJob(3, [] {
    Helpers helpers;
    ASSERT_THAT(helpers.processes(), ElementsAre(1, 2));
    const std::string large(3000000, 'x');
    helpers.Ask(1, "twice", "one");
    helpers.Ask(2, "twice", large);
    EXPECT_EQ(helpers.Answer(2), large + large);
    EXPECT_EQ(helpers.Answer(1), "oneone");
    helpers.Ask(1, "twice", "");
    EXPECT_EQ(helpers.Answer(1), "");
  });
}

TEST(Job, ThereAreNoHelpersWithoutAJobOrWhileTheyAreTaken) {
  EXPECT_TRUE(Helpers().empty());
  WithJob(2, [] {
    {
      const Helpers helpers;
      EXPECT_FALSE(helpers.empty());
      EXPECT_TRUE(Helpers().empty());
    }
    EXPECT_FALSE(Helpers().empty());
  });
  EXPECT_TRUE(Helpers().empty());
}

TEST(Job, ErrorsOfHelpersAreThrownHere) {
  WithJob(2, [] {
    Helpers helpers;
    helpers.Ask(1, "refuse", "this");
    try {
      helpers.Answer(1);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kOutput);
      EXPECT_STREQ(error.what(), "this: cannot be done; do it otherwise");
    }
    helpers.Ask(1, "twice", "a");
    EXPECT_EQ(helpers.Answer(1), "aa");
  });
}

TEST(Job, AnswersThatNobodyWaitsForAreNotMistaken) {
  WithJob(3, [] {
    {
      Helpers helpers;
      helpers.Ask(1, "twice", "lost");
      helpers.Ask(2, "refuse", "lost");
    }
    Helpers helpers;
    helpers.Ask(1, "twice", "b");
    EXPECT_EQ(helpers.Answer(1), "bb");
  });
}

TEST(ShareOut, LargestFirstToWhoHasLeast) {
  // 9 | 5 | 4, then 3 to the third, 2 to the second: 9 | 7 | 7
  EXPECT_THAT(ShareOut({2, 9, 4, 5, 3}, 3), ElementsAre(ElementsAre(1), ElementsAre(0, 3), ElementsAre(2, 4)));
  EXPECT_THAT(ShareOut({0, 0, 0}, 2), ElementsAre(ElementsAre(0, 2), ElementsAre(1)));
  EXPECT_THAT(ShareOut({5}, 3), ElementsAre(ElementsAre(0), ElementsAre(), ElementsAre()));
  EXPECT_THAT(ShareOut({}, 1), ElementsAre(ElementsAre()));
}

}  // namespace
}  // namespace farscale
