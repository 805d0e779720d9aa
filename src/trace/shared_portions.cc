#include "trace/shared_portions.h"

#include <algorithm>

#include "parallel/job.h"

namespace farscale {
namespace {

using Pieces = std::vector<std::size_t>;

std::vector<Pieces> PortionsOf(const Pieces& share, const std::vector<std::uint64_t>& sizes, std::uint64_t least) {
  constexpr std::size_t kPortions = 4, kPieces = 8;  // chosen; the second: work for eight threads
  std::uint64_t all = 0, some = 0;
  for (const std::size_t i : share) all += sizes[i];
  const std::uint64_t enough = std::max(all / kPortions, least);
  std::vector<Pieces> portions;
  for (const std::size_t i : share) {
    if (portions.empty() || (some >= enough && portions.back().size() >= kPieces)) {
      portions.emplace_back();
      some = 0;
    }
    portions.back().push_back(i);
    some += sizes[i];
  }
  return portions;
}

}  // namespace

void ShareInPortions(const std::vector<std::uint64_t>& sizes, std::uint64_t least, const SharedWork& work) {
  Helpers helpers;
  const std::vector<Pieces> shares = ShareOut(sizes, helpers.processes().size() + 1);
  std::vector<std::vector<Pieces>> portions;
  std::size_t most = 0;
  for (const Pieces& share : shares) {
    portions.push_back(helpers.empty() ? std::vector<Pieces>{share} : PortionsOf(share, sizes, least));
    most = std::max(most, portions.back().size());
  }
  const auto ask = [&](std::size_t process, std::size_t portion) {
    if (portion >= portions[process].size()) return;
    helpers.Ask(helpers.processes()[process - 1], work.service, work.request(portions[process][portion]));
  };
  for (std::size_t k = 1; k < shares.size(); ++k) ask(k, 0);
  work.begin(shares[0]);
  for (std::size_t portion = 0; portion < most; ++portion) {
    for (std::size_t k = 0; k < shares.size(); ++k) {
      if (portion >= portions[k].size()) continue;
      if (k == 0) {
        work.own(portions[k][portion]);
        continue;
      }
      const std::string answer = helpers.Answer(helpers.processes()[k - 1]);
      ask(k, portion + 1);
      work.take(portions[k][portion], answer);
    }
  }
}

}  // namespace farscale
