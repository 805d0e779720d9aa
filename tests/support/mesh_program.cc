#include "support/mesh_program.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <string>

#include "base/random.h"

namespace farscale::test {

namespace {

using Place = std::array<double, 3>;

double Distance(const Place& a, const Place& b) {
  double squares = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    const double away = std::abs(a[d] - b[d]);
    squares += std::pow(d < 2 ? std::min(away, 1 - away) : away, 2);
  }
  return std::sqrt(squares);
}

}  // namespace

MeshParts::MeshParts(std::uint64_t seed, std::int32_t ranks) {
  constexpr double kReach = 1.6;  // of neighbours, in mean distances: about ten of them
  constexpr int kTries = 20;      // the farthest from all others of so many is taken, so that parts are of like size
  Random random(SeedFor(seed, "mesh of " + std::to_string(ranks)));
  std::vector<Place> places;
  while (places.size() < static_cast<std::size_t>(ranks)) {
    Place best{};
    double farthest = -1;
    for (int i = 0; i < kTries; ++i) {
      const Place tried{random.Uniform(), random.Uniform(), random.Uniform()};
      double nearest = 4;
      for (const Place& other : places) nearest = std::min(nearest, Distance(tried, other));
      if (nearest > farthest) best = tried;
      farthest = std::max(farthest, nearest);
    }
    places.push_back(best);
  }
  std::ranges::sort(places);
  const double reach = kReach / std::cbrt(static_cast<double>(ranks));
  neighbours.resize(places.size());
  for (std::size_t a = 0; a < places.size(); ++a) {
    for (std::size_t b = 0; b < places.size(); ++b) {
      const double contact = 1 - Distance(places[a], places[b]) / reach;
      if (a != b && contact > 0) neighbours[a].push_back({static_cast<std::int32_t>(b), contact});
    }
  }
}

std::function<void(SpmdRank&)> MeshProgram(std::uint64_t seed, const std::function<Tick(std::int32_t)>& work,
                                           int iterations) {
  constexpr double kSpread = 0.02;  // of the loads of ranks; of the noise of iterations, half
  constexpr double kMostBytes = 60000;
  const auto meshes = std::make_shared<std::map<std::int32_t, MeshParts>>();
  return [=](SpmdRank& rank) {
    const MeshParts& mesh = meshes->try_emplace(rank.ranks(), seed, rank.ranks()).first->second;
    const auto& neighbours = mesh.neighbours[static_cast<std::size_t>(rank.rank())];
    Random random(SeedFor(seed, "rank " + std::to_string(rank.rank()) + " of " + std::to_string(rank.ranks())));
    const double load = static_cast<double>(work(rank.ranks())) * std::exp(kSpread * random.Normal());
    const auto bytes = [&](const MeshParts::Neighbour& to) {
      return static_cast<std::uint64_t>(kMostBytes * to.contact);
    };
    for (int i = 0; i < iterations; ++i) {
      rank.BeginIteration();
      rank.Compute(std::llround(load * std::exp(kSpread / 2 * random.Normal())));
      for (const auto& from : neighbours) rank.PostReceive(from.rank, bytes(from), 7);
      for (const auto& to : neighbours) rank.PostSend(to.rank, bytes(to), 7);
      rank.WaitAll();
      rank.AllReduce(8);
      rank.EndIteration();
    }
  };
}

}  // namespace farscale::test
