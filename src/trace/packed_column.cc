#include "trace/packed_column.h"

#include <algorithm>

namespace farscale {
namespace {

// A value of up to 57 bits lies within the 8 bytes that begin at its first byte, wherever its first bit is; wider
// ones take a whole word each.
std::uint32_t WidthFor(std::uint64_t largest) {
  const auto width = static_cast<std::uint32_t>(std::bit_width(largest));
  return width > 57 ? 64 : width;
}

}  // namespace

void PackedColumnBuilder::PackPending(std::size_t count) {
  const auto [smallest, largest] = std::minmax_element(pending_.get(), pending_.get() + count);
  const auto base = static_cast<std::uint64_t>(*smallest);
  const std::uint32_t width = WidthFor(static_cast<std::uint64_t>(*largest) - base);
  std::vector<std::uint64_t>& words = column_.words_;
  const std::size_t first = words.size();
  column_.blocks_.push_back({*smallest, static_cast<std::uint32_t>(first), width});
  words.resize(first + (count * width + 63) / 64);
  for (std::size_t i = 0; i < count && width > 0; ++i) {
    const std::uint64_t distance = static_cast<std::uint64_t>(pending_[i]) - base;
    const std::uint64_t bit = static_cast<std::uint64_t>(width) * i;
    const std::uint64_t shift = bit % 64;
    words[first + bit / 64] |= distance << shift;
    if (shift + width > 64) words[first + bit / 64 + 1] |= distance >> (64 - shift);
  }
}

PackedColumn PackedColumnBuilder::Finish() {
  if (column_.size_ % PackedColumn::kBlock != 0) PackPending(column_.size_ % PackedColumn::kBlock);
  pending_.reset();
  if (column_.size_ > 0) column_.words_.push_back(0);  // an element is read as 8 bytes, which reach past its last bit
  column_.words_.shrink_to_fit();
  column_.blocks_.shrink_to_fit();
  return std::move(column_);
}

}  // namespace farscale
