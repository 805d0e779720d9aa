// Pseudo-random numbers that are the same on every machine: the engine of the standard library is, its distributions
// are not.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

namespace farscale {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  // In (0, 1).
  double Uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) / 9007199254740992.0; }
  double Exponential() { return -std::log(Uniform()); }
  double Normal() {
    const double radius = std::sqrt(2 * Exponential());
    return radius * std::cos(2 * std::numbers::pi * Uniform());
  }
  // A random number from 0 to size - 1.
  std::size_t Index(std::size_t size) {
    return std::min(size - 1, static_cast<std::size_t>(Uniform() * static_cast<double>(size)));
  }
  template <typename Value>
  void Shuffle(std::vector<Value>& values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[Index(i)]);
  }

 private:
  std::mt19937_64 engine_;
};

// A seed for one of many things that are drawn for, by its name [FNV-1a].
inline std::uint64_t SeedFor(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 14695981039346656037ull ^ seed;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return hash;
}

}  // namespace farscale
