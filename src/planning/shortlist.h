// Machines beside each other: how long an iteration of every code takes on each, where codes were replayed on several.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "factors/factor_table.h"
#include "projection/model_settings.h"

namespace farscale {

struct Results;

// With its 80 % interval. Errors of both predictions and of the replay count as if they were independent
// [docs/formulas.md, offers]; they share the runs, so that the interval is rather too wide.
struct Ratio {
  double value = 1, low = 1, high = 1;  // high: infinite where a prediction is open
};

// The speed of a run replayed on another machine, relative to the measured run. Nothing without its times.
std::optional<Ratio> ReplayedSpeed(const FactorRow& measured, const FactorRow& replayed);

struct MachineTime {
  double seconds = 0;                    // an iteration
  std::optional<OpenBounds> interval80;  // predictions only; nothing for a replayed run
  Ratio speed;                           // times as fast as on the machine of the runs
  std::optional<Ratio> cost;             // an iteration, in the currency of the offer
};

// The longest phase of a code, on as many cores for every machine.
struct ShortlistColumn {
  std::size_t study = 0;  // index in the list
  PhaseKey phase;
  double cores = 0;
  bool is_predicted = false;  // else it is the largest run, replayed
};

struct ShortlistRow {
  std::string machine;                            // empty: that of the runs
  std::vector<std::optional<MachineTime>> times;  // in the order of the columns
  std::optional<Ratio> speed;                     // geometric mean; nothing where a time is missing
  // Geometric mean over the studies, times that of the machine that costs least. Nothing where a price is missing, or
  // prices are in several currencies.
  std::optional<Ratio> cost;
  std::string currency;
  std::size_t first_rank = 0, last_rank = 0;  // ranks by speed; intervals that overlap share them. 0: no speed
};

struct Shortlist {
  std::vector<ShortlistColumn> columns;
  std::vector<ShortlistRow> rows;  // the fastest first, those without a speed last
};

// The shortlist of the studies with variants that are no removal of noise; machines of several studies are the same
// when their names are. Counts of cores are the target nearest to eight times the largest run that is reliable on every
// machine, else that of the largest run. Empty without such a study.
Shortlist ShortlistOf(const std::vector<const Results*>& studies);

}  // namespace farscale
