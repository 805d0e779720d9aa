// How runs scale, read off what they took and how they are said to scale.
#pragma once

#include <optional>
#include <vector>

#include "factors/factor_table.h"

namespace farscale {

// How the runs of a phase scale: as the table says, else as their times and speedups show.
std::optional<Scaling> ScalingOf(const FactorTable& table, const std::vector<FactorRow>& rows);

// Strong when the time of an iteration times speedup is the same at every core count, weak when it grows with the
// cores, to two digits. Where no speedup is known, global efficiency times cores does. Nothing where neither holds, or
// where times or both of these are unknown.
std::optional<Scaling> ScalingShownBy(const std::vector<FactorRow>& rows);

// Source of the scaling of a table that does not say it.
inline constexpr const char* kShownByTimes = "run times";

// Completes a table and puts it in the terms asked for. Where it does not say how its runs scale, their times do, if
// they can: then asking for the other scaling is a usage error. So is a scaling that the runs exclude, whoever says it
// [scaling_check.h]. Throws as ChangeTerms.
void PutInTerms(FactorTable& table, std::optional<Scaling> scaling, std::optional<std::int64_t> reference);

// The same, but for what the runs exclude.
void PutInTermsUnchecked(FactorTable& table, std::optional<Scaling> scaling, std::optional<std::int64_t> reference);

}  // namespace farscale
