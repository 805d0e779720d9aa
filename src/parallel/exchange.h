// What the processes that work on one thing tell each other. All of them make the same calls in the same order, so that
// nobody waits for what is never sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "parallel/bytes.h"
#include "parallel/processes.h"

namespace farscale {

// What one process has sent.
struct ExchangeCounts {
  std::uint64_t swaps = 0, agreements = 0;
  std::uint64_t texts = 0, bytes = 0;
  std::uint64_t largest = 0;  // bytes of one text

  friend bool operator==(const ExchangeCounts&, const ExchangeCounts&) = default;
};

class Exchange {
 public:
  // `members`: processes of the job, the same list on each of them. They are known by their places in it from here on.
  Exchange(Processes& processes, std::vector<std::size_t> members);

  std::size_t count() const { return members_.size(); }
  std::size_t own() const { return own_; }
  bool IsFirst() const { return own_ == 0; }
  const ExchangeCounts& counts() const { return counts_; }

  // Gives each partner its text and returns theirs, in the order of `partners`. Who is a partner of another has that
  // one as a partner, too.
  std::vector<std::string> Swap(const std::vector<std::size_t>& partners, std::vector<std::string> texts);
  // With every other member.
  std::vector<std::size_t> Others() const;

  // Values of all members are merged on their way to the first one, whose answer all get. merge(into, other) is called
  // in no certain order, so that what it makes must not depend on one; conclude(value) returns the answer.
  template <typename Answer, typename Value, typename Merge, typename Conclude>
  Answer Agree(Value value, const Merge& merge, const Conclude& conclude) {
    ++counts_.agreements;
    for (const std::size_t child : children_) {
      Value other;
      FromBytes(Receive(child), other);
      merge(value, other);
    }
    Answer answer;
    if (IsFirst()) {
      answer = conclude(value);
    } else {
      Send(parent_, ToBytes(value));
      FromBytes(Receive(parent_), answer);
    }
    const std::string text = children_.empty() ? "" : ToBytes(answer);
    for (const std::size_t child : children_) Send(child, text);
    return answer;
  }

  // What the first member says.
  template <typename T>
  T FromFirst(T value) {
    return Agree<T>(
        std::uint8_t{0}, [](std::uint8_t&, std::uint8_t) {}, [&](std::uint8_t) { return std::move(value); });
  }

  std::uint64_t Sum(std::uint64_t value) {
    return Agree<std::uint64_t>(
        value, [](std::uint64_t& into, std::uint64_t other) { into += other; }, [](std::uint64_t all) { return all; });
  }

 private:
  void Send(std::size_t member, const std::string& text);
  std::string Receive(std::size_t member) { return processes_.Receive(members_[member]); }

  Processes& processes_;
  const std::vector<std::size_t> members_;
  std::size_t own_ = 0, parent_ = 0;
  std::vector<std::size_t> children_;
  ExchangeCounts counts_;
};

}  // namespace farscale
