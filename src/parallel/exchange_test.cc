#include "parallel/exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <set>

#include "support/thread_processes.h"

namespace farscale {
namespace {

constexpr std::size_t kCounts[] = {1, 2, 3, 7, 16};

std::vector<std::size_t> AllOf(const Processes& processes) {
  std::vector<std::size_t> all(processes.count());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

std::string TextFor(std::size_t from, std::size_t to) { return std::to_string(from) + ">" + std::to_string(to); }

TEST(Exchange, EveryoneHasTheTextOfEveryone) {
  for (const std::size_t count : kCounts) {
    test::RunProcesses(count, [&](Processes& processes) {
      Exchange exchange(processes, AllOf(processes));
      const std::vector<std::size_t> others = exchange.Others();
      for (int round = 0; round < 3; ++round) {
        std::vector<std::string> texts;
        for (const std::size_t other : others) texts.push_back(TextFor(exchange.own(), other));
        const std::vector<std::string> received = exchange.Swap(others, texts);
        for (std::size_t i = 0; i < others.size(); ++i) {
          EXPECT_EQ(received[i], TextFor(others[i], exchange.own()));
        }
      }
      EXPECT_EQ(exchange.counts().swaps, 3u);
      EXPECT_EQ(exchange.counts().texts, 3 * (count - 1));
    });
  }
}

// Of a ring, and those who have no partner at all.
TEST(Exchange, SomeHaveFewPartners) {
  test::RunProcesses(7, [](Processes& processes) {
    Exchange exchange(processes, AllOf(processes));
    const std::size_t own = exchange.own();
    std::set<std::size_t> ring;
    if (own < 5) ring = {(own + 1) % 5, (own + 4) % 5};
    const std::vector<std::size_t> partners(ring.begin(), ring.end());
    const std::vector<std::string> received =
        exchange.Swap(partners, std::vector<std::string>(partners.size(), std::to_string(own)));
    for (std::size_t i = 0; i < partners.size(); ++i) EXPECT_EQ(received[i], std::to_string(partners[i]));
  });
}

// Sending lasts until the other one has received: what a large message of MPI does.
TEST(Exchange, NobodyWaitsInACircle) {
  class Rendezvous : public test::ThreadProcess {
   public:
    using ThreadProcess::ThreadProcess;
    void Send(std::size_t to, const std::string& text) override {
      ThreadProcess::Send(to, "t" + text);
      ThreadProcess::Receive(to);
    }
    std::string Receive(std::size_t from) override {
      const std::string text = ThreadProcess::Receive(from);
      ThreadProcess::Send(from, "");
      return text.substr(1);
    }
  };
  for (const std::size_t count : kCounts) {
    test::ThreadMail mail(count);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; ++i) {
      threads.emplace_back([&mail, i] {
        Rendezvous process(mail, i);
        Exchange exchange(process, AllOf(process));
        const std::vector<std::size_t> others = exchange.Others();
        const auto received = exchange.Swap(others, std::vector<std::string>(others.size(), std::to_string(i)));
        for (std::size_t k = 0; k < others.size(); ++k) EXPECT_EQ(received[k], std::to_string(others[k]));
        EXPECT_EQ(exchange.Sum(i), others.size() * (others.size() + 1) / 2);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

// Of some processes of a job, in an order of their own.
TEST(Exchange, MembersAgree) {
  const std::vector<std::size_t> members = {5, 0, 3, 6, 2, 1};
  std::atomic<int> concluded = 0;
  test::RunProcesses(7, [&](Processes& processes) {
    if (processes.own() == 4) return;
    Exchange exchange(processes, members);
    EXPECT_EQ(members[exchange.own()], processes.own());
    const auto text = exchange.Agree<std::string>(
        std::vector<std::size_t>{processes.own()},
        [](std::vector<std::size_t>& into, const std::vector<std::size_t>& other) {
          into.insert(into.end(), other.begin(), other.end());
        },
        [&](std::vector<std::size_t>& all) {
          ++concluded;
          EXPECT_TRUE(exchange.IsFirst());
          EXPECT_THAT(all, testing::UnorderedElementsAreArray(members));
          return std::string("agreed");
        });
    EXPECT_EQ(text, "agreed");
    EXPECT_EQ(exchange.Sum(1), members.size());
  });
  EXPECT_EQ(concluded, 1);
}

}  // namespace
}  // namespace farscale
