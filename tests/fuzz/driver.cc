// Tries mutations of a target's seeds: the same ones on every run, so that a finding can be repeated.
//
//   fuzz_otf2 [RUNS [FIRST]]     tries RUNS mutations (default 1000) from number FIRST on
#include <fmt/format.h>

#include <cstdlib>

#include "fuzz/target.h"

namespace farscale::fuzz {
namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 0x2545F4914F6CDD1Du) {}
  std::uint64_t Next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  std::size_t Below(std::size_t bound) { return bound == 0 ? 0 : Next() % bound; }

 private:
  std::uint64_t state_;
};

void Mutate(std::string& input, const std::vector<std::string>& seeds, Random& random) {
  const std::size_t at = random.Below(input.size());
  const std::size_t length = 1 + random.Below(8);
  switch (random.Below(9)) {
    case 0:
      if (!input.empty()) input[at] = static_cast<char>(random.Next());
      break;
    case 1:
      if (!input.empty()) input[at] = static_cast<char>(input[at] ^ (1 << random.Below(8)));
      break;
    case 2: input.erase(at, length); break;
    case 3: input.insert(at, std::string(length, static_cast<char>(random.Next()))); break;
    case 4: input.resize(at); break;
    case 5:
      for (std::size_t i = at; i < std::min(input.size(), at + length); ++i)
        input[i] = random.Below(2) == 0 ? '\0' : '\xff';
      break;
    case 6: input.insert(at, input.substr(random.Below(input.size()), random.Below(64))); break;
    case 7: {
      const std::string& other = seeds[random.Below(seeds.size())];
      input.insert(at, other.substr(random.Below(other.size()), random.Below(64)));
      break;
    }
    default: {
      constexpr const char* kNumbers[] = {"0", "-1", "1e308", "nan", "99999999999999999999", "0.0000001", "4294967296"};
      input.insert(at, kNumbers[random.Below(7)]);
    }
  }
}

int Run(std::uint64_t runs, std::uint64_t first) {
  const std::vector<std::string> seeds = Seeds();
  for (const std::string& seed : seeds) Try(seed);
  for (std::uint64_t run = first; run < first + runs; ++run) {
    Random random(run + 1);
    std::string input = seeds[random.Below(seeds.size())];
    for (std::size_t i = 1 + random.Below(6); i > 0; --i) Mutate(input, seeds, random);
    Try(input);
  }
  fmt::print("{} inputs tried\n", runs);
  return 0;
}

}  // namespace
}  // namespace farscale::fuzz

int main(int argc, char** argv) {
  const auto number = [&](int i, std::uint64_t standard) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : standard;
  };
  return farscale::fuzz::Run(number(1, 1000), number(2, 0));
}
