// A column of integers in few bits.
//
// Assumption about the data: neighbouring values are close (times of one rank ascend, an iterative program calls
// the same few functions with the same few sizes). So values are kept in blocks of 256 as their distance from the
// block's smallest value, in as many bits as the block's largest distance needs: none where all are equal. That is
// what lets a trace in memory stay below its files on disk, and reading an element costs a shift and a mask. A rank has
// 20 columns, however few its events are, so that a column itself takes 16 bytes.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace farscale {

static_assert(std::endian::native == std::endian::little, "elements are read across word borders");

class PackedColumn {
 public:
  static constexpr std::size_t kBlock = 256;  // chosen: as the assumption above has it

  PackedColumn() = default;
  PackedColumn(const PackedColumn& other) { *this = other; }
  PackedColumn(PackedColumn&&) = default;
  PackedColumn& operator=(const PackedColumn& other);
  PackedColumn& operator=(PackedColumn&&) = default;

  std::size_t size() const { return size_; }

  std::int64_t operator[](std::size_t index) const {
    Block block;
    std::memcpy(&block, data_.get() + words_ + kWordsOfBlock * (index / kBlock), sizeof block);
    const std::uint64_t bit = static_cast<std::uint64_t>(block.width) * (index % kBlock);
    std::uint64_t word;
    std::memcpy(&word, reinterpret_cast<const char*>(data_.get() + block.word) + bit / 8, sizeof word);
    const std::uint64_t distance = (word >> (bit % 8)) & kMasks[block.width];
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(block.base) + distance);
  }

  std::size_t MemoryBytes() const { return DataWords() * sizeof(std::uint64_t); }

 private:
  friend class PackedColumnBuilder;

  struct Block {
    std::int64_t base;
    std::uint32_t word;
    std::uint32_t width;
  };
  static constexpr std::size_t kWordsOfBlock = sizeof(Block) / sizeof(std::uint64_t);

  static constexpr std::array<std::uint64_t, 65> kMasks = [] {
    std::array<std::uint64_t, 65> masks{};
    for (std::size_t width = 0; width < 64; ++width) masks[width] = (std::uint64_t{1} << width) - 1;
    masks[64] = ~std::uint64_t{0};
    return masks;
  }();

  std::size_t DataWords() const { return words_ + kWordsOfBlock * ((size_ + kBlock - 1) / kBlock); }

  void Allocate() {
    if (size_ > 0) data_ = std::make_unique_for_overwrite<std::uint64_t[]>(DataWords());
  }

  // Packed elements, then blocks: an element is read as 8 bytes, which reach past its last bit.
  std::unique_ptr<std::uint64_t[]> data_;
  std::uint32_t size_ = 0;   // calls and records of a rank have numbers of 32 bits
  std::uint32_t words_ = 0;  // used by elements
};

class PackedColumnBuilder {
 public:
  void Append(std::int64_t value) {
    if (!pending_) pending_ = std::make_unique<std::int64_t[]>(PackedColumn::kBlock);
    pending_[size_++ % PackedColumn::kBlock] = value;
    if (size_ % PackedColumn::kBlock == 0) PackPending(PackedColumn::kBlock);
  }

  std::size_t size() const { return size_; }

  // Hands over the column; the builder is done.
  PackedColumn Finish();

 private:
  void PackPending(std::size_t count);

  std::vector<PackedColumn::Block> blocks_;
  std::vector<std::uint64_t> words_;
  std::uint32_t size_ = 0;
  std::unique_ptr<std::int64_t[]> pending_;
};

}  // namespace farscale
