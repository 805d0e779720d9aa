#include "trace/packed_column.h"

#include <algorithm>
#include <utility>

namespace farscale {
namespace {

// A value of up to 57 bits lies within the 8 bytes that begin at its first byte, wherever its first bit is; wider
// ones take a whole word each.
std::uint32_t WidthFor(std::uint64_t largest) {
  const auto width = static_cast<std::uint32_t>(std::bit_width(largest));
  return width > 57 ? 64 : width;
}

}  // namespace

PackedColumn& PackedColumn::operator=(const PackedColumn& other) {
  if (this == &other) return *this;
  size_ = other.size_;
  words_ = other.words_;
  Allocate();
  std::copy_n(other.data_.get(), DataWords(), data_.get());
  return *this;
}

void PackedColumnBuilder::PackPending(std::size_t count) {
  const auto [smallest, largest] = std::minmax_element(pending_.get(), pending_.get() + count);
  const auto base = static_cast<std::uint64_t>(*smallest);
  const std::uint32_t width = WidthFor(static_cast<std::uint64_t>(*largest) - base);
  const std::size_t first = words_.size();
  blocks_.push_back({*smallest, static_cast<std::uint32_t>(first), width});
  words_.resize(first + (count * width + 63) / 64);
  for (std::size_t i = 0; i < count && width > 0; ++i) {
    const std::uint64_t distance = static_cast<std::uint64_t>(pending_[i]) - base;
    const std::uint64_t bit = static_cast<std::uint64_t>(width) * i;
    const std::uint64_t shift = bit % 64;
    words_[first + bit / 64] |= distance << shift;
    if (shift + width > 64) words_[first + bit / 64 + 1] |= distance >> (64 - shift);
  }
}

PackedColumn PackedColumnBuilder::Finish() {
  if (size_ % PackedColumn::kBlock != 0) PackPending(size_ % PackedColumn::kBlock);
  pending_.reset();
  PackedColumn column;
  column.size_ = std::exchange(size_, 0);
  column.words_ = static_cast<std::uint32_t>(words_.size());
  column.Allocate();
  std::ranges::copy(words_, column.data_.get());
  std::uint64_t* next = column.data_.get() + words_.size();
  for (const PackedColumn::Block& block : blocks_) {
    std::memcpy(next, &block, sizeof block);
    next += PackedColumn::kWordsOfBlock;
  }
  words_ = {};
  blocks_ = {};
  return column;
}

}  // namespace farscale
