#include "support/random_program.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "trace/trace_builder.h"

namespace farscale::test {
namespace {

// splitmix64: small, and the same everywhere.
class RandomSteps {
 public:
  explicit RandomSteps(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  int Below(int bound) { return static_cast<int>(Next() % static_cast<std::uint64_t>(bound)); }
  bool Chance(int percent) { return Below(100) < percent; }

 private:
  std::uint64_t state_;
};

// One call of one rank, with its measured times and what to record in it.
struct Call {
  std::uint32_t region;
  Tick enter, leave;
  std::function<void(RankBuilder&)> record;
};

// Builds the program in a global order in which every operation can complete, so that it cannot deadlock, and keeps
// the measured clock of every rank. Measured times include latency and waiting, as on a machine.
class Generator {
 public:
  Generator(std::uint64_t seed, const RandomProgramOptions& options) : random_(seed), options_(options) {
    const auto add = [&](const char* name) { return builder_.AddRegion(name); };
    send_ = add("MPI_Send");
    ssend_ = add("MPI_Ssend");
    bsend_ = add("MPI_Bsend");
    receive_ = add("MPI_Recv");
    isend_ = add("MPI_Isend");
    ibsend_ = add("MPI_Ibsend");
    irecv_ = add("MPI_Irecv");
    wait_ = add("MPI_Wait");
    waitall_ = add("MPI_Waitall");
    sendrecv_ = add("MPI_Sendrecv");
    allreduce_ = add("MPI_Allreduce");
    bcast_ = add("MPI_Bcast");
    reduce_ = add("MPI_Reduce");
    gather_ = add("MPI_Gather");
    scan_ = add("MPI_Scan");
    loop_ = add("loop");
    world_ = builder_.AddWorld(options.ranks);
    if (options.counters) {
      for (const char* name : {"PAPI_TOT_INS", "PAPI_TOT_CYC"}) builder_.AddCounter({name, "", "#"});
    }
    builder_.trace().path = "random";
    calls_.resize(static_cast<std::size_t>(options.ranks));
    clock_.resize(calls_.size());
    for (Tick& clock : clock_) clock = random_.Below(50);
    if (options.sub_communicators && options.ranks > 2) {
      Communicator even;
      even.name = "even";
      for (std::int32_t rank = 0; rank < options.ranks; rank += 2) even.members.push_back(rank);
      sub_ = builder_.AddCommunicator(even);
      sub_members_ = even.members;
    }
  }

  Trace Make() {
    for (int step = 0; step < options_.steps; ++step) {
      const int kind = random_.Below(100);
      if (options_.collectives && kind < 20) {
        CollectiveOn(world_, WorldRanks());
      } else if (options_.collectives && !sub_members_.empty() && kind < 30) {
        CollectiveOn(sub_, sub_members_);
      } else if (kind < 45) {
        Sendrecv();
      } else if (options_.non_blocking && kind < 75) {
        Exchange();
      } else {
        SendAndReceive();
      }
    }
    return Write();
  }

 private:
  std::vector<std::int32_t> WorldRanks() const {
    std::vector<std::int32_t> ranks;
    for (std::int32_t rank = 0; rank < options_.ranks; ++rank) ranks.push_back(rank);
    return ranks;
  }

  Tick& Clock(std::int32_t rank) { return clock_[static_cast<std::size_t>(rank)]; }
  Tick Compute(std::int32_t rank) { return Clock(rank) += random_.Below(200); }
  std::uint64_t Bytes() {
    return options_.large_messages && random_.Chance(25) ? 32768 + static_cast<std::uint64_t>(random_.Below(100000))
                                                         : static_cast<std::uint64_t>(random_.Below(32768));
  }

  void Add(std::int32_t rank, std::uint32_t region, Tick enter, Tick leave, std::function<void(RankBuilder&)> record) {
    calls_[static_cast<std::size_t>(rank)].push_back({region, enter, leave, std::move(record)});
    Clock(rank) = leave;
  }

  std::pair<std::int32_t, std::int32_t> TwoRanks() {
    const std::int32_t a = random_.Below(options_.ranks);
    const std::int32_t b = (a + 1 + random_.Below(options_.ranks - 1)) % options_.ranks;
    return {a, b};
  }

  // Large and synchronous sends are left only once the receiver has posted, buffered ones at once.
  void SendAndReceive() {
    const auto [from, to] = TwoRanks();
    const std::uint64_t bytes = Bytes();
    const int mode = random_.Below(100);
    const bool synchronous = mode < 10, buffered = mode >= 90;
    const auto tag = static_cast<std::uint32_t>(random_.Below(3));
    const Tick sent = Compute(from), posted = Compute(to);
    const Tick arrival = sent + 5 + static_cast<Tick>(bytes / 1000);
    const bool waits = synchronous || (bytes >= 32768 && !buffered);
    const Tick sender_free = waits ? std::max(sent, posted) + 5 + static_cast<Tick>(bytes / 1000) : sent + 2;
    const auto peer_to = static_cast<std::uint32_t>(to), peer_from = static_cast<std::uint32_t>(from);
    Add(from,
        synchronous ? ssend_
        : buffered  ? bsend_
                    : send_,
        sent, sender_free, [=, this](RankBuilder& r) { r.Send(peer_to, world_, tag, bytes); });
    Add(to, receive_, posted, std::max({posted, arrival, sender_free}) + 1,
        [=, this](RankBuilder& r) { r.Receive(peer_from, world_, tag, bytes); });
  }

  void Sendrecv() {
    const auto [a, b] = TwoRanks();
    const std::uint64_t bytes = Bytes();
    const Tick at_a = Compute(a), at_b = Compute(b);
    const Tick done = std::max(at_a, at_b) + 5 + static_cast<Tick>(bytes / 1000);
    const auto peer_a = static_cast<std::uint32_t>(a), peer_b = static_cast<std::uint32_t>(b);
    Add(a, sendrecv_, at_a, done, [=, this](RankBuilder& r) {
      r.Send(peer_b, world_, 7, bytes);
      r.Receive(peer_b, world_, 7, bytes);
    });
    Add(b, sendrecv_, at_b, done, [=, this](RankBuilder& r) {
      r.Send(peer_a, world_, 7, bytes);
      r.Receive(peer_a, world_, 7, bytes);
    });
  }

  // Both post receives and sends, compute, and wait for everything.
  void Exchange() {
    const auto [a, b] = TwoRanks();
    const std::uint64_t bytes = Bytes();
    const std::uint64_t request = request_ += 2;
    std::vector<Tick> posted;
    for (const auto& [self, other] : {std::pair(a, b), std::pair(b, a)}) {
      const auto peer = static_cast<std::uint32_t>(other);
      const Tick first = Compute(self);
      Add(self, irecv_, first, first + 1, [=](RankBuilder& r) { r.ReceivePost(request); });
      const Tick second = Compute(self);
      Add(self, bytes % 10 == 0 ? ibsend_ : isend_, second, second + 2,
          [=, this](RankBuilder& r) { r.SendPost(peer, world_, 9, bytes, request + 1); });
      posted.push_back(second);
    }
    const Tick arrival = std::max(posted[0], posted[1]) + 5 + static_cast<Tick>(bytes / 1000);
    for (const auto& [self, other] : {std::pair(a, b), std::pair(b, a)}) {
      const auto peer = static_cast<std::uint32_t>(other);
      const Tick enter = Compute(self);
      const Tick leave = std::max(enter, arrival) + 1;
      if (random_.Chance(50)) {
        Add(self, waitall_, enter, leave, [=, this](RankBuilder& r) {
          r.SendComplete(request + 1);
          r.ReceiveComplete(peer, world_, 9, bytes, request);
        });
      } else {
        Add(self, wait_, enter, leave,
            [=, this](RankBuilder& r) { r.ReceiveComplete(peer, world_, 9, bytes, request); });
        Add(self, wait_, leave, leave + 1, [=](RankBuilder& r) { r.SendComplete(request + 1); });
      }
    }
  }

  void CollectiveOn(std::uint32_t communicator, const std::vector<std::int32_t>& members) {
    struct Kind {
      std::uint32_t region;
      CollectiveKind kind;
      bool rooted;
    };
    const std::vector<Kind> kinds = {{allreduce_, CollectiveKind::kAllreduce, false},
                                     {bcast_, CollectiveKind::kBroadcast, true},
                                     {reduce_, CollectiveKind::kReduce, true},
                                     {gather_, CollectiveKind::kGather, true},
                                     {scan_, CollectiveKind::kScan, false}};
    const Kind kind = kinds[static_cast<std::size_t>(random_.Below(static_cast<int>(kinds.size())))];
    std::optional<std::uint32_t> root;
    if (kind.rooted) root = static_cast<std::uint32_t>(random_.Below(static_cast<int>(members.size())));
    Tick latest = 0;
    for (const std::int32_t rank : members) latest = std::max(latest, Compute(rank));
    for (const std::int32_t rank : members) {
      Add(rank, kind.region, Clock(rank), latest + 5 + random_.Below(4),
          [=](RankBuilder& r) { r.Collective(kind.kind, communicator, root, 8, 8); });
    }
  }

  Trace Write() {
    for (std::size_t rank = 0; rank < calls_.size(); ++rank) {
      RankBuilder timeline(builder_.definitions(), static_cast<std::int32_t>(rank));
      std::size_t count = 0;
      for (const Call& call : calls_[rank]) {
        SetCounters(timeline, call.enter, count);
        if (options_.regions && count % 10 == 3) timeline.Enter(call.enter, loop_);
        timeline.Enter(call.enter, call.region);
        call.record(timeline);
        SetCounters(timeline, call.leave, count);
        timeline.Leave(call.leave, call.region);
        if (options_.regions && count % 10 == 7) timeline.Leave(call.leave, loop_);
        ++count;
      }
      builder_.SetTimeline(timeline);
    }
    return std::move(builder_).Finish();
  }

  // Not in proportion to time.
  void SetCounters(RankBuilder& timeline, Tick tick, std::size_t count) const {
    if (!options_.counters) return;
    timeline.SetCounter(tick, 0, 1000 + 3 * tick + static_cast<std::int64_t>(17 * count));
    timeline.SetCounter(tick, 1, 2 * tick);
  }

  RandomSteps random_;
  const RandomProgramOptions options_;
  TraceBuilder builder_;
  std::uint32_t send_, ssend_, bsend_, ibsend_, receive_, isend_, irecv_, wait_, waitall_, sendrecv_, allreduce_,
      bcast_, reduce_, gather_, scan_, loop_, world_;
  std::uint32_t sub_ = 0;
  std::vector<std::int32_t> sub_members_;
  std::vector<std::vector<Call>> calls_;
  std::vector<Tick> clock_;
  std::uint64_t request_ = 0;
};

}  // namespace

RandomProgramOptions VariedOptions(std::uint64_t seed) {
  RandomProgramOptions options;
  options.ranks = 2 + static_cast<int>(seed % 9);
  options.steps = 20 + static_cast<int>(seed % 7) * 30;
  options.large_messages = seed % 3 != 0;
  options.collectives = seed % 5 != 0;
  return options;
}

Trace MakeRandomProgram(std::uint64_t seed, const RandomProgramOptions& options) {
  return Generator(seed, options).Make();
}

}  // namespace farscale::test
