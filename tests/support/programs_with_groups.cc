#include "support/programs_with_groups.h"

#include <algorithm>
#include <functional>

#include "support/clocked_program.h"

namespace farscale::test {
namespace {

using Ranks = std::vector<int>;

Ranks Range(int begin, int end) {
  Ranks ranks;
  for (int rank = begin; rank < end; ++rank) ranks.push_back(rank);
  return ranks;
}

// Every rank of the list sends to the next and receives from the one before, around.
void ShiftAround(ClockedProgram& p, const Ranks& ranks) {
  std::vector<std::pair<int, int>> partners;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    partners.emplace_back(ranks[(i + 1) % ranks.size()], ranks[(i + ranks.size() - 1) % ranks.size()]);
  }
  p.Shift(ranks, partners);
}

// Neighbours in a box of ranks without periodic borders, `width` ranks wide.
std::vector<std::vector<int>> Grid(int ranks, int width) {
  std::vector<std::vector<int>> neighbours(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    const int x = rank % width;
    for (const int other : {rank - width, x > 0 ? rank - 1 : -1, x + 1 < width ? rank + 1 : -1, rank + width}) {
      if (other >= 0 && other < ranks) neighbours[static_cast<std::size_t>(rank)].push_back(other);
    }
  }
  return neighbours;
}

// The same with the ranks [begin, end) alone.
std::vector<std::vector<int>> PartOfGrid(int ranks, int begin, int end, int width) {
  std::vector<std::vector<int>> neighbours(static_cast<std::size_t>(ranks));
  const std::vector<std::vector<int>> part = Grid(end - begin, width);
  for (int rank = begin; rank < end; ++rank) {
    for (const int other : part[static_cast<std::size_t>(rank - begin)]) {
      neighbours[static_cast<std::size_t>(rank)].push_back(begin + other);
    }
  }
  return neighbours;
}

void Begin(ClockedProgram& p) {
  for (int rank = 0; rank < p.ranks(); ++rank) p.Call(rank, "MPI_Init", 100);
  p.Collective("MPI_Bcast", CollectiveKind::kBroadcast);
}

Trace Finished(ClockedProgram& p) {
  p.Collective("MPI_Barrier", CollectiveKind::kBarrier);
  for (int rank = 0; rank < p.ranks(); ++rank) p.Call(rank, "MPI_Finalize", 100);
  return p.Finish();
}

class Dynamics {
 public:
  explicit Dynamics(const DynamicsOptions& options) : options_(options), p_(options.ranks, options.seed, 0.05) {
    const std::vector<std::size_t> mesh = MeshRanks(options);
    for (int rank = 0; rank < options.ranks; ++rank) {
      const bool is_mesh = std::find(mesh.begin(), mesh.end(), static_cast<std::size_t>(rank)) != mesh.end();
      (is_mesh ? mesh_ : particles_).push_back(rank);
      load_.push_back(1 + options.imbalance * p_.Chance());
    }
  }

  Trace Make() {
    for (int rank = 0; rank < options_.ranks; ++rank) {
      Enter(rank, "main");
      p_.Call(rank, "MPI_Init", 100);
      p_.Compute(rank, 2000, Name("init"));
    }
    p_.Collective("MPI_Bcast", CollectiveKind::kBroadcast);
    for (const int rank : particles_) Enter(rank, "do_md");
    for (const int rank : mesh_) Enter(rank, "pmeonly");
    for (int step = 0; step < options_.steps; ++step) Step();
    for (const int rank : particles_) Leave(rank, "do_md");
    for (const int rank : mesh_) Leave(rank, "pmeonly");
    p_.Collective("MPI_Barrier", CollectiveKind::kBarrier);
    for (int rank = 0; rank < options_.ranks; ++rank) Leave(rank, "main");
    return p_.Finish();
  }

 private:
  std::string Name(const std::string& region) const { return options_.regions ? region : ""; }
  void Enter(int rank, const std::string& region) {
    if (options_.regions) p_.Enter(rank, region);
  }
  void Leave(int rank, const std::string& region) {
    if (options_.regions) p_.Leave(rank, region);
  }
  int MeshOf(std::size_t particle) const { return mesh_[particle % mesh_.size()]; }

  void Step() {
    for (int rank = 0; rank < options_.ranks; ++rank) Enter(rank, "step");
    // A problem of the same size for all numbers of ranks.
    const double work = 100000.0 / static_cast<double>(particles_.size());
    ShiftAround(p_, particles_);
    for (std::size_t i = 0; i < particles_.size(); ++i) p_.Send(particles_[i], MeshOf(i), 4000);
    for (std::size_t i = 0; i < particles_.size(); ++i) {
      const double load = load_[static_cast<std::size_t>(particles_[i])];
      p_.Compute(particles_[i], 8 * work * load, Name("nonbonded"));
      p_.Compute(particles_[i], work * load, Name("bonded"));
    }
    for (std::size_t i = 0; i < particles_.size(); ++i) p_.Receive(particles_[i], MeshOf(i), 4000);
    Mesh();
    for (std::size_t i = 0; i < particles_.size(); ++i) p_.Receive(MeshOf(i), particles_[i], 4000);
    ShiftAround(p_, particles_);
    for (const int rank : particles_) p_.Compute(rank, work, Name("update"));
    if (options_.sums_energies) p_.Collective("MPI_Allreduce", CollectiveKind::kAllreduce, particles_);
    for (const int rank : particles_) p_.Compute(rank, 0.3 * work, Name("constraints"));
    for (int rank = 0; rank < options_.ranks; ++rank) Leave(rank, "step");
  }

  void Mesh() {
    const double work = 100000.0 / static_cast<double>(mesh_.size());
    for (const int rank : mesh_) p_.Compute(rank, 1.5 * work, Name("spread"));
    if (options_.mesh_halo) ShiftAround(p_, mesh_);
    for (const int rank : mesh_) p_.Compute(rank, work, Name("fft"));
    p_.Collective("MPI_Alltoall", CollectiveKind::kAlltoall, mesh_);
    for (const int rank : mesh_) p_.Compute(rank, work, Name("solve"));
    p_.Collective("MPI_Alltoall", CollectiveKind::kAlltoall, mesh_);
    for (const int rank : mesh_) p_.Compute(rank, work, Name("fft"));
    if (options_.mesh_halo) ShiftAround(p_, mesh_);
    for (const int rank : mesh_) p_.Compute(rank, 1.5 * work, Name("gather"));
    for (std::size_t i = 0; i < particles_.size(); ++i) p_.Send(MeshOf(i), particles_[i], 4000);
  }

  const DynamicsOptions options_;
  ClockedProgram p_;
  Ranks particles_, mesh_;
  std::vector<double> load_;
};

}  // namespace

std::vector<std::size_t> MeshRanks(const DynamicsOptions& options) {
  const int count = 3 * options.ranks / 8;
  std::vector<std::size_t> ranks;
  for (int i = 0; i < count; ++i) {
    const int rank = options.interleaved ? (i + 1) * options.ranks / count - 1 : options.ranks - count + i;
    ranks.push_back(static_cast<std::size_t>(rank));
  }
  return ranks;
}

Trace MakeDynamics(const DynamicsOptions& options) { return Dynamics(options).Make(); }

Trace MakeMasterWorker(int ranks, int tasks_a_worker, bool regions) {
  ClockedProgram p(ranks, 3);
  const auto name = [&](const char* region) { return regions ? std::string(region) : std::string(); };
  Begin(p);
  const int tasks = tasks_a_worker * (ranks - 1);
  for (int worker = 1; worker < ranks; ++worker) p.Send(0, worker);
  for (int task = 0; task < tasks; ++task) {
    const int worker = 1 + task % (ranks - 1);
    p.Receive(0, worker);
    p.Compute(worker, 1000 + 4000 * p.Chance(), name("work"));
    p.Message(worker, 0);
    p.Compute(0, 20, name("choose"));
    if (task + ranks - 1 < tasks) p.Send(0, worker);
  }
  return Finished(p);
}

Trace MakeOutputServers(int ranks, int servers, bool mpi_output) {
  ClockedProgram p(ranks, 5, 0.1);
  const int workers = ranks - servers;
  const auto grid = PartOfGrid(ranks, 0, workers, 4);
  Begin(p);
  for (int step = 0; step < 12; ++step) {
    p.Exchange(grid);
    for (int rank = 0; rank < workers; ++rank) p.Compute(rank, 2000);
    p.Collective("MPI_Allreduce", CollectiveKind::kAllreduce, Range(0, workers));
    for (int rank = 0; rank < workers; ++rank) p.Compute(rank, 1000);
    if (step % 2 == 1) {
      for (int rank = 0; rank < workers; ++rank) p.Message(rank, workers + rank % servers);
      for (int server = workers; server < ranks; ++server) {
        p.Compute(server, 500);
        if (mpi_output) p.Call(server, "MPI_File_write", 1500);
        if (!mpi_output) p.Compute(server, 1500);
      }
    }
  }
  return Finished(p);
}

Trace MakeCoupled(int ranks, bool regions) {
  ClockedProgram p(ranks, 7, 0.1);
  const int oceans = ranks / 2;
  const auto ocean = PartOfGrid(ranks, 0, oceans, 2), atmosphere = PartOfGrid(ranks, oceans, ranks, 4);
  const auto name = [&](const char* region) { return regions ? std::string(region) : std::string(); };
  Begin(p);
  for (int step = 0; step < 8; ++step) {
    p.Exchange(ocean);
    for (int rank = 0; rank < oceans; ++rank) p.Compute(rank, 3000, name("ocean"));
    p.Collective("MPI_Allreduce", CollectiveKind::kAllreduce, Range(0, oceans));
    p.Exchange(atmosphere);
    for (int rank = oceans; rank < ranks; ++rank) p.Compute(rank, 4000, name("atmosphere"));
    p.Collective("MPI_Bcast", CollectiveKind::kBroadcast, Range(oceans, ranks));
    for (int rank = 0; rank < oceans; ++rank) {
      p.Message(rank, oceans + rank);
      p.Message(oceans + rank, rank);
    }
  }
  return Finished(p);
}

namespace {

// A stencil with borders, an allreduce and two kernels; computation is what the program says.
Trace Stencil(int ranks, std::uint64_t seed, const std::function<void(ClockedProgram&, int step, int rank)>& compute,
              bool regions) {
  ClockedProgram p(ranks, seed, 0.2);
  const auto grid = Grid(ranks, 3);
  for (int step = 0; step < 8; ++step) {
    for (int rank = 0; regions && rank < ranks; ++rank) p.Enter(rank, "step");
    p.Exchange(grid);
    for (int rank = 0; rank < ranks; ++rank) compute(p, step, rank);
    p.Collective("MPI_Allreduce", CollectiveKind::kAllreduce);
    for (int rank = 0; rank < ranks; ++rank) p.Compute(rank, 300, regions ? "update" : "");
    for (int rank = 0; regions && rank < ranks; ++rank) p.Leave(rank, "step");
  }
  return p.Finish();
}

// A wave through a line of ranks: the first only sends, the last only receives.
Trace Wave(int ranks, std::uint64_t seed) {
  ClockedProgram p(ranks, seed, 0.3);
  for (int step = 0; step < 9; ++step) {
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank > 0) p.Receive(rank - 1, rank);
      p.Compute(rank, 1000);
      if (rank + 1 < ranks) p.Send(rank, rank + 1);
    }
  }
  return p.Finish();
}

// Rank 0 collects from all others and writes, as long as three steps take.
Trace Gathering(int ranks, std::uint64_t seed, bool regions) {
  ClockedProgram p(ranks, seed, 0.1);
  const auto grid = Grid(ranks, 2);
  for (int step = 0; step < 10; ++step) {
    p.Exchange(grid);
    for (int rank = 0; rank < ranks; ++rank) p.Compute(rank, 1000, regions ? "solve" : "");
    if (step % 3 > 0) continue;
    for (int rank = 1; rank < ranks; ++rank) p.Message(rank, 0);
    p.Compute(0, 3000, regions ? "write" : "");
  }
  return p.Finish();
}

// The leaders of groups of four add up what their groups added up.
Trace TwoLevelSums(int ranks, std::uint64_t seed) {
  ClockedProgram p(ranks, seed, 0.1);
  Ranks leaders;
  for (int rank = 0; rank < ranks; rank += 4) leaders.push_back(rank);
  for (int step = 0; step < 10; ++step) {
    for (int rank = 0; rank < ranks; ++rank) p.Compute(rank, 1000);
    for (const int leader : leaders) {
      p.Collective("MPI_Reduce", CollectiveKind::kReduce, Range(leader, std::min(leader + 4, ranks)));
    }
    p.Collective("MPI_Allreduce", CollectiveKind::kAllreduce, leaders);
    for (const int leader : leaders) {
      p.Collective("MPI_Bcast", CollectiveKind::kBroadcast, Range(leader, std::min(leader + 4, ranks)));
    }
  }
  return p.Finish();
}

// Half of the ranks also do an FFT, since the mesh is too small for all.
Trace FftOnSome(int ranks, std::uint64_t seed, bool regions) {
  ClockedProgram p(ranks, seed, 0.1);
  const Ranks some = Range(0, ranks / 2);
  for (int step = 0; step < 6; ++step) {
    ShiftAround(p, Range(0, ranks));
    for (int rank = 0; rank < ranks; ++rank) p.Compute(rank, 1000, regions ? "push" : "");
    ShiftAround(p, Range(0, ranks));
    for (const int rank : some) p.Compute(rank, 2000, regions ? "fft" : "");
    p.Collective("MPI_Alltoall", CollectiveKind::kAlltoall, some);
    for (const int rank : some) p.Compute(rank, 2000, regions ? "fft" : "");
    p.Collective("MPI_Alltoall", CollectiveKind::kAlltoall, some);
  }
  return p.Finish();
}

}  // namespace

std::vector<NamedProgram> MakeAlikePrograms(int ranks, std::uint64_t seed) {
  std::vector<NamedProgram> programs;
  for (const bool regions : {false, true}) {
    const auto name = [&](const char* region) { return regions ? std::string(region) : std::string(); };
    const std::string with = regions ? ", with regions" : "";
    const auto add = [&](const char* what, const std::function<void(ClockedProgram&, int, int)>& compute) {
      programs.push_back({what + with, Stencil(ranks, seed, compute, regions)});
    };
    add("even", [&](ClockedProgram& p, int, int rank) { p.Compute(rank, 1000, name("force")); });
    add("one rank ten times slower",
        [&](ClockedProgram& p, int, int rank) { p.Compute(rank, rank == ranks / 2 ? 10000 : 1000, name("force")); });
    add("work by chance", [&](ClockedProgram& p, int, int rank) {
      const double x = p.Chance();
      p.Compute(rank, 5000 * x * x * x, name("force"));
    });
    add("particles on a few ranks", [&](ClockedProgram& p, int, int rank) {
      if (rank < ranks / 4) p.Compute(rank, 20000, name("push"));
    });
    add("light and heavy ranks in turns",
        [&](ClockedProgram& p, int, int rank) { p.Compute(rank, rank % 2 == 0 ? 9000 : 100, name("force")); });
    add("borders have more to do", [&](ClockedProgram& p, int, int rank) {
      p.Compute(rank, 1000, name("force"));
      if (rank < 3 || rank >= ranks - 3) p.Compute(rank, 2000, name("border"));
    });
    add("two kernels of opposite load", [&](ClockedProgram& p, int, int rank) {
      p.Compute(rank, 1000 + 3000.0 * rank / ranks, name("land"));
      p.Compute(rank, 4000 - 3000.0 * rank / ranks, name("sea"));
    });
    add("interruptions", [&](ClockedProgram& p, int, int rank) {
      p.Compute(rank, 100, name("force"));
      if (p.Chance() < 0.05) p.Compute(rank, 50000);
    });
    programs.push_back({"gathering" + with, Gathering(ranks, seed, regions)});
    programs.push_back({"FFT on some ranks" + with, FftOnSome(ranks, seed, regions)});
  }
  programs.push_back({"wave", Wave(ranks, seed)});
  programs.push_back({"two-level sums", TwoLevelSums(ranks, seed)});
  return programs;
}

}  // namespace farscale::test
