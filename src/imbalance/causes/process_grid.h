// The grid on which a program lays out its ranks, as it says itself, or read off who exchanges messages with whom or
// off its communicators [docs/formulas.md, process grids].
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace farscale {

struct PhaseCut;
struct Trace;

// The source of the grid.
enum class GridSource : std::uint8_t { kTopology, kMessages, kCommunicators };
inline constexpr GridSource kGridSources[] = {GridSource::kTopology, GridSource::kMessages, GridSource::kCommunicators};
std::string_view ToString(GridSource source);  // "topology"

// One to three dimensions, of two ranks or more each. The last one changes fastest: where `places` is empty, the i-th
// rank of the phase has the coordinates of the i-th element of a C array with these extents.
struct ProcessGrid {
  std::vector<std::size_t> extents;
  std::vector<bool> periodic;       // one a dimension; false for two ranks, where both ends are neighbours anyway
  std::vector<std::size_t> places;  // which element each rank of the phase is, of grids in another order
  bool has_diagonals = false;       // ranks exchange messages with diagonal neighbours, too
  GridSource source = GridSource::kMessages;
  double explained = 0;  // share of the pairs of partners that are neighbours in the grid; 0 without messages

  std::size_t size() const;
  // Which element of the array the i-th rank of the phase is.
  std::size_t PlaceOf(std::size_t index) const { return places.empty() ? index : places[index]; }
  // The coordinates of the i-th rank of the phase, one a dimension.
  std::vector<std::size_t> CoordinatesOf(std::size_t index) const;

  friend bool operator==(const ProcessGrid&, const ProcessGrid&) = default;
};

// Two ranks of the phase, by their place among them (the lower first), and the messages between them in both
// directions.
struct Partners {
  std::size_t a = 0, b = 0;
  std::uint64_t messages = 0;
};

// Nothing when no grid explains the partners. `ranks`: of the phase.
std::optional<ProcessGrid> GridOfPartners(std::size_t ranks, const std::vector<Partners>& partners);

// Who exchanges messages in the phase, in the order of pairs. Partners outside of the phase are left out.
std::vector<Partners> PartnersOf(const Trace& trace, const PhaseCut& cut);

// Extents, of two or three dimensions, the last of which changes fastest, of the grid for whose lines a program has
// communicators, as MPI_Cart_sub makes them; empty when there are none. Every line of the ranks of the phase in every
// direction must have its communicator.
std::vector<std::size_t> ExtentsOfCommunicators(const Trace& trace, const PhaseCut& cut);

// As the program says (MPI_Cart_create), else from the partners of the phase; where no grid explains them, from the
// communicators.
std::optional<ProcessGrid> FindProcessGrid(const Trace& trace, const PhaseCut& cut);

}  // namespace farscale
