// Work on many pieces that the processes of a job share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace farscale {

// Pieces are known by their indices.
struct SharedWork {
  std::string_view service;  // that others do it by [parallel/job.h]
  std::function<std::string(const std::vector<std::size_t>& pieces)> request;
  std::function<void(const std::vector<std::size_t>& pieces, std::string_view answer)> take;
  std::function<void(const std::vector<std::size_t>& share)> begin;  // of this process; before any of it is done
  std::function<void(const std::vector<std::size_t>& pieces)> own;   // here
};

// Gives this process and those that it may ask shares of about equal size. Each is done in up to four portions, which
// are parts of the share in its order: what one process has done travels while it goes on, and none holds its share
// twice. `least`: the size of a portion that is worth a question. Without other processes all is one portion.
void ShareInPortions(const std::vector<std::uint64_t>& sizes, std::uint64_t least, const SharedWork& work);

}  // namespace farscale
