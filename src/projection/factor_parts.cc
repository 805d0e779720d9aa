#include "projection/factor_parts.h"

#include <algorithm>
#include <limits>
#include <set>

namespace farscale {
namespace {

constexpr std::size_t kEnoughCounts = 3;  // to choose a model for a factor

// At how many core counts the factor is known.
std::size_t CountsOf(const std::vector<FactorRow>& rows, Factor factor) {
  std::set<std::int64_t> cores;
  for (const FactorRow& row : rows) {
    if (row.values[factor]) cores.insert(row.cores);
  }
  return cores.size();
}

// Parts that only explain a factor are not extrapolated.
std::vector<Factor> ProjectionChildren(Factor factor, FactorTree tree) {
  std::vector<Factor> children = ChildrenOf(factor, tree);
  std::erase_if(children, [](Factor child) { return Describe(child).kind == FactorKind::kDetail; });
  return children;
}

// Adds the factors to fit for `factor` and returns at how many core counts they are known together: its finest complete
// parts, unless those are known too rarely to be fitted and the factor itself is known more often.
std::size_t AddFitted(const std::vector<FactorRow>& rows, FactorTree tree, Factor factor, std::vector<Factor>& fitted) {
  const std::vector<Factor> children = ProjectionChildren(factor, tree);
  const std::size_t counts = CountsOf(rows, factor);
  std::size_t of_parts = children.empty() ? 0 : std::numeric_limits<std::size_t>::max();
  std::vector<Factor> parts;
  for (const Factor child : children) of_parts = std::min(of_parts, AddFitted(rows, tree, child, parts));
  const bool are_enough = of_parts > 0 && of_parts >= std::min(counts, kEnoughCounts);
  const bool are_incomplete = of_parts == 0;  // still worth a projection of their own
  if (are_enough || are_incomplete) fitted.insert(fitted.end(), parts.begin(), parts.end());
  if (are_enough) return of_parts;
  if (counts > 0) fitted.push_back(factor);
  return counts;
}

}  // namespace

std::vector<Factor> PartsOf(Factor factor, const std::vector<Factor>& available) {
  std::vector<Factor> parts;
  bool complete = true;
  for (const Factor child : ProjectionChildren(factor, TreeOf(available))) {
    const std::vector<Factor> of_child = PartsOf(child, available);
    complete = complete && !of_child.empty();
    parts.insert(parts.end(), of_child.begin(), of_child.end());
  }
  if (complete && !parts.empty()) return parts;
  const bool is_available = std::find(available.begin(), available.end(), factor) != available.end();
  return is_available ? std::vector<Factor>{factor} : std::vector<Factor>();
}

std::vector<Factor> LossesAmong(const std::vector<Factor>& available) {
  const std::optional<Factor> whole = WholeAmong(available);
  return whole ? PartsOf(*whole, available) : available;
}

std::optional<Factor> WholeAmong(const std::vector<Factor>& available) {
  for (const Factor whole : {Factor::kGlobalEfficiency, Factor::kParallelEfficiency}) {
    if (!PartsOf(whole, available).empty()) return whole;
  }
  return std::nullopt;
}

std::vector<Factor> FittedFactors(const std::vector<FactorRow>& rows) {
  std::vector<Factor> fitted;
  AddFitted(rows, TreeOf(rows), Factor::kGlobalEfficiency, fitted);
  std::sort(fitted.begin(), fitted.end());
  return fitted;
}

}  // namespace farscale
