#include "gate/common_terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/format.h"
#include "factors/anomalies.h"
#include "gate/anomalies.h"
#include "gate/history_view.h"
#include "gate/quantity.h"

namespace farscale {
namespace {

using Counts = std::set<std::int64_t>;

bool KnowsComparison(const FactorRow& row) {
  return std::any_of(AllFactors().begin(), AllFactors().end(), [&](const FactorType& type) {
    return row.values[type.factor] && Quantity::Of(type.factor).ComparesWithReference();
  });
}

bool KnowsComparison(const std::vector<FactorRow>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const FactorRow& row) { return KnowsComparison(row); });
}

Counts CountsOf(const std::vector<FactorRow>& rows) {
  Counts counts;
  for (const FactorRow& row : rows) counts.insert(row.cores);
  return counts;
}

Counts Common(const Counts& a, const Counts& b) {
  Counts common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(common, common.end()));
  return common;
}

std::string Cores(std::int64_t cores) { return FormatCores(static_cast<double>(cores)); }

class Agreement {
 public:
  explicit Agreement(const std::vector<NamedTable>& tables) : tables_(tables), is_told_(tables.size(), false) {}

  Diagnostics Run() {
    MoveReferences();
    std::set<PhaseKey> phases;
    for (const NamedTable& one : tables_) {
      for (const FactorRow& row : one.table->rows) phases.insert(row.Key());
    }
    for (const PhaseKey& phase : phases) Compare(phase);
    return std::move(diagnostics_);
  }

 private:
  // Of the last table where the newest of the others that it compares with has that run, else the smallest that both
  // have; nothing where there is none.
  std::optional<std::int64_t> CommonReference() const {
    const FactorTable& last = *tables_.back().table;
    if (!last.reference || !KnowsComparison(last.rows)) return std::nullopt;
    for (std::size_t i = tables_.size() - 1; i-- > 0;) {
      const FactorTable& other = *tables_[i].table;
      const Counts common = Common(CountsOf(last.rows), CountsOf(other.rows));
      if (common.empty() || !KnowsComparison(other.rows)) continue;
      return common.count(*last.reference) > 0 ? *last.reference : *common.begin();
    }
    return std::nullopt;
  }

  void MoveReferences() {
    const std::optional<std::int64_t> reference = CommonReference();
    if (!reference) return;
    for (const NamedTable& one : tables_) {
      const std::optional<std::int64_t> was = one.table->reference;
      if (was == reference || !KnowsComparison(one.table->rows) || CountsOf(one.table->rows).count(*reference) == 0) {
        continue;
      }
      FactorTable moved = *one.table;
      try {
        ChangeTerms(moved, std::nullopt, reference);
      } catch (const Error&) {
        continue;  // its rows do not know enough, so that they are not compared
      }
      *one.table = std::move(moved);
      diagnostics_.Add(anomaly::kReferenceMoved, 1,
                       fmt::format("{}: {} instead of {} cores", one.name, Cores(*reference), Cores(*was)));
    }
  }

  // Of a phase: the smallest run where there is none at the reference of the table.
  static std::int64_t ReferenceOf(const FactorTable& table, const Counts& counts) {
    return table.reference && counts.count(*table.reference) > 0 ? *table.reference : *counts.begin();
  }

  // Why what compares with the reference does not mean the same in both; empty where it does.
  static std::string WhyApart(const NamedTable& one, const Counts& counts, const NamedTable& last,
                              const Counts& counts_of_last) {
    const Counts common = Common(counts, counts_of_last);
    if (common.empty()) return "";
    const std::int64_t reference = ReferenceOf(*one.table, counts);
    const std::int64_t reference_of_last = ReferenceOf(*last.table, counts_of_last);
    if (reference != reference_of_last) {
      return fmt::format("{} compares with its run on {} cores, {} with that on {}", one.name, Cores(reference),
                         last.name, Cores(reference_of_last));
    }
    if (common.size() == 1 && *common.begin() == reference) return "";
    const auto &scaling = one.table->scaling, &scaling_of_last = last.table->scaling;
    if (scaling == scaling_of_last) return "";
    if (scaling && scaling_of_last) {
      return fmt::format("the scaling of {} is {}, that of {} {}", one.name, ToString(*scaling), last.name,
                         ToString(*scaling_of_last));
    }
    return fmt::format("how the runs of {} scale is not known, those of {} scale {}ly", scaling ? last.name : one.name,
                       scaling ? one.name : last.name, ToString(scaling ? *scaling : *scaling_of_last));
  }

  void Compare(const PhaseKey& phase) {
    const NamedTable* last = nullptr;
    Counts counts_of_last;
    for (std::size_t i = tables_.size(); i-- > 0;) {
      const std::vector<FactorRow> rows = tables_[i].table->Rows(phase);
      if (!KnowsComparison(rows)) continue;
      const Counts counts = CountsOf(rows);
      if (last == nullptr) {
        last = &tables_[i];
        counts_of_last = counts;
        continue;
      }
      const std::string why = WhyApart(tables_[i], counts, *last, counts_of_last);
      if (!why.empty()) Forget(phase, why, i);
    }
  }

  void Forget(const PhaseKey& phase, const std::string& why, std::size_t place) {
    for (FactorRow& row : tables_[place].table->rows) {
      if (row.Key() == phase) ForgetComparison(row);
    }
    if (!is_told_[place]) diagnostics_.Add(anomaly::kTermsDiffer, 1, why);
    is_told_[place] = true;
  }

  const std::vector<NamedTable>& tables_;
  std::vector<bool> is_told_;
  Diagnostics diagnostics_;
};

}  // namespace

Diagnostics AgreeOnTerms(const std::vector<NamedTable>& tables) { return Agreement(tables).Run(); }

std::string NameOf(const HistoryEntry& entry) {
  return entry.commit.empty() ? entry.file : "commit " + ShortCommit(entry);
}

std::vector<Finding> FindingsOf(const History& history) {
  std::vector<Finding> all;
  for (auto entry = history.rbegin(); entry != history.rend(); ++entry) {
    std::set<std::string> known;  // of this commit
    for (const Finding& finding : entry->table.findings) {
      if (!known.insert(finding.id).second) continue;
      const auto same =
          std::find_if(all.begin(), all.end(), [&](const Finding& other) { return other.id == finding.id; });
      if (same != all.end()) {
        ++same->count;
        continue;
      }
      const std::string detail = DetailOf(finding);
      all.push_back(finding);
      all.back().count = 1;
      all.back().population = history.size() > 1 ? history.size() : 0;
      all.back().example = NameOf(*entry) + (detail.empty() ? "" : ": " + detail);
    }
  }
  return all;
}

}  // namespace farscale
