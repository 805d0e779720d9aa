// A look at the records of an OTF2 file before the library gets it: a file that does not say where it ends keeps
// the library reading for ever.
#pragma once

#include <cstdint>
#include <string>

namespace farscale {

enum class Otf2FileKind { kDefinitions, kEvents };

// Walks the records of the last chunk of a file that was written in chunks of `chunk_size` bytes. Throws an input
// error at `where` when they do not end in the mark of the end of the file. A file that cannot be opened is left to
// the library, which says why.
void RequireEndOfFile(const std::string& path, Otf2FileKind kind, std::uint64_t chunk_size, const std::string& where);

}  // namespace farscale
