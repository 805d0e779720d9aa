// Who sends to whom in a grown run, and which receive takes which message.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/diagnostics.h"
#include "base/parallel.h"
#include "growth/make/grown_program.h"

namespace farscale {
namespace {

// One end of a message: the other rank, and what tells it from others between the two.
struct MessageEnd {
  std::uint32_t peer = GrownMessages::kNoPartner;
  std::uint32_t tag = 0;
  std::uint16_t group = 0;
  bool is_completed = false;
};

std::int64_t Partner(const GridPlan& plan, const ClassPart& part, std::int64_t rank, std::int64_t peer) {
  return MemberAtPlaceOf(plan.grid, plan.groups[part.group], rank, peer);
}

// Finds the partners of all sends and receives of a rank, which begin at `sends` and `receives`.
void FindEnds(const GridPlan& plan, std::size_t rank, OpenOperations& open, MessageEnd* sends, MessageEnd* receives) {
  const auto post = [&](const ClassPart& part, const OpenOperation& operation) {
    if (part.is.IsCollective()) return true;
    const auto own = static_cast<std::int64_t>(rank);
    const std::int64_t peer = PeerBy(part.rule->peers.front(), plan.grid, own, part.stage);
    const std::int64_t member = peer < 0 ? -1 : Partner(plan, part, own, peer);
    if (member < 0) return false;
    MessageEnd& end = (part.is.type == OperationClass::kSend ? sends : receives)[operation.slot];
    end.peer = static_cast<std::uint32_t>(member);
    end.tag = static_cast<std::uint32_t>(part.rule->tags.front().At(part.stage, own, peer));
    end.group = part.group;
    end.is_completed = part.is.completes;
    return true;
  };
  const auto complete = [&](OperationClass type, const OpenOperation& operation) {
    if (type == OperationClass::kReceive) receives[operation.slot].is_completed = true;
  };
  open.Clear();
  plan.ForEachCall(plan.PlanOf(rank), [&](const ClassCall& call) { open.Call(call, post, complete); });
}

// First index of every rank among the posts of all, and behind the last.
std::vector<std::uint32_t> FirstPosts(const GridPlan& plan, OperationClass type) {
  std::vector<std::uint32_t> first{0};
  first.reserve(plan.class_of.size() + 1);
  for (std::size_t rank = 0; rank < plan.class_of.size(); ++rank)
    first.push_back(first.back() + plan.PlanOf(rank).posts[static_cast<std::size_t>(type)]);
  return first;
}

// Senders and numbers of messages by their receiver, those of one receiver rising. `first`: of every rank.
std::vector<std::pair<std::uint32_t, std::uint32_t>> SortByReceiver(const GrownMessages& messages,
                                                                    const std::vector<MessageEnd>& sends,
                                                                    std::vector<std::uint32_t>& first) {
  const std::size_t ranks = messages.first_send.size() - 1;
  first.assign(ranks + 2, 0);  // shifted by one while they are filled
  for (const MessageEnd& send : sends) {
    if (send.peer != GrownMessages::kNoPartner) ++first[send.peer + 2];
  }
  for (std::size_t rank = 2; rank < first.size(); ++rank) first[rank] += first[rank - 1];
  std::vector<std::pair<std::uint32_t, std::uint32_t>> sorted(first.back());
  for (std::uint32_t from = 0; from < ranks; ++from) {
    for (std::uint32_t message = messages.first_send[from]; message < messages.first_send[from + 1]; ++message) {
      const std::uint32_t to = sends[message].peer;
      if (to != GrownMessages::kNoPartner) sorted[first[to + 1]++] = {from, message};
    }
  }
  return sorted;
}

// An end of a message at a rank: the other rank, tag and communicator, and the number of the message or receive.
using NumberedEnd = std::tuple<std::uint32_t, std::uint32_t, std::uint16_t, std::uint32_t>;

}  // namespace

GrownMessages MatchGrown(const GridPlan& plan) {
  const std::size_t ranks = plan.class_of.size();
  GrownMessages messages;
  messages.first_send = FirstPosts(plan, OperationClass::kSend);
  messages.first_receive = FirstPosts(plan, OperationClass::kReceive);
  messages.unsent = messages.first_send.back();
  std::vector<MessageEnd> sends(messages.unsent), receives(messages.first_receive.back());
  ParallelForBlocks(ranks, [&](std::size_t begin, std::size_t end) {
    OpenOperations open;
    for (std::size_t rank = begin; rank < end; ++rank)
      FindEnds(plan, rank, open, sends.data() + messages.first_send[rank],
               receives.data() + messages.first_receive[rank]);
  });
  std::vector<std::uint32_t> first;
  const auto inboxes = SortByReceiver(messages, sends, first);
  messages.message_of.resize(receives.size());
  const auto channel = [](const NumberedEnd& end) {
    return std::tie(std::get<0>(end), std::get<1>(end), std::get<2>(end));
  };
  ParallelForBlocks(ranks, [&](std::size_t begin, std::size_t end) {
    std::vector<NumberedEnd> incoming, awaited;
    for (std::size_t rank = begin; rank < end; ++rank) {
      incoming.clear();
      awaited.clear();
      for (std::uint32_t i = first[rank]; i < first[rank + 1]; ++i) {
        const auto& [from, message] = inboxes[i];
        incoming.emplace_back(from, sends[message].tag, sends[message].group, message);
      }
      for (std::uint32_t i = messages.first_receive[rank]; i < messages.first_receive[rank + 1]; ++i) {
        const MessageEnd& receive = receives[i];
        const bool is_posted = receive.peer != GrownMessages::kNoPartner;
        messages.message_of[i] = is_posted ? GrownMessages::kNotCompleted : GrownMessages::kNoPartner;
        if (is_posted && receive.is_completed) awaited.emplace_back(receive.peer, receive.tag, receive.group, i);
      }
      std::ranges::sort(incoming);
      std::ranges::sort(awaited);
      auto next = incoming.begin();
      for (const NumberedEnd& receive : awaited) {
        while (next != incoming.end() && channel(*next) < channel(receive)) ++next;
        const bool is_there = next != incoming.end() && channel(*next) == channel(receive);
        messages.message_of[std::get<3>(receive)] = is_there ? std::get<3>(*next++) : messages.unsent;
      }
    }
  });
  messages.to.reserve(sends.size());
  for (const MessageEnd& send : sends) messages.to.push_back(send.peer);
  return messages;
}

namespace {

// Sends that no receive takes, and receives that no send belongs to.
using Unmatched = std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>>;

Unmatched FindUnmatched(const GrownMessages& messages) {
  Unmatched unmatched;
  std::vector<bool> is_taken(messages.unsent + 1, false);
  for (std::uint32_t receive = 0; receive < messages.message_of.size(); ++receive) {
    const std::uint32_t message = messages.message_of[receive];
    if (message == GrownMessages::kNoPartner || message == GrownMessages::kNotCompleted) continue;
    is_taken[message] = true;
    if (message == messages.unsent) unmatched.second.push_back(receive);
  }
  for (std::uint32_t message = 0; message < messages.unsent; ++message) {
    if (!is_taken[message] && messages.to[message] != GrownMessages::kNoPartner) unmatched.first.push_back(message);
  }
  return unmatched;
}

double PerRank(const Unmatched& unmatched, const GridPlan& plan) {
  return static_cast<double>(unmatched.first.size() + unmatched.second.size()) /
         static_cast<double>(plan.class_of.size());
}

// The call that posts a message, "MPI_Send x+1 of rank 3", and the partner. `first`: posts of every rank; `number`: of
// the post among those of all ranks.
std::pair<std::string, std::int64_t> PostSite(const GrowthModel& model, const GridPlan& plan,
                                              const std::vector<std::uint32_t>& first, OperationClass type,
                                              std::uint32_t number) {
  const auto rank = std::ranges::upper_bound(first, number) - first.begin() - 1;
  const std::uint32_t slot = number - first[static_cast<std::size_t>(rank)];
  std::pair<std::string, std::int64_t> site{"", -1};
  OpenOperations open;
  plan.ForEachCall(plan.PlanOf(static_cast<std::size_t>(rank)), [&](const ClassCall& call) {
    const auto post = [&](const ClassPart& part, const OpenOperation& operation) {
      const PeerRule& rule = part.rule->peers.front();
      const std::int64_t peer = PeerBy(rule, plan.grid, rank, part.stage);
      if (part.is.type == type && operation.slot == slot) {
        site = {fmt::format("{} {} of rank {}", model.functions[call.rule->function], rule.Text(), rank),
                Partner(plan, part, rank, peer)};
      }
      return peer >= 0;
    };
    open.Call(call, post, [](OperationClass, const OpenOperation&) {});
  });
  return site;
}

std::string DescribeUnmatched(const GrowthModel& model, const GridPlan& plan, const GrownMessages& messages,
                              const Unmatched& unmatched) {
  const auto& [sends, receives] = unmatched;
  if (receives.empty()) {
    const auto [send, to] = PostSite(model, plan, messages.first_send, OperationClass::kSend, sends.front());
    return fmt::format("no receive of rank {} takes the message of {}", to, send);
  }
  const auto [receive, from] =
      PostSite(model, plan, messages.first_receive, OperationClass::kReceive, receives.front());
  const auto sender = static_cast<std::size_t>(from);
  const auto lost = std::ranges::lower_bound(sends, messages.first_send[sender]);
  if (lost == sends.end() || *lost >= messages.first_send[sender + 1])
    return fmt::format("{} awaits a message that rank {} does not send", receive, from);
  const auto [send, to] = PostSite(model, plan, messages.first_send, OperationClass::kSend, *lost);
  return fmt::format("{} awaits a message of rank {}, and {} goes to rank {}", receive, from, send, to);
}

}  // namespace

GrownMessages MatchComplete(const GrowthModel& model, const GridPlan& plan) {
  constexpr double kMoreNeighbours = 2;  // chosen: but for diagonals, ranks inside have at most twice those in a corner
  GrownMessages messages = MatchGrown(plan);
  const Unmatched unmatched = FindUnmatched(messages);
  if (unmatched.first.empty() && unmatched.second.empty()) return messages;
  const GridPlan largest = PlanRun(model, model.runs.size() - 1, plan.chosen);
  const double allowed = kMoreNeighbours * PerRank(FindUnmatched(MatchGrown(largest)), largest);
  if (PerRank(unmatched, plan) <= allowed) return messages;
  throw Error(ErrorKind::kNotEnoughData, "",
              fmt::format("the rules do not fit together on {}: {}", plan.grid.Text(),
                          DescribeUnmatched(model, plan, messages, unmatched)));
}

}  // namespace farscale
