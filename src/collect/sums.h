// What pages say of times and counts, for the process itself and for readers of its page.
#pragma once

#include <cstdint>

#include "collect/page.h"

namespace farscale::collect {

Sums Minus(const Sums& later, const Sums& earlier);
void Add(Sums& sums, const Sums& more);

// Since the run of a page began, at a tick of its clock; CPU time only of a process that has ended.
Sums SumsOfPage(const Page& page, std::uint64_t now);

// What a region of a page has taken, its open occurrence until `now`, which is SumsOfPage.
Sums TotalOf(const Page& page, const RegionRecord& region, const Sums& now);

// Ends the copy of a page whose process could not do so itself: what is open counts until `tick`.
void EndAsOf(Page& page, std::uint64_t tick, std::uint64_t clock);

// Index of a region other than the whole run, or -1.
int FindRegion(const Page& page, const char* name);

}  // namespace farscale::collect
