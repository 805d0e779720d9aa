#include "parallel/exchange.h"

#include <algorithm>
#include <numeric>

namespace farscale {
namespace {

// Children of a member in the tree on which all agree; chosen: 1,024 processes are five levels then.
constexpr std::size_t kChildren = 4;

}  // namespace

Exchange::Exchange(Processes& processes, std::vector<std::size_t> members)
    : processes_(processes), members_(std::move(members)) {
  own_ = static_cast<std::size_t>(std::ranges::find(members_, processes.own()) - members_.begin());
  if (own_ > 0) parent_ = (own_ - 1) / kChildren;
  for (std::size_t child = kChildren * own_ + 1; child <= kChildren * own_ + kChildren; ++child) {
    if (child < members_.size()) children_.push_back(child);
  }
}

std::vector<std::size_t> Exchange::Others() const {
  std::vector<std::size_t> others(members_.size());
  std::iota(others.begin(), others.end(), std::size_t{0});
  std::erase(others, own_);
  return others;
}

// Sending may last until the other one receives, so pairs must not wait for each other in a circle. Members i and k
// meet at time (i + k) mod count, at which no member has two others to meet, and each goes through its times in order.
// Of the pairs that have not met, those with the earliest time have both ends there: so they meet, and in the end all
// have.
std::vector<std::string> Exchange::Swap(const std::vector<std::size_t>& partners, std::vector<std::string> texts) {
  ++counts_.swaps;
  std::vector<std::size_t> order(partners.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return (own_ + partners[i]) % count(); });
  std::vector<std::string> received(partners.size());
  for (const std::size_t i : order) {
    if (own_ < partners[i]) Send(partners[i], texts[i]);
    received[i] = Receive(partners[i]);
    if (own_ > partners[i]) Send(partners[i], texts[i]);
    texts[i] = {};
  }
  return received;
}

void Exchange::Send(std::size_t member, const std::string& text) {
  ++counts_.texts;
  counts_.bytes += text.size();
  counts_.largest = std::max<std::uint64_t>(counts_.largest, text.size());
  processes_.Send(members_[member], text);
}

}  // namespace farscale
