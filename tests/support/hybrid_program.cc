#include "support/hybrid_program.h"

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "trace/trace_builder.h"

namespace farscale::test {
namespace {

class HybridProgram {
 public:
  explicit HybridProgram(std::uint64_t seed) : random_(seed) {}

  Trace Make() {
    const auto ranks = static_cast<std::size_t>(Draw(1, 4)), threads = static_cast<std::size_t>(Draw(2, 5));
    Define(ranks, threads);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      Main(rank).Enter(clock_[rank], main_);
      Team(rank);
    }
    const Tick steps = Draw(2, 10);
    for (Tick step = 0; step < steps; ++step) Step();
    for (std::size_t rank = 0; rank < ranks; ++rank) Main(rank).Leave(clock_[rank] += Draw(0, 9), main_);
    return Finish();
  }

 private:
  Tick Draw(Tick low, Tick high) {
    return low + static_cast<Tick>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  RankBuilder& Main(std::size_t rank) { return *threads_[rank].front(); }

  void Define(std::size_t ranks, std::size_t threads) {
    main_ = builder_.AddRegion("main");
    step_ = builder_.AddRegion("step");
    work_ = builder_.AddRegion("work");
    collective_ = builder_.AddRegion("MPI_Allreduce");
    send_ = builder_.AddRegion("MPI_Send");
    receive_ = builder_.AddRegion("MPI_Recv");
    const auto add = [&](const char* name, TeamRole role) {
      return builder_.AddRegion({name, false, MpiCall::kNone, false, false, role});
    };
    parallel_ = add("!$omp parallel", TeamRole::kParallel);
    barrier_ = add("!$omp barrier", TeamRole::kBarrier);
    end_ = add("!$omp implicit barrier", TeamRole::kImplicitBarrier);
    world_ = builder_.AddWorld(static_cast<std::int32_t>(ranks));
    clock_.resize(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      clock_[rank] = Draw(0, 5);
      threads_.emplace_back();
      std::vector<Location>& team = builder_.trace().team_threads.teams.emplace_back();
      for (std::size_t thread = 0; thread < threads; ++thread) {
        team.push_back({static_cast<std::int32_t>(rank), static_cast<std::int32_t>(thread)});
        threads_[rank].push_back(
            std::make_unique<RankBuilder>(builder_.definitions(), static_cast<std::int32_t>(rank)));
      }
    }
  }

  void Step() {
    for (std::size_t rank = 0; rank < clock_.size(); ++rank) {
      Main(rank).Enter(clock_[rank] += Draw(0, 20), step_);
      clock_[rank] += Draw(0, 30);
      for (Tick teams = Draw(0, 2); teams > 0; --teams) Team(rank);
      clock_[rank] += Draw(0, 10);
    }
    if (Draw(0, 1) == 0) {
      Collective();
    } else {
      Messages();
    }
    for (std::size_t rank = 0; rank < clock_.size(); ++rank) {
      if (Draw(0, 1) == 0) Team(rank);
      Main(rank).Leave(clock_[rank] += Draw(0, 10), step_);
    }
  }

  void Collective() {
    const Tick last = *std::max_element(clock_.begin(), clock_.end());
    for (std::size_t rank = 0; rank < clock_.size(); ++rank) {
      Main(rank).Enter(clock_[rank], collective_);
      Main(rank).Collective(CollectiveKind::kAllreduce, world_, std::nullopt, 8, 8);
      Main(rank).Leave(clock_[rank] = last + Draw(1, 4), collective_);
    }
  }

  // Every rank but the last sends to the next.
  void Messages() {
    for (std::size_t rank = 0; rank + 1 < clock_.size(); ++rank) {
      const Tick sent = clock_[rank];
      Main(rank).Enter(sent, send_);
      Main(rank).Send(static_cast<std::uint32_t>(rank + 1), world_, 0, 8);
      Main(rank).Leave(clock_[rank] += Draw(1, 3), send_);
      Main(rank + 1).Enter(clock_[rank + 1], receive_);
      clock_[rank + 1] = std::max(clock_[rank + 1], sent) + Draw(1, 5);
      Main(rank + 1).Receive(static_cast<std::uint32_t>(rank), world_, 0, 8);
      Main(rank + 1).Leave(clock_[rank + 1], receive_);
    }
  }

  void Team(std::size_t rank) {
    const auto team = static_cast<std::uint32_t>(rank);
    std::vector<std::unique_ptr<RankBuilder>>& threads = threads_[rank];
    Main(rank).Team(TeamEvent::Kind::kFork, clock_[rank]);
    std::vector<Tick> at(threads.size());
    for (std::size_t i = 0; i < threads.size(); ++i) {
      at[i] = clock_[rank] + Draw(1, 4);
      threads[i]->Team(TeamEvent::Kind::kBegin, at[i], team);
      threads[i]->Enter(at[i], parallel_);
    }
    for (Tick barriers = Draw(0, 3); barriers > 0; --barriers) Barrier(rank, barrier_, at);
    Barrier(rank, end_, at);
    for (std::size_t i = 0; i < threads.size(); ++i) {
      threads[i]->Leave(at[i], parallel_);
      threads[i]->Team(TeamEvent::Kind::kEnd, at[i] += Draw(0, 1), team);
    }
    Main(rank).Team(TeamEvent::Kind::kJoin, clock_[rank] = *std::max_element(at.begin(), at.end()));
  }

  // Work of every thread, and the barrier behind it.
  void Barrier(std::size_t rank, std::uint32_t region, std::vector<Tick>& at) {
    for (std::size_t i = 0; i < at.size(); ++i) {
      RankBuilder& thread = *threads_[rank][i];
      thread.Enter(at[i], work_);
      thread.Leave(at[i] += Draw(0, 30), work_);
      thread.Enter(at[i], region);
    }
    const Tick last = *std::max_element(at.begin(), at.end());
    for (std::size_t i = 0; i < at.size(); ++i) threads_[rank][i]->Leave(at[i] = last + Draw(1, 3), region);
  }

  Trace Finish() {
    TeamThreads& kept = builder_.trace().team_threads;
    for (std::size_t rank = 0; rank < threads_.size(); ++rank) {
      builder_.SetTimeline(Main(rank));
      kept.of_ranks.push_back(Main(rank).TakeTeamEvents());
      for (std::size_t i = 1; i < threads_[rank].size(); ++i) {
        RankTimeline timeline = threads_[rank][i]->Finish();
        kept.workers.push_back({{static_cast<std::int32_t>(rank), static_cast<std::int32_t>(i)},
                                std::move(timeline),
                                threads_[rank][i]->TakeTeamEvents()});
      }
    }
    return std::move(builder_).Finish();
  }

  std::mt19937_64 random_;
  TraceBuilder builder_;
  std::vector<std::vector<std::unique_ptr<RankBuilder>>> threads_;  // of every rank
  std::vector<Tick> clock_;                                         // of the main threads
  std::uint32_t main_ = 0, step_ = 0, work_ = 0, collective_ = 0, send_ = 0, receive_ = 0, parallel_ = 0, barrier_ = 0,
                end_ = 0, world_ = 0;
};

}  // namespace

Trace MakeHybridProgram(std::uint64_t seed) { return HybridProgram(seed).Make(); }

}  // namespace farscale::test
