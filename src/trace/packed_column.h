// A column of integers in few bits.
//
// Assumption about the data: neighbouring values are close (times of one rank ascend, an iterative program calls
// the same few functions with the same few sizes). So values are kept in blocks of 256 as their distance from the
// block's smallest value, in as many bits as the block's largest distance needs: none where all are equal. That is
// what lets a trace in memory stay below its files on disk, and reading an element costs a shift and a mask.
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

  std::size_t size() const { return size_; }

  std::int64_t operator[](std::size_t index) const {
    const Block& block = blocks_[index / kBlock];
    const std::uint64_t bit = static_cast<std::uint64_t>(block.width) * (index % kBlock);
    std::uint64_t word;
    std::memcpy(&word, reinterpret_cast<const char*>(words_.data() + block.word) + bit / 8, sizeof word);
    const std::uint64_t distance = (word >> (bit % 8)) & kMasks[block.width];
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(block.base) + distance);
  }

  std::size_t MemoryBytes() const {
    return blocks_.capacity() * sizeof(Block) + words_.capacity() * sizeof(std::uint64_t);
  }

  // For another process [parallel/bytes.h].
  template <typename Bytes>
  friend void TransferBytes(Bytes& bytes, PackedColumn& column) {
    bytes.Transfer(column.blocks_);
    bytes.Transfer(column.words_);
    bytes.Transfer(column.size_);
  }

 private:
  friend class PackedColumnBuilder;

  struct Block {
    std::int64_t base;
    std::uint32_t word;
    std::uint32_t width;
  };

  static constexpr std::array<std::uint64_t, 65> kMasks = [] {
    std::array<std::uint64_t, 65> masks{};
    for (std::size_t width = 0; width < 64; ++width) masks[width] = (std::uint64_t{1} << width) - 1;
    masks[64] = ~std::uint64_t{0};
    return masks;
  }();

  std::vector<Block> blocks_;
  std::vector<std::uint64_t> words_;
  std::size_t size_ = 0;
};

class PackedColumnBuilder {
 public:
  void Append(std::int64_t value) {
    if (!pending_) pending_ = std::make_unique<std::int64_t[]>(PackedColumn::kBlock);
    pending_[column_.size_++ % PackedColumn::kBlock] = value;
    if (column_.size_ % PackedColumn::kBlock == 0) PackPending(PackedColumn::kBlock);
  }

  std::size_t size() const { return column_.size_; }

  // Hands over the column; the builder is done.
  PackedColumn Finish();

 private:
  void PackPending(std::size_t count);

  PackedColumn column_;
  std::unique_ptr<std::int64_t[]> pending_;
};

}  // namespace farscale
