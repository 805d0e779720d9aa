#include "support/program.h"

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>

#include "base/text.h"
#include "trace/trace_builder.h"

namespace farscale::test {
namespace {

// One activity: "Sendrecv>1#a*40000<1#b 2-5".
struct Activity {
  std::string name;
  std::string send, receive, completes, collective;  // what follows > < ~ @
  Tick enter = 0, leave = 0;
};

const std::set<std::string>& MpiNames() {
  static const std::set<std::string> names = {"Send",
                                              "Ssend",
                                              "Bsend",
                                              "Isend",
                                              "Issend",
                                              "Recv",
                                              "Irecv",
                                              "Sendrecv",
                                              "Wait",
                                              "Waitall",
                                              "Waitany",
                                              "Waitsome",
                                              "Test",
                                              "Barrier",
                                              "Bcast",
                                              "Reduce",
                                              "Scan",
                                              "Exscan",
                                              "Allreduce",
                                              "Allgather",
                                              "Alltoall",
                                              "Gather",
                                              "Scatter",
                                              "Reduce_scatter",
                                              "Iallreduce",
                                              "Ibarrier",
                                              "Ibcast",
                                              "Init",
                                              "Finalize",
                                              "Start",
                                              "Probe",
                                              "Comm_rank",
                                              "Ibsend",
                                              "Put",
                                              "Win_fence",
                                              "Win_post",
                                              "Win_start",
                                              "Win_complete",
                                              "Win_wait",
                                              "Win_lock",
                                              "Win_unlock",
                                              "Win_lock_all",
                                              "Win_unlock_all",
                                              "Win_flush",
                                              "Neighbor_alltoall",
                                              "Ineighbor_alltoall"};
  return names;
}

CollectiveKind KindOf(std::string name) {
  if (name.size() > 1 && name[0] == 'I' && name != "Init") name[1] = static_cast<char>(std::toupper(name[1]));
  if (name.size() > 1 && name[0] == 'I' && std::isupper(static_cast<unsigned char>(name[1])) != 0) name.erase(0, 1);
  static const std::map<std::string, CollectiveKind> kinds = {
      {"Barrier", CollectiveKind::kBarrier},     {"Win_fence", CollectiveKind::kBarrier},
      {"Bcast", CollectiveKind::kBroadcast},     {"Reduce", CollectiveKind::kReduce},
      {"Scan", CollectiveKind::kScan},           {"Exscan", CollectiveKind::kExscan},
      {"Allreduce", CollectiveKind::kAllreduce}, {"Allgather", CollectiveKind::kAllgather},
      {"Alltoall", CollectiveKind::kAlltoall},   {"Gather", CollectiveKind::kGather},
      {"Scatter", CollectiveKind::kScatter},     {"Reduce_scatter", CollectiveKind::kReduceScatter}};
  return kinds.at(name);
}

Activity ParseActivity(const std::string& text) {
  static const std::regex form(R"(\s*(\w+?)((?:[>~<@][^\s<>~@]+)*)\s+(\d+)-(\d+)\s*)");
  std::smatch match;
  if (!std::regex_match(text, match, form)) throw std::invalid_argument("not an activity: " + text);
  Activity activity;
  activity.name = match[1];
  activity.enter = std::stoll(match[3]);
  activity.leave = std::stoll(match[4]);
  const std::string details = match[2];
  for (std::size_t i = 0; i < details.size();) {
    const std::size_t end = std::min(details.find_first_of("><~@", i + 1), details.size());
    const std::string value = details.substr(i + 1, end - i - 1);
    switch (details[i]) {
      case '>': activity.send = value; break;
      case '<': activity.receive = value; break;
      case '~': activity.completes = value; break;
      case '@': activity.collective = value; break;
      default: break;
    }
    i = end;
  }
  return activity;
}

// "1#a*40000": peer, tag, bytes.
struct Message {
  std::uint32_t peer = 0;
  std::string label;
  std::uint32_t tag = 0;
  std::uint64_t bytes = 0;
};

Message ParseMessage(const std::string& text) {
  Message message;
  const std::size_t hash = text.find('#'), star = text.find('*');
  message.peer = static_cast<std::uint32_t>(std::stoul(text.substr(0, hash)));
  message.label = text.substr(hash + 1, star == std::string::npos ? star : star - hash - 1);
  for (const char c : message.label) message.tag = 31 * message.tag + static_cast<unsigned char>(c);
  if (star != std::string::npos) message.bytes = std::stoull(text.substr(star + 1));
  return message;
}

class ProgramBuilder {
 public:
  std::uint32_t RegionOf(const std::string& name) {
    const bool is_mpi = MpiNames().count(name) > 0;
    const auto [entry, is_new] = regions_.try_emplace(name, 0);
    if (is_new) entry->second = builder_.AddRegion(is_mpi ? "MPI_" + name : name);
    return entry->second;
  }

  void AddCommunicator(const std::string& name, const std::string& ranks) {
    Communicator communicator;
    communicator.name = name;
    std::istringstream stream(ranks);
    for (std::int32_t rank = 0; stream >> rank;) communicator.members.push_back(rank);
    communicators_[name] = builder_.AddCommunicator(std::move(communicator));
  }

  Trace Build(const std::vector<std::vector<Activity>>& ranks) {
    world_ = builder_.AddWorld(static_cast<std::int32_t>(ranks.size()));
    builder_.trace().ticks_per_second = 1;
    builder_.trace().path = "program";
    for (const auto& activities : ranks) {
      for (const Activity& activity : activities) RegionOf(activity.name);
    }
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      RankBuilder timeline(builder_.definitions(), static_cast<std::int32_t>(rank));
      pending_.clear();
      for (const Activity& activity : ranks[rank]) Add(activity, timeline);
      builder_.SetTimeline(timeline);
    }
    return std::move(builder_).Finish();
  }

 private:
  struct Pending {
    std::uint64_t request = 0;
    char operation = 's';  // send, receive, collective
    Message message;
    Activity activity;
  };

  void Add(const Activity& activity, RankBuilder& rank) {
    const std::uint32_t region = RegionOf(activity.name);
    rank.Enter(activity.enter, region);
    const bool immediate = activity.name[0] == 'I' && activity.name != "Init";
    if (MpiNames().count(activity.name) == 0) {  // computation, and what other runtimes do
      rank.Leave(activity.leave, region);
      return;
    }
    if (activity.name.starts_with("Win_lock") || activity.name.starts_with("Win_unlock")) {
      Lock(activity, rank);
      rank.Leave(activity.leave, region);
      return;
    }
    if (!activity.send.empty()) Send(activity, immediate, rank);
    if (!activity.receive.empty()) Receive(activity, immediate, rank);
    if (!activity.collective.empty()) Collective(activity, immediate, rank);
    if (!activity.completes.empty()) {
      for (const std::string& label : Split(activity.completes, ',')) Complete(label, rank);
    }
    rank.Leave(activity.leave, region);
  }

  // "Win_lock>2", "Win_lock>2#shared", "Win_unlock>2": the window of rank 2; nothing is recorded of "Win_lock"
  void Lock(const Activity& activity, RankBuilder& rank) {
    if (activity.name == "Win_lock_all") return rank.Lock(world_, std::nullopt, false);
    if (activity.name == "Win_unlock_all") return rank.Unlock(world_, std::nullopt);
    if (activity.send.empty()) return;
    const Message lock = ParseMessage(activity.send);
    if (activity.name == "Win_lock") {
      rank.Lock(world_, lock.peer, lock.label != "shared");
    } else {
      rank.Unlock(world_, lock.peer);
    }
  }

  void Send(const Activity& activity, bool immediate, RankBuilder& rank) {
    const Message message = ParseMessage(activity.send);
    if (immediate) {
      rank.SendPost(message.peer, world_, message.tag, message.bytes, ++request_);
      pending_[message.label] = {request_, 's', message, activity};
    } else {
      rank.Send(message.peer, world_, message.tag, message.bytes);
    }
  }

  void Receive(const Activity& activity, bool immediate, RankBuilder& rank) {
    const Message message = ParseMessage(activity.receive);
    if (immediate) {
      rank.ReceivePost(++request_);
      pending_[message.label] = {request_, 'r', message, activity};
    } else {
      rank.Receive(message.peer, world_, message.tag, message.bytes);
    }
  }

  // "id", "id/root", "id:communicator", "id/root:communicator"
  struct CollectiveText {
    std::string id;
    std::optional<std::uint32_t> root;
    std::uint32_t communicator;
  };
  CollectiveText ParseCollective(const std::string& text) const {
    const std::size_t slash = text.find('/'), colon = text.find(':');
    CollectiveText result{text.substr(0, std::min(slash, colon)), std::nullopt, world_};
    if (slash != std::string::npos) {
      result.root = static_cast<std::uint32_t>(std::stoul(text.substr(slash + 1, colon - slash - 1)));
    }
    if (colon != std::string::npos) result.communicator = communicators_.at(text.substr(colon + 1));
    return result;
  }

  void Collective(const Activity& activity, bool immediate, RankBuilder& rank) {
    const CollectiveText text = ParseCollective(activity.collective);
    if (immediate) {
      rank.CollectivePost(++request_);
      pending_[text.id] = {request_, 'c', {}, activity};
    } else {
      rank.Collective(KindOf(activity.name), text.communicator, text.root, 8, 8);
    }
  }

  void Complete(const std::string& label, RankBuilder& rank) {
    const auto found = pending_.find(label);
    if (found == pending_.end()) throw std::invalid_argument("nothing pending is called " + label);
    const Pending& p = found->second;
    if (p.operation == 's') rank.SendComplete(p.request);
    if (p.operation == 'r') rank.ReceiveComplete(p.message.peer, world_, p.message.tag, p.message.bytes, p.request);
    if (p.operation == 'c') {
      const CollectiveText text = ParseCollective(p.activity.collective);
      rank.CollectiveComplete(KindOf(p.activity.name), text.communicator, text.root, 8, 8, p.request);
    }
    pending_.erase(found);
  }

  TraceBuilder builder_;
  std::map<std::string, std::uint32_t> regions_;
  std::map<std::string, std::uint32_t> communicators_;
  std::map<std::string, Pending> pending_;
  std::uint32_t world_ = 0;
  std::uint64_t request_ = 0;
};

// "all 6 12 18" or "r0 4 6; r1 1 6"
std::vector<std::vector<Tick>> ParseCuts(const std::string& text, std::size_t ranks) {
  std::vector<std::vector<Tick>> cuts(ranks);
  for (const std::string& part : Split(text, ';')) {
    std::istringstream stream(part);
    std::string who;
    stream >> who;
    std::vector<Tick> ends;
    for (Tick tick = 0; stream >> tick;) ends.push_back(tick);
    if (who == "all") {
      std::fill(cuts.begin(), cuts.end(), ends);
    } else {
      cuts.at(std::stoul(who.substr(1))) = ends;
    }
  }
  return cuts;
}

bool StartsWith(const std::string& line, const std::string& prefix) {
  return line.compare(0, prefix.size(), prefix) == 0;
}

}  // namespace

TextProgram ParseProgram(const std::string& text) {
  TextProgram program;
  ProgramBuilder builder;
  std::vector<std::vector<Activity>> ranks;
  std::string cuts;
  for (const std::string& raw : Split(text, '\n')) {
    const std::string line(Trim(raw));
    if (line.empty() || line[0] == '#') continue;
    if (StartsWith(line, "expect:")) {
      for (const std::string& part : Split(line.substr(7), ';')) {
        const std::string one(Trim(part));
        const std::size_t equals = one.find('=');
        if (equals != std::string::npos) program.expect[one.substr(0, equals)] = one.substr(equals + 1);
      }
    } else if (StartsWith(line, "cuts:")) {
      cuts = line.substr(5);
    } else if (StartsWith(line, "comm ")) {
      const std::size_t colon = line.find(':');
      builder.AddCommunicator(std::string(Trim(line.substr(5, colon - 5))), line.substr(colon + 1));
    } else if (line[0] == 'r' && line.find(':') != std::string::npos && std::isdigit(line[1]) != 0) {
      ranks.emplace_back();
      for (const std::string& part : Split(line.substr(line.find(':') + 1), '|')) {
        ranks.back().push_back(ParseActivity(part));
      }
    } else {
      program.name = line;
    }
  }
  program.trace = builder.Build(ranks);
  if (!cuts.empty()) program.cuts = ParseCuts(cuts, ranks.size());
  return program;
}

Trace ParseTrace(const std::string& text) { return ParseProgram(text).trace; }

std::vector<TextProgram> ParsePrograms(const std::string& text) {
  std::vector<TextProgram> programs;
  std::string block;
  for (const std::string& line : Split(text + "\n\n", '\n')) {
    if (!Trim(line).empty()) {
      if (line[0] != '#') block += line + "\n";
      continue;
    }
    if (!block.empty()) programs.push_back(ParseProgram(block));
    block.clear();
  }
  return programs;
}

}  // namespace farscale::test
