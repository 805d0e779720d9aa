// Programs whose ranks do not go in step: what each does is a list, and lists are run until one has to wait.
#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "support/faulty_ranks.h"

namespace farscale::test {
namespace {

constexpr std::uint64_t kPatternBytes = 8'000;

enum class DoneIn { kCompute, kAlone, kBeginStep, kEndStep, kSend, kReceive, kShift, kExchange, kCollective };

struct PatternStep {
  DoneIn what = DoneIn::kCompute;
  std::size_t iteration = 0;
  std::uint32_t region = 0;
  double usual = 0;                             // of computation
  std::vector<std::size_t> to = {}, from = {};  // of messages
  CollectiveKind kind = CollectiveKind::kAllreduce;
  std::optional<std::uint32_t> root = {};
};

using Steps = std::vector<PatternStep>;

// Runs what ranks do.
class PatternRun {
 public:
  PatternRun(FaultyRanks& ranks, const std::vector<Steps>& steps)
      : ranks_(ranks), steps_(steps), next_(ranks.size()), posted_(ranks.size()), collectives_(ranks.size()) {}

  void Run() {
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (std::size_t rank = 0; rank < steps_.size(); ++rank) {
        while (next_[rank] < steps_[rank].size() && Do(rank, steps_[rank][next_[rank]])) {
          ++next_[rank];
          posted_[rank] = false;
          goes_on = true;
        }
      }
    }
  }

 private:
  // Whether the rank goes on.
  bool Do(std::size_t rank, const PatternStep& step) {
    switch (step.what) {
      case DoneIn::kCompute: ranks_.Compute(rank, step.iteration, step.region, step.usual); return true;
      case DoneIn::kAlone: ranks_.ComputeAlone(rank, step.iteration); return true;
      case DoneIn::kBeginStep: ranks_.Enter(rank, ranks_.step); return true;
      case DoneIn::kEndStep: ranks_.Leave(rank, ranks_.step); return true;
      case DoneIn::kSend: Send(rank, step.to.front()); return true;
      case DoneIn::kReceive: return Receive(rank, step.from.front());
      case DoneIn::kShift: return Shift(rank, step.to.front(), step.from.front());
      case DoneIn::kExchange: return Exchange(rank, step);
      case DoneIn::kCollective: return Collective(rank, step);
    }
    return false;
  }

  std::deque<Tick>& Between(std::size_t from, std::size_t to) { return sent_[{from, to}]; }

  bool HasArrived(std::size_t from, std::size_t to) { return !Between(from, to).empty(); }

  Tick Arrival(std::size_t from, std::size_t to) {
    std::deque<Tick>& sent = Between(from, to);
    const Tick tick = sent.front() + kFaultyLatency;
    sent.pop_front();
    return tick;
  }

  void Send(std::size_t rank, std::size_t to) {
    ranks_.Enter(rank, ranks_.send);
    ranks_.builder(rank).Send(static_cast<std::uint32_t>(to), ranks_.world(), 0, kPatternBytes);
    Between(rank, to).push_back(ranks_.now(rank));
    ranks_.LeaveAt(rank, ranks_.send, ranks_.now(rank) + kPost);
  }

  void Receive(std::size_t rank, std::size_t from, std::uint32_t region) {
    ranks_.builder(rank).Receive(static_cast<std::uint32_t>(from), ranks_.world(), 0, kPatternBytes);
    ranks_.LeaveAt(rank, region, std::max(ranks_.now(rank), Arrival(from, rank)) + kPost);
  }

  bool Receive(std::size_t rank, std::size_t from) {
    if (!HasArrived(from, rank)) return false;
    ranks_.Enter(rank, ranks_.receive);
    Receive(rank, from, ranks_.receive);
    return true;
  }

  bool Shift(std::size_t rank, std::size_t to, std::size_t from) {
    if (!posted_[rank]) {
      ranks_.Enter(rank, ranks_.sendrecv);
      ranks_.builder(rank).Send(static_cast<std::uint32_t>(to), ranks_.world(), 0, kPatternBytes);
      Between(rank, to).push_back(ranks_.now(rank));
      posted_[rank] = true;
    }
    if (!HasArrived(from, rank)) return false;
    Receive(rank, from, ranks_.sendrecv);
    return true;
  }

  bool Exchange(std::size_t rank, const PatternStep& step) {
    RankBuilder& builder = ranks_.builder(rank);
    const std::size_t count = step.from.size();
    if (!posted_[rank]) {
      for (std::size_t i = 0; i < count; ++i) {
        ranks_.Enter(rank, ranks_.irecv);
        builder.ReceivePost(i);
        ranks_.LeaveAt(rank, ranks_.irecv, ranks_.now(rank) + kPost);
      }
      for (std::size_t i = 0; i < step.to.size(); ++i) {
        ranks_.Enter(rank, ranks_.isend);
        builder.SendPost(static_cast<std::uint32_t>(step.to[i]), ranks_.world(), 0, kPatternBytes, count + i);
        Between(rank, step.to[i]).push_back(ranks_.now(rank));
        ranks_.LeaveAt(rank, ranks_.isend, ranks_.now(rank) + kPost);
      }
      ranks_.Enter(rank, ranks_.waitall);
      posted_[rank] = true;
    }
    if (!std::ranges::all_of(step.from, [&](std::size_t from) { return HasArrived(from, rank); })) return false;
    Tick end = ranks_.now(rank);
    for (std::size_t i = 0; i < count; ++i) {
      builder.ReceiveComplete(static_cast<std::uint32_t>(step.from[i]), ranks_.world(), 0, kPatternBytes, i);
      end = std::max(end, Arrival(step.from[i], rank));
    }
    for (std::size_t i = 0; i < step.to.size(); ++i) builder.SendComplete(count + i);
    ranks_.LeaveAt(rank, ranks_.waitall, end + kPost);
    return true;
  }

  struct Operation {
    std::size_t arrived = 0;
    Tick latest = 0, of_root = -1;
  };

  // The n-th collective of every rank is one operation.
  bool Collective(std::size_t rank, const PatternStep& step) {
    const std::size_t number = collectives_[rank];
    if (number == operations_.size()) operations_.emplace_back();
    Operation& operation = operations_[number];
    const bool is_root = step.root && *step.root == rank;
    if (!posted_[rank]) {
      ranks_.Enter(rank, step.region);
      ranks_.builder(rank).Collective(step.kind, ranks_.world(), step.root, 8, 8);
      ++operation.arrived;
      operation.latest = std::max(operation.latest, ranks_.now(rank));
      if (is_root) operation.of_root = ranks_.now(rank);
      posted_[rank] = true;
    }
    const bool from_root = step.kind == CollectiveKind::kBroadcast;
    const bool to_root = step.kind == CollectiveKind::kGather;
    Tick since = ranks_.now(rank);
    if (from_root) {
      if (operation.of_root < 0) return false;
      since = std::max(since, operation.of_root);
    } else if (!to_root || is_root) {
      if (operation.arrived < ranks_.size()) return false;
      since = operation.latest;
    }
    ++collectives_[rank];
    ranks_.LeaveAt(rank, step.region, since + kCollective);
    return true;
  }

  FaultyRanks& ranks_;
  const std::vector<Steps>& steps_;
  std::vector<std::size_t> next_;
  std::vector<char> posted_;
  std::vector<std::size_t> collectives_;  // that a rank has left
  std::map<std::pair<std::size_t, std::size_t>, std::deque<Tick>> sent_;
  std::vector<Operation> operations_;
};

// Writes what ranks do.
class PatternWriter {
 public:
  explicit PatternWriter(FaultyRanks& ranks) : ranks_(ranks), size_(ranks.size()), steps_(size_) {
    columns_ = static_cast<std::size_t>(std::sqrt(static_cast<double>(size_)));
    while (size_ % columns_ != 0) --columns_;
  }

  std::vector<Steps> Write() {
    for (iteration_ = 0; iteration_ < ranks_.run().iterations; ++iteration_) {
      for (rank_ = 0; rank_ < size_; ++rank_) {
        if (ranks_.run().has_regions) Add({.what = DoneIn::kBeginStep});
        WriteIteration();
        if (ranks_.run().has_regions) Add({.what = DoneIn::kEndStep});
      }
    }
    return std::move(steps_);
  }

 private:
  void WriteIteration() {
    switch (ranks_.run().pattern) {
      case FaultyPattern::kHaloAndReduce: break;  // not here
      case FaultyPattern::kRing: return Ring();
      case FaultyPattern::kAllToAll: return AllToAll();
      case FaultyPattern::kMasterWorker: return MasterWorker();
      case FaultyPattern::kHalo2d: return Halo();
      case FaultyPattern::kWavefront: return Wavefront();
      case FaultyPattern::kTree: return Tree();
      case FaultyPattern::kPipeline: return Pipeline();
      case FaultyPattern::kButterfly: return Butterfly();
      case FaultyPattern::kOddEven: return OddEven();
      case FaultyPattern::kGather: return Gather();
    }
  }

  void Add(PatternStep step) {
    step.iteration = iteration_;
    steps_[rank_].push_back(std::move(step));
  }

  void Compute(std::uint32_t region, double usual) { Add({.region = region, .usual = usual}); }
  void Assemble() { Compute(ranks_.assemble, kAssemble); }
  void Solve() { Compute(ranks_.solve, kSolve); }
  void Update() { Compute(ranks_.update, kUpdate); }
  void Send(std::size_t to) { Add({.what = DoneIn::kSend, .to = {to}}); }
  void Receive(std::size_t from) { Add({.what = DoneIn::kReceive, .from = {from}}); }
  void Shift(std::size_t to, std::size_t from) { Add({.what = DoneIn::kShift, .to = {to}, .from = {from}}); }
  void Collective(CollectiveKind kind, std::uint32_t region, std::optional<std::uint32_t> root = {}) {
    Add({.what = DoneIn::kCollective, .region = region, .kind = kind, .root = root});
  }

  void Ring() {
    const std::size_t next = (rank_ + 1) % size_, before = (rank_ + size_ - 1) % size_;
    Assemble();
    Shift(next, before);
    Solve();
    Shift(next, before);
    Update();
  }

  void AllToAll() {
    Assemble();
    Collective(CollectiveKind::kAlltoall, ranks_.alltoall);
    Solve();
    Collective(CollectiveKind::kAlltoall, ranks_.alltoall);
    Update();
  }

  void MasterWorker() {
    if (rank_ > 0) {
      Receive(0);
      Solve();
      return Send(0);
    }
    Add({.what = DoneIn::kAlone});
    for (std::size_t worker = 1; worker < size_; ++worker) Send(worker);
    for (std::size_t worker = 1; worker < size_; ++worker) Receive(worker);
  }

  std::vector<std::size_t> Neighbours() const {
    const std::size_t row = rank_ / columns_, column = rank_ % columns_;
    std::vector<std::size_t> found;
    if (row > 0) found.push_back(rank_ - columns_);
    if (row + 1 < size_ / columns_) found.push_back(rank_ + columns_);
    if (column > 0) found.push_back(rank_ - 1);
    if (column + 1 < columns_) found.push_back(rank_ + 1);
    return found;
  }

  void Halo() {
    Assemble();
    const std::vector<std::size_t> neighbours = Neighbours();
    Add({.what = DoneIn::kExchange, .to = neighbours, .from = neighbours});
    Solve();
    Update();
    if (iteration_ % 10 == 9) Collective(CollectiveKind::kAllreduce, ranks_.allreduce);
  }

  // From the first corner in even iterations, from the last one in odd ones.
  void Wavefront() {
    constexpr int kBlocks = 4;
    const bool is_forward = iteration_ % 2 == 0;
    Assemble();
    for (int block = 0; block < kBlocks; ++block) {
      for (const std::size_t other : Neighbours()) {
        if ((other < rank_) == is_forward) Receive(other);
      }
      Compute(ranks_.solve, kSolve / kBlocks);
      for (const std::size_t other : Neighbours()) {
        if ((other < rank_) != is_forward) Send(other);
      }
    }
    Update();
  }

  void Tree() {
    Assemble();
    Solve();
    std::size_t top = 1;
    for (; top < size_ && (rank_ & top) == 0; top *= 2) {
      if (rank_ + top < size_) Receive(rank_ + top);
    }
    if (rank_ > 0) {
      Send(rank_ - top);
      Receive(rank_ - top);
    }
    while ((top /= 2) > 0) {
      if (rank_ + top < size_) Send(rank_ + top);
    }
    Update();
  }

  void Pipeline() {
    Assemble();
    if (rank_ > 0) Receive(rank_ - 1);
    Solve();
    if (rank_ + 1 < size_) Send(rank_ + 1);
    Update();
  }

  void Butterfly() {
    Assemble();
    Solve();
    for (std::size_t distance = 1; distance < size_; distance *= 2) Shift(rank_ ^ distance, rank_ ^ distance);
    Update();
  }

  void OddEven() {
    const auto exchange = [&](std::size_t other) {
      if (other < size_) Shift(other, other);
    };
    Assemble();
    exchange(rank_ ^ 1);
    Solve();
    exchange(((rank_ + 1) ^ 1) - 1);  // none of rank 0
    Update();
  }

  void Gather() {
    Assemble();
    Solve();
    Collective(CollectiveKind::kGather, ranks_.gather, 0);
    Add({.what = DoneIn::kAlone});
    Collective(CollectiveKind::kBroadcast, ranks_.broadcast, 0);
    Update();
  }

  FaultyRanks& ranks_;
  std::size_t size_, columns_ = 1;
  std::vector<Steps> steps_;
  std::size_t iteration_ = 0, rank_ = 0;
};

}  // namespace

void RunPattern(FaultyRanks& ranks) {
  const std::vector<Steps> steps = PatternWriter(ranks).Write();
  PatternRun(ranks, steps).Run();
}

}  // namespace farscale::test
