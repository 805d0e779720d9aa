// The files of an OTF2 archive, as the OTF2 library opens and reads them.
#pragma once

#include <otf2/otf2.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trace/otf2_definitions.h"
#include "trace/otf2_events.h"
#include "trace/otf2_integrity.h"

namespace farscale {

// Every location has its events, and definitions of its own: they translate the numbers of regions and communicators
// and correct the clock, so that without them all would look right and be wrong. Throws an input error when files are
// missing.
void RequireLocationFiles(const std::string& anchor, const std::vector<Otf2Location>& locations);

// Throws an input error when anchor or definitions are damaged or missing.
Otf2Layout RequireSoundDefinitions(const std::string& anchor);

// Throws an input error when the files of the location are cut short. Returns whether its definitions must be read,
// since they may change its events.
bool RequireEnds(const Otf2LocationReader& reader, const Otf2Layout& layout);

// The open archive, closed whatever happens. Safe for several threads.
class Otf2Archive {
 public:
  Otf2Archive(const std::string& anchor, const Otf2Layout& layout);
  ~Otf2Archive();
  Otf2Archive(const Otf2Archive&) = delete;
  Otf2Archive& operator=(const Otf2Archive&) = delete;

  OTF2_Reader* reader() { return reader_.get(); }
  const Otf2Layout& layout() const { return layout_; }

  // Of every `step`-th location from `first` on.
  void OpenFiles(const std::vector<Otf2Location>& locations, std::size_t first, std::size_t step);

  // Mapping tables and clock offsets of a location.
  void ReadLocalDefinitions(Otf2LocationReader& location);

  // Returns how many events were read.
  std::uint64_t ReadEvents(Otf2LocationReader& location, const OTF2_EvtReaderCallbacks* callbacks);

 private:
  std::string anchor_;
  Otf2Layout layout_;
  std::unique_ptr<OTF2_Reader, decltype(&OTF2_Reader_Close)> reader_{nullptr, OTF2_Reader_Close};
  bool has_definitions_ = false;
  bool has_events_ = false;
};

// The library searches all locations of a reader for every one it opens, one thread at a time. So locations are dealt
// out to several readers of the same archive, neighbours to different ones.
class Otf2LocationReaders {
 public:
  Otf2LocationReaders(Otf2Archive& first, const std::string& anchor, const std::vector<Otf2Location>& locations);

  Otf2Archive& Of(std::size_t location) const { return *readers_[location % readers_.size()]; }

 private:
  std::vector<Otf2Archive*> readers_;
  std::vector<std::unique_ptr<Otf2Archive>> others_;
};

}  // namespace farscale
