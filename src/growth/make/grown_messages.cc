#include "growth/make/grown_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>

#include "base/diagnostics.h"
#include "base/parallel.h"
#include "growth/rules/peer_rule.h"

namespace farscale {
namespace {

// One end of a message: the other rank, and what tells it from others between the two.
struct End {
  std::uint32_t peer = GrownMessages::kNoPartner;
  std::uint32_t tag = 0;
  std::uint16_t group = 0;
  bool is_completed = false;
};

struct Ends {
  std::vector<End> sends, receives;
};

// The calls of one rank, of which only partners and tags count.
class EndFinder {
 public:
  EndFinder(const GridPlan& plan, const GrownMessages& messages, Ends& ends)
      : plan_(plan), messages_(messages), ends_(ends) {}

  void Find(std::int64_t rank) {
    open_.Clear();
    const ClassPlan& of_class = plan_.PlanOf(rank);
    End* sends = ends_.sends.data() + messages_.first_send[static_cast<std::size_t>(rank)];
    End* receives = ends_.receives.data() + messages_.first_receive[static_cast<std::size_t>(rank)];
    for (const std::size_t iteration : plan_.chosen) {
      const KindPlan& kind = of_class.kinds[plan_.kinds[iteration]];
      std::uint32_t first = 0;
      for (const ClassCall& call : kind.calls) {
        open_.Call(
            call, std::span(kind.parts).subspan(first, call.parts_end - first),
            [](std::uint32_t) { return std::pair<std::uint64_t, std::uint64_t>(0, 0); },
            [&](const ClassPart& part, const OpenOperation& operation) {
              if (part.is.IsCollective()) return true;
              End& end = (part.is.type == OperationClass::kSend ? sends : receives)[operation.slot];
              return FindPartner(part, rank, end);
            },
            [&](const OperationPart& is, const OpenOperation& operation) {
              if (is.type == OperationClass::kReceive) receives[operation.slot].is_completed = true;
            });
        first = call.parts_end;
      }
    }
  }

 private:
  bool FindPartner(const ClassPart& part, std::int64_t rank, End& end) const {
    const std::int64_t peer = PeerBy(part.rule->peers.front(), plan_.grid, rank, part.stage);
    if (peer < 0) return false;
    const TagRule& tag = part.rule->tags.front();
    const std::int64_t member = MemberAtPlaceOf(plan_.grid, plan_.groups[part.group].ranks, rank, peer);
    if (member < 0) return false;
    end.peer = static_cast<std::uint32_t>(member);
    end.tag = static_cast<std::uint32_t>(tag.plus + TagBase(tag, rank, peer, part.stage));
    end.group = part.group;
    end.is_completed = part.is.completes;
    return true;
  }

  const GridPlan& plan_;
  const GrownMessages& messages_;
  Ends& ends_;
  OpenOperations open_;
};

// First index of every rank, from how many it has.
template <typename Count>
std::vector<std::uint32_t> FirstOf(std::size_t ranks, const Count& count) {
  std::vector<std::uint32_t> first(ranks + 1);
  for (std::size_t rank = 0; rank < ranks; ++rank) first[rank + 1] = first[rank] + count(rank);
  return first;
}

// A message on its way to a rank.
struct Incoming {
  std::uint32_t from = 0, message = 0;
};

// Messages by their receiver, those of one receiver rising.
struct Inboxes {
  std::vector<std::uint32_t> first;
  std::vector<Incoming> messages;
};

Inboxes SortByReceiver(const GrownMessages& messages, const std::vector<End>& sends) {
  const std::size_t ranks = messages.first_send.size() - 1;
  Inboxes inboxes;
  inboxes.first.assign(ranks + 2, 0);  // shifted by one while they are filled
  for (const End& send : sends) {
    if (send.peer != GrownMessages::kNoPartner) ++inboxes.first[send.peer + 2];
  }
  for (std::size_t rank = 2; rank < inboxes.first.size(); ++rank) inboxes.first[rank] += inboxes.first[rank - 1];
  inboxes.messages.resize(inboxes.first.back());
  for (std::uint32_t from = 0; from < ranks; ++from) {
    for (std::uint32_t message = messages.first_send[from]; message < messages.first_send[from + 1]; ++message) {
      const std::uint32_t to = sends[message].peer;
      if (to != GrownMessages::kNoPartner) inboxes.messages[inboxes.first[to + 1]++] = {from, message};
    }
  }
  return inboxes;
}

// Finds the message of every receive of a rank.
class RankMatcher {
 public:
  RankMatcher(const Ends& ends, const Inboxes& inboxes, GrownMessages& messages)
      : ends_(ends), inboxes_(inboxes), messages_(messages) {}

  void Match(std::size_t rank) {
    incoming_.clear();
    for (std::uint32_t i = inboxes_.first[rank]; i < inboxes_.first[rank + 1]; ++i) {
      const Incoming& one = inboxes_.messages[i];
      const End& send = ends_.sends[one.message];
      incoming_.push_back({one.from, send.tag, send.group, one.message});
    }
    awaited_.clear();
    for (std::uint32_t i = messages_.first_receive[rank]; i < messages_.first_receive[rank + 1]; ++i) {
      const End& receive = ends_.receives[i];
      const bool is_posted = receive.peer != GrownMessages::kNoPartner;
      messages_.message_of[i] = !is_posted ? GrownMessages::kNoPartner : GrownMessages::kNotCompleted;
      if (is_posted && receive.is_completed) awaited_.push_back({receive.peer, receive.tag, receive.group, i});
    }
    Join();
  }

 private:
  struct Key {
    std::uint32_t peer, tag;
    std::uint16_t group;
    std::uint32_t number;  // of the message or the receive

    auto Channel() const { return std::tie(peer, tag, group); }
    friend bool operator<(const Key& a, const Key& b) {
      return std::tie(a.peer, a.tag, a.group, a.number) < std::tie(b.peer, b.tag, b.group, b.number);
    }
  };

  void Join() {
    std::ranges::sort(incoming_, std::less<>());
    std::ranges::sort(awaited_, std::less<>());
    auto next = incoming_.begin();
    for (const Key& receive : awaited_) {
      while (next != incoming_.end() && next->Channel() < receive.Channel()) ++next;
      const bool is_there = next != incoming_.end() && next->Channel() == receive.Channel();
      messages_.message_of[receive.number] = is_there ? (next++)->number : messages_.unsent;
    }
  }

  const Ends& ends_;
  const Inboxes& inboxes_;
  GrownMessages& messages_;
  std::vector<Key> incoming_, awaited_;
};

}  // namespace

GrownMessages MatchGrown(const GridPlan& plan) {
  const std::size_t ranks = plan.class_of.size();
  const auto posts_of = [&](OperationClass type) {
    return [&plan, type](std::size_t rank) {
      return plan.classes[plan.class_of[rank]].posts[static_cast<std::size_t>(type)];
    };
  };
  GrownMessages messages;
  messages.first_send = FirstOf(ranks, posts_of(OperationClass::kSend));
  messages.first_receive = FirstOf(ranks, posts_of(OperationClass::kReceive));
  messages.unsent = messages.first_send.back();
  Ends ends;
  ends.sends.resize(messages.unsent);
  ends.receives.resize(messages.first_receive.back());
  ParallelForBlocks(ranks, [&](std::size_t first, std::size_t end) {
    EndFinder finder(plan, messages, ends);
    for (std::size_t rank = first; rank < end; ++rank) finder.Find(static_cast<std::int64_t>(rank));
  });
  const Inboxes inboxes = SortByReceiver(messages, ends.sends);
  messages.message_of.resize(ends.receives.size());
  ParallelForBlocks(ranks, [&](std::size_t first, std::size_t end) {
    RankMatcher matcher(ends, inboxes, messages);
    for (std::size_t rank = first; rank < end; ++rank) matcher.Match(rank);
  });
  messages.to.reserve(ends.sends.size());
  for (const End& send : ends.sends) messages.to.push_back(send.peer);
  return messages;
}

namespace {

// Sends that no receive takes and receives that no send belongs to.
struct Unmatched {
  std::vector<std::uint32_t> sends, receives;

  double PerRank(const GridPlan& plan) const {
    return static_cast<double>(sends.size() + receives.size()) / static_cast<double>(plan.class_of.size());
  }
};

Unmatched FindUnmatched(const GrownMessages& messages) {
  Unmatched unmatched;
  std::vector<bool> is_taken(messages.unsent + 1, false);
  for (std::uint32_t receive = 0; receive < messages.message_of.size(); ++receive) {
    const std::uint32_t message = messages.message_of[receive];
    if (message == GrownMessages::kNoPartner || message == GrownMessages::kNotCompleted) continue;
    is_taken[message] = true;
    if (message == messages.unsent) unmatched.receives.push_back(receive);
  }
  for (std::uint32_t message = 0; message < messages.unsent; ++message) {
    if (!is_taken[message] && messages.to[message] != GrownMessages::kNoPartner) unmatched.sends.push_back(message);
  }
  return unmatched;
}

// Where a rank posts a message.
struct CallSite {
  std::string call;  // "MPI_Send x+1 of rank 3"
  std::int64_t peer = -1;
};

// The function of a call, as the run that it is copied from names it.
const std::string& FunctionOf(const GrowthModel& model, const ClassDonors& donors, std::size_t kind,
                              const ClassCall& call) {
  const RunCalls& run = model.runs[donors.run];
  const RankCalls& calls = run.of_ranks[static_cast<std::size_t>(donors.ranks.front())];
  const auto iteration = static_cast<std::size_t>(std::ranges::find(run.kinds, kind) - run.kinds.begin());
  return model.functions.Name(calls.calls[calls.FirstCall(iteration) + call.model].function);
}

CallSite SiteOf(const GrowthModel& model, const GridPlan& plan, std::int64_t rank, OperationClass type,
                std::uint32_t slot) {
  CallSite site;
  OpenOperations open;
  const ClassPlan& of_class = plan.PlanOf(rank);
  for (const std::size_t iteration : plan.chosen) {
    const KindPlan& kind = of_class.kinds[plan.kinds[iteration]];
    std::uint32_t first = 0;
    for (const ClassCall& call : kind.calls) {
      const auto see = [&](const ClassPart& part, const OpenOperation& operation) {
        const std::int64_t peer = PeerBy(part.rule->peers.front(), plan.grid, rank, part.stage);
        if (part.is.type == type && operation.slot == slot) {
          const std::int64_t member = MemberAtPlaceOf(plan.grid, plan.groups[part.group].ranks, rank, peer);
          site = {fmt::format("{} {} of rank {}", FunctionOf(model, of_class.donors, plan.kinds[iteration], call),
                              part.rule->peers.front().Text(), rank),
                  member};
        }
        return peer >= 0;
      };
      open.Call(
          call, std::span(kind.parts).subspan(first, call.parts_end - first),
          [](std::uint32_t) { return std::pair<std::uint64_t, std::uint64_t>(0, 0); }, see,
          [](const OperationPart&, const OpenOperation&) {});
      first = call.parts_end;
    }
  }
  return site;
}

// Of a number among those of all ranks, whose first ones are given.
CallSite SiteOf(const GrowthModel& model, const GridPlan& plan, const std::vector<std::uint32_t>& first_of,
                OperationClass type, std::uint32_t number) {
  const auto rank = std::ranges::upper_bound(first_of, number) - first_of.begin() - 1;
  return SiteOf(model, plan, rank, type, number - first_of[static_cast<std::size_t>(rank)]);
}

std::string Describe(const GrowthModel& model, const GridPlan& plan, const GrownMessages& messages,
                     const Unmatched& unmatched) {
  if (unmatched.receives.empty()) {
    const CallSite send = SiteOf(model, plan, messages.first_send, OperationClass::kSend, unmatched.sends.front());
    return fmt::format("no receive of rank {} takes the message of {}", send.peer, send.call);
  }
  const CallSite receive =
      SiteOf(model, plan, messages.first_receive, OperationClass::kReceive, unmatched.receives.front());
  const auto sender = static_cast<std::size_t>(receive.peer);
  const auto lost = std::ranges::lower_bound(unmatched.sends, messages.first_send[sender]);
  if (lost == unmatched.sends.end() || *lost >= messages.first_send[sender + 1])
    return fmt::format("{} awaits a message that rank {} does not send", receive.call, receive.peer);
  const CallSite send = SiteOf(model, plan, messages.first_send, OperationClass::kSend, *lost);
  return fmt::format("{} awaits a message of rank {}, and {} goes to rank {}", receive.call, receive.peer, send.call,
                     send.peer);
}

}  // namespace

void RequireMatched(const GrowthModel& model, const GridPlan& plan, const GrownMessages& messages) {
  constexpr double kMoreNeighbours = 2;  // chosen: but for diagonals, ranks inside have at most twice those in a corner
  const Unmatched unmatched = FindUnmatched(messages);
  if (unmatched.sends.empty() && unmatched.receives.empty()) return;
  const GridPlan largest = PlanRun(model, model.runs.size() - 1, plan.chosen);
  const double allowed = kMoreNeighbours * FindUnmatched(MatchGrown(largest)).PerRank(largest);
  if (unmatched.PerRank(plan) <= allowed) return;
  throw Error(ErrorKind::kNotEnoughData, "",
              fmt::format("the rules do not fit together on {}: {}", plan.grid.Text(),
                          Describe(model, plan, messages, unmatched)));
}

}  // namespace farscale
