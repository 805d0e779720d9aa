// Checks of an OTF2 archive before the library gets it: on sizes and counts that cannot be, it would search or allocate
// for hours; a file that does not say where it ends keeps it reading for ever.
#pragma once

#include <cstdint>
#include <string>

namespace farscale {

// What the anchor says of the other files.
struct Otf2Layout {
  std::uint64_t event_chunk = 0;       // bytes
  std::uint64_t definition_chunk = 0;  // bytes
  bool is_plain = false;               // one file a location, not compressed
};

// Throws an input error saying which field is damaged. `definition_bytes` is the size of the definitions file, in
// which everything that the anchor counts must fit.
Otf2Layout RequireSoundAnchor(const std::string& path, std::uintmax_t definition_bytes);

enum class Otf2FileKind { kDefinitions, kEvents };

// Walks the records of the last chunk of a file that was written in chunks of `chunk_size` bytes. Throws an input
// error at `where` when they do not end in the mark of the end of the file. A file that cannot be opened is left to
// the library, which says why.
void RequireEndOfFile(const std::string& path, Otf2FileKind kind, std::uint64_t chunk_size, const std::string& where);

// The same for the definitions of a location. Returns whether they may change its events; they do not when they are
// clock offsets of 0 alone, or nothing. Then the library need not read them: it would clear a whole chunk for each of
// these small files.
bool RequireEndOfLocalDefinitions(const std::string& path, std::uint64_t chunk_size, const std::string& where);

}  // namespace farscale
