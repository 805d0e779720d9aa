// The efficiency factors by name: their tree, their formula and source, and one sentence for people who have never
// heard of them. Every table, report and file format takes names and order from here.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace farscale {

enum class Factor {
  kGlobalEfficiency,
  kParallelEfficiency,
  kLoadBalance,
  kLoadBalanceIn,
  kLoadBalanceOut,
  kCommunicationEfficiency,
  kSerialization,
  kTransfer,
  kComputationScalability,
  kInstructionScaling,
  kIpcScaling,
  kFrequencyScaling,
  kSpeedup,
  kSerializationPhaseEstimate,
};

inline constexpr std::size_t kFactorCount = 14;

struct FactorType {
  Factor factor;
  std::string_view id;    // in files
  std::string_view name;  // in reports
  std::string_view formula;
  std::string_view source;  // key of docs/bibliography.md
  std::optional<Factor> parent;
  bool at_most_one;          // false: may exceed 1
  std::string_view meaning;  // one sentence
  std::string_view advice;   // what one can do about it; empty for products and checks
};

// In the order of reports: parents before children.
const std::array<FactorType, kFactorCount>& AllFactors();
const FactorType& Describe(Factor factor);
std::optional<Factor> FactorById(std::string_view id);
std::vector<std::string> FactorIds();

// Children whose product is the factor, in the order of the tree; empty for leaves.
std::vector<Factor> ChildrenOf(Factor factor);
// How deep the factor lies in the tree: 0 for global efficiency, speedup and checks.
int DepthOf(Factor factor);

// Values of some of the factors.
class FactorValues {
 public:
  std::optional<double>& operator[](Factor factor) { return values_[static_cast<std::size_t>(factor)]; }
  const std::optional<double>& operator[](Factor factor) const { return values_[static_cast<std::size_t>(factor)]; }

  // Fills every missing parent whose children are all there with their product.
  void DeriveParents();

  friend bool operator==(const FactorValues&, const FactorValues&) = default;

 private:
  std::array<std::optional<double>, kFactorCount> values_;
};

}  // namespace farscale
