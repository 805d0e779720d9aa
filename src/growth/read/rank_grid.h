// Layouts of ranks as Cartesian grids of one to four dimensions. Every order of the dimensions is a layout of its own,
// so one rule suffices: the first dimension changes fastest. Where two programs run together, the first ranks and the
// last ones have a grid each.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace farscale {

inline constexpr std::size_t kMostDimensions = 4;
using GridVector = std::array<std::int32_t, kMostDimensions>;  // 1 or 0 for dimensions that are not there

struct RankGrid {
  GridVector extents{1, 1, 1, 1};  // all ranks, or the first program
  GridVector second{};             // the second program, whose ranks come behind; zeros if there is one program
  std::size_t seen_by = 0;         // the program that `extents` are of; see SeenBy

  static RankGrid OfTwo(const RankGrid& first, const RankGrid& second) { return {first.extents, second.extents}; }
  bool HasTwo() const { return second[0] > 0; }
  std::size_t programs() const { return HasTwo() ? 2 : 1; }

  std::int64_t size() const;
  std::size_t dimensions() const;  // larger than one, of the first program
  std::string Text() const;        // "4 × 2", "4 × 2 + 3"
  RankGrid Reversed() const;       // the last of its dimensions first, as MPI_Cart_create counts; of one program

  // Programs are 0 and 1, with consecutive ranks.
  std::size_t ProgramOf(std::int64_t rank) const { return HasTwo() && rank >= FirstOf(1) ? 1 : 0; }
  const GridVector& ExtentsOf(std::size_t program) const { return program == 0 ? extents : second; }
  std::int64_t FirstOf(std::size_t program) const;
  std::int64_t SizeOf(std::size_t program) const;
  RankGrid GridOf(std::size_t program) const { return {ExtentsOf(program)}; }
  RankGrid With(std::size_t program, const RankGrid& of_program) const;  // that grid instead
  // With the extents of a program first, so that laws and numbers of repetitions are those of its ranks. Ranks cannot
  // be found in it.
  RankGrid SeenBy(std::size_t program) const;
  // The base of powers of the number of ranks: the ranks of the larger program, since the smaller one may have as many
  // in all runs.
  std::int64_t Scale() const;

  // Within the grid of the program that the rank is of.
  GridVector Coordinates(std::int64_t rank) const;
  std::int64_t RankAt(const GridVector& coordinates, std::size_t program = 0) const;

  friend bool operator==(const RankGrid&, const RankGrid&) = default;
};

// Nothing where there are none or too many extents, one is not positive, or they have more than 2^30 ranks.
std::optional<RankGrid> GridWith(std::span<const std::int64_t> extents);

// All ordered factorisations of a number of ranks into the given number of extents, some of which may be 1.
std::vector<RankGrid> GridsOf(std::int64_t ranks, std::size_t dimensions);

// Where two programs run together: how many of the ranks are of the first. `n` of every `of` ranks and `plus` more: one
// of the two programs has as many ranks on any number of them where `plus` is not 0.
struct ProgramSplit {
  std::int64_t n = 0, of = 1, plus = 0;

  // Ranks of the first program; nothing where the split gives no such number, or the program that has as many ranks on
  // any number of them is not the smaller one.
  std::optional<std::int64_t> FirstOf(std::int64_t ranks) const;
};

// Those by which the first program has so many ranks in the runs, the plainest first. `first`: numbers to choose from,
// for every run.
std::vector<ProgramSplit> SplitsWith(const std::vector<std::int64_t>& ranks,
                                     const std::vector<std::vector<std::int64_t>>& first);

// The split of a series of layouts of two programs; nothing where they follow none.
std::optional<ProgramSplit> FindSplit(const std::vector<RankGrid>& series);

}  // namespace farscale
