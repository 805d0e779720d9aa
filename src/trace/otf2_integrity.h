// A look at the anchor file of an OTF2 archive before the library gets it: on sizes and counts that cannot be, it
// would search or allocate for hours.
#pragma once

#include <cstdint>
#include <string>

namespace farscale {

// What of the anchor a look at the other files needs.
struct Otf2Layout {
  std::uint64_t event_chunk = 0;       // bytes
  std::uint64_t definition_chunk = 0;  // bytes
  bool is_plain = false;               // one file a location, not compressed
};

// Throws an input error saying which field is damaged. `definition_bytes` is the size of the definitions file, in
// which everything that the anchor counts must fit.
Otf2Layout RequireSoundAnchor(const std::string& path, std::uintmax_t definition_bytes);

}  // namespace farscale
