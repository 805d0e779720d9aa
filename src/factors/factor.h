// The one table of efficiency factors: names, tree, formula and source, range, and one sentence for people who have
// never heard of them. Tables, reports, files and gates take all of that from here, so a new factor is an entry of
// `Factor`, a row of the table and its formula (CONTRIBUTING.md, a new factor). All factors are better when they are
// larger.
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
  kMpiParallelEfficiency,
  kLoadBalance,
  kLoadBalanceIn,
  kLoadBalanceOut,
  kCommunicationEfficiency,
  kSerialization,
  kTransfer,
  kOmpParallelEfficiency,
  kOmpLoadBalance,
  kOmpScheduling,
  kOmpSerialization,
  kDeviceOffload,
  kComputationScalability,
  kInstructionScaling,
  kIpcScaling,
  kFrequencyScaling,
  kSpeedup,
  kDeviceParallelEfficiency,
  kDeviceLoadBalance,
  kDeviceCommunication,
  kDeviceOrchestration,
  kSerializationPhaseEstimate,  // stays the last one
};

// Tables with factors that cannot exceed 1 above this are refused. Chosen: above what rounding to three digits makes.
inline constexpr double kLargestShare = 1.02;
inline constexpr const char* kShareAdvice = "divide percentages by 100, or correct the table";

inline constexpr std::size_t kFactorCount = static_cast<std::size_t>(Factor::kSerializationPhaseEstimate) + 1;

enum class FactorKind {
  kShare,        // share of one run
  kDetail,       // a share that explains its parent, which is projected as a whole [Rosas14]
  kScalability,  // compares with the reference run and is 1 there by definition
  kProduct,      // product of shares and scalabilities
  kSpeedup,      // the ratio of times, as scalability; no efficiency
  kCheck,        // an estimate of a share, shown beside the exact one
};

struct FactorType {
  Factor factor;
  std::string_view id;    // in files
  std::string_view name;  // in reports
  std::string_view formula;
  std::string_view source;       // key of docs/bibliography.md
  std::optional<Factor> parent;  // in the tree of MPI; of factors of hybrid runs alone in theirs
  FactorKind kind;
  std::string_view meaning;  // one sentence
  std::string_view advice;   // a remedy; empty for products and checks
  // Its look in all charts. Factors that one chart shows together differ.
  int color = 7;      // index into the palette of charts [plot/canvas.h]; grey
  char marker = 'o';  // o: disc, d: diamond, ^: triangle, v: turned triangle
  bool is_filled = true;

  // True if it may not exceed 1.
  constexpr bool AtMostOne() const {
    return kind == FactorKind::kShare || kind == FactorKind::kDetail || kind == FactorKind::kCheck;
  }
  constexpr bool IsOneAtReference() const { return kind == FactorKind::kScalability || kind == FactorKind::kSpeedup; }
  // Then all core counts have the error of the reference run in common.
  constexpr bool ComparesWithReference() const { return IsOneAtReference() || kind == FactorKind::kProduct; }
  // True if reports colour it as good or bad.
  constexpr bool IsEfficiency() const { return kind != FactorKind::kSpeedup && kind != FactorKind::kCheck; }
};

// In the order of reports: parents before children.
const std::array<FactorType, kFactorCount>& AllFactors();
const FactorType& Describe(Factor factor);
std::optional<Factor> FactorById(std::string_view id);
std::vector<std::string> FactorIds();
// "load balance", "IPC scaling".
std::string NameInSentence(Factor factor);

// Runs with threads or devices have a tree in which parallel efficiency is the product of MPI, OpenMP and device
// offload [docs/formulas.md, threads and devices]; in that of MPI alone, load balance and communication efficiency are
// its children, and the factors of threads and devices are in no tree.
enum class FactorTree { kMpi, kHybrid };

// True if only hybrid runs have the factor.
constexpr bool IsHybrid(Factor factor) {
  return factor == Factor::kMpiParallelEfficiency ||
         (factor >= Factor::kOmpParallelEfficiency && factor <= Factor::kDeviceOffload);
}
// The tree of a run of which these factors are known.
FactorTree TreeOf(const std::vector<Factor>& known);

std::optional<Factor> ParentOf(Factor factor, FactorTree tree);
// Children whose product is the factor, in the order of the tree; empty for leaves.
std::vector<Factor> ChildrenOf(Factor factor, FactorTree tree = FactorTree::kMpi);
// True if it has any.
bool IsParent(Factor factor, FactorTree tree = FactorTree::kMpi);
// The depth of the factor in the tree: 0 for global efficiency, speedup and checks.
int DepthOf(Factor factor, FactorTree tree = FactorTree::kMpi);
// As in FactorType, but for parallel efficiency, which is another product in the tree of hybrid runs.
std::string_view FormulaOf(Factor factor, FactorTree tree);

// True for the value of a run that does not use devices at all; reports leave the row out.
constexpr bool IsWithoutDevices(Factor factor, double value) { return factor == Factor::kDeviceOffload && value == 1; }

// Values of some of the factors.
class FactorValues {
 public:
  std::optional<double>& operator[](Factor factor) { return values_[static_cast<std::size_t>(factor)]; }
  const std::optional<double>& operator[](Factor factor) const { return values_[static_cast<std::size_t>(factor)]; }

  FactorTree Tree() const;
  // Fills every missing parent whose children are all there with their product.
  void DeriveParents();
  // True if the factor is a parent and all of its children are there.
  bool KnowsChildrenOf(Factor factor) const { return KnowsChildrenOf(factor, Tree()); }
  // Sets factors to 1 where a run cannot lose: OpenMP with one thread a process, device offload without devices.
  void SetPerfectOpenMp();
  void SetPerfectOffload();

  friend bool operator==(const FactorValues&, const FactorValues&) = default;

 private:
  bool KnowsChildrenOf(Factor factor, FactorTree tree) const;

  std::array<std::optional<double>, kFactorCount> values_;
};

// Limits of factors above 1 in tables from elsewhere.

// Transfer compares with a replay and exceeds 1 where clocks of ranks differ or ranks wait for what came before the
// phase; so may what it is part of. Other shares do not. Chosen: 2 is beyond any such transfer, far below a percentage.
constexpr double LargestGiven(Factor factor) {
  const bool has_transfer = factor == Factor::kTransfer || factor == Factor::kCommunicationEfficiency ||
                            factor == Factor::kParallelEfficiency;
  return has_transfer ? 2.0 : kLargestShare;
}

}  // namespace farscale
