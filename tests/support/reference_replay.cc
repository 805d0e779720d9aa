#include "support/reference_replay.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>

namespace farscale::test {
namespace {

// A message by communicator, source, destination, tag and its number among those.
using MessageKey = std::tuple<std::uint32_t, std::int32_t, std::int32_t, std::uint32_t, int>;
// A collective by communicator and its number on it.
using CollectiveKey = std::pair<std::uint32_t, int>;

struct Step {
  RankTimeline::Record record;
  MessageKey message;
  CollectiveKey collective;
};

struct Reference {
  const Trace& trace;
  RuleSet set;
  std::vector<std::vector<std::vector<Step>>> calls;  // by rank and call
  std::map<MessageKey, Tick> sent, received;
  std::map<CollectiveKey, std::map<std::int32_t, Tick>> arrived;
  std::map<MessageKey, bool> rendezvous;

  bool IsRendezvous(MpiCall call, std::uint64_t bytes) const {
    if (call == MpiCall::kBufferedSend || call == MpiCall::kImmediateBufferedSend) return false;
    if (set == RuleSet::kBsc) return bytes >= 32768;
    return bytes >= 32768 || call == MpiCall::kSynchronousSend || call == MpiCall::kImmediateSynchronousSend;
  }

  // Every completion says its target; every post gets the number of its completion.
  void Number() {
    calls.resize(trace.size());
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      const RankTimeline& t = trace.timelines[rank];
      const auto self = static_cast<std::int32_t>(rank);
      std::vector<Endpoint> receive_targets(t.receives());
      std::vector<std::uint32_t> collective_targets(t.collectives());
      std::size_t receives = 0, collectives = 0;
      for (std::size_t i = 0; i < t.records(); ++i) {
        const RankTimeline::Record r = t.record(i);
        if (r.kind == RecordKind::kReceive || r.kind == RecordKind::kReceivePost) ++receives;
        if (r.kind == RecordKind::kCollective || r.kind == RecordKind::kCollectivePost) ++collectives;
        if (r.kind == RecordKind::kReceive || r.kind == RecordKind::kReceiveComplete) {
          receive_targets[receives - 1 - r.back] = t.endpoints()[r.target];
        }
        if (r.kind == RecordKind::kCollective || r.kind == RecordKind::kCollectiveComplete) {
          collective_targets[collectives - 1 - r.back] = r.target;
        }
      }
      std::vector<MessageKey> send_keys, receive_keys;
      std::map<Endpoint, int> sends_to, receives_from;
      std::vector<CollectiveKey> collective_keys;
      std::map<std::uint32_t, int> collectives_on;
      for (const Endpoint& from : receive_targets) {
        receive_keys.emplace_back(from.communicator, from.peer, self, from.tag, receives_from[from]++);
      }
      for (const std::uint32_t target : collective_targets) {
        const std::uint32_t communicator = t.collective_types()[target].communicator;
        collective_keys.emplace_back(communicator, collectives_on[communicator]++);
      }
      receives = collectives = 0;
      for (std::size_t call = 0; call < t.calls(); ++call) {
        calls[rank].emplace_back();
        for (std::size_t i = t.first_record(call); i < t.first_record(call + 1); ++i) {
          Step step{t.record(i), {}, {}};
          const RecordKind kind = step.record.kind;
          if (kind == RecordKind::kSend || kind == RecordKind::kSendPost) {
            const Endpoint& to = t.endpoints()[step.record.target];
            send_keys.emplace_back(to.communicator, self, to.peer, to.tag, sends_to[to]++);
            step.message = send_keys.back();
          }
          if (kind == RecordKind::kSendComplete) step.message = send_keys[send_keys.size() - 1 - step.record.back];
          if (kind == RecordKind::kReceive || kind == RecordKind::kReceivePost) ++receives;
          if (kind == RecordKind::kReceive || kind == RecordKind::kReceivePost ||
              kind == RecordKind::kReceiveComplete) {
            step.message = receive_keys[receives - 1 - step.record.back];
          }
          if (kind == RecordKind::kCollective || kind == RecordKind::kCollectivePost) ++collectives;
          if (kind >= RecordKind::kCollective) step.collective = collective_keys[collectives - 1 - step.record.back];
          calls[rank].back().push_back(step);
        }
      }
    }
  }

  // The time at which a step lets its rank go, or nothing while that is unknown.
  std::optional<Tick> Release(std::int32_t rank, const Step& step, MpiCall call, Tick now) {
    const auto known = [](const auto& times, const auto& key) {
      const auto found = times.find(key);
      return found == times.end() ? std::optional<Tick>() : std::optional<Tick>(found->second);
    };
    switch (step.record.kind) {
      case RecordKind::kReceive:
      case RecordKind::kReceiveComplete: return known(sent, step.message);
      case RecordKind::kSend:
        if (!IsRendezvous(call, step.record.bytes)) return now;
        return known(received, step.message);
      case RecordKind::kSendComplete:
        if (set == RuleSet::kBsc || !rendezvous[step.message]) return now;
        return known(received, step.message);
      case RecordKind::kCollective:
      case RecordKind::kCollectiveComplete: return LeaveCollective(rank, step, now);
      default: return now;
    }
  }

  std::optional<Tick> LeaveCollective(std::int32_t rank, const Step& step, Tick now) {
    const CollectiveType& type = trace.timelines[static_cast<std::size_t>(rank)].collective_types()[step.record.target];
    const std::vector<std::int32_t>& members = trace.communicators[type.communicator].members;
    std::vector<std::int32_t> needed = members;
    const bool is_root = type.root == rank;
    switch (type.kind) {
      case CollectiveKind::kReduce:
        if (!is_root) needed = {};
        break;
      case CollectiveKind::kGather:
        if (set == RuleSet::kCausal && !is_root) needed = {};
        break;
      case CollectiveKind::kBroadcast:
      case CollectiveKind::kScatter:
        if (set == RuleSet::kCausal) needed = {type.root};
        break;
      case CollectiveKind::kScan:
      case CollectiveKind::kExscan:
        needed.erase(std::find(needed.begin(), needed.end(), rank) + 1, needed.end());
        break;
      default: break;
    }
    Tick latest = now;
    for (const std::int32_t member : needed) {
      const auto found = arrived[step.collective].find(member);
      if (found == arrived[step.collective].end()) return std::nullopt;
      latest = std::max(latest, found->second);
    }
    return latest;
  }
};

}  // namespace

std::vector<Tick> ReferenceReplay(const Trace& trace, RuleSet set) {
  Reference reference{trace, set, {}, {}, {}, {}, {}};
  reference.Number();
  struct State {
    std::size_t call = 0, step = 0;
    bool entered = false;
    Tick clock = 0, done = 0, measured = 0;
  };
  std::vector<State> states(trace.size());
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    states[rank].measured = trace.timelines[rank].begin();
    states[rank].clock = trace.timelines[rank].begin() - trace.begin();
  }
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      State& s = states[rank];
      const RankTimeline& t = trace.timelines[rank];
      const auto self = static_cast<std::int32_t>(rank);
      while (s.call < t.calls()) {
        const auto& steps = reference.calls[rank][s.call];
        const MpiCall kind = trace.regions[t.region(s.call)].call;
        if (!s.entered) {
          s.clock += t.enter(s.call) - s.measured;
          s.done = s.clock;
          for (const Step& step : steps) {
            const RecordKind record = step.record.kind;
            if (record == RecordKind::kSend || record == RecordKind::kSendPost) {
              reference.sent[step.message] = s.clock;
              reference.rendezvous[step.message] = reference.IsRendezvous(kind, step.record.bytes);
            }
            if (record == RecordKind::kReceive || record == RecordKind::kReceivePost) {
              reference.received[step.message] = s.clock;
            }
            if (record == RecordKind::kCollective || record == RecordKind::kCollectivePost) {
              reference.arrived[step.collective][self] = s.clock;
            }
          }
          s.entered = progress = true;
        }
        bool blocked = false;
        for (; s.step < steps.size(); ++s.step) {
          const auto time = reference.Release(self, steps[s.step], kind, s.clock);
          if (!time) {
            blocked = true;
            break;
          }
          s.done = std::max(s.done, *time);
          progress = true;
        }
        if (blocked) break;
        s.clock = s.done;
        s.measured = t.leave(s.call);
        ++s.call;
        s.step = 0;
        s.entered = false;
      }
    }
  }
  std::vector<Tick> ends;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    if (states[rank].call < trace.timelines[rank].calls()) return {};
    ends.push_back(states[rank].clock + trace.timelines[rank].end() - states[rank].measured);
  }
  return ends;
}

}  // namespace farscale::test
