#include "trace/otf2_archive.h"

#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iterator>

#include <otf2/OTF2_Pthread_Locks.h>  // wants <cstdlib> before it

#include "base/error.h"
#include "base/parallel.h"
#include "base/text.h"
#include "trace/otf2_library.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;

// The files of archive.otf2 are archive.def and, for location 7, archive/7.def and archive/7.evt.
fs::path DefinitionsFile(fs::path anchor) { return anchor.replace_extension(".def"); }
fs::path LocationFile(const fs::path& anchor, OTF2_LocationRef location, const char* extension) {
  return anchor.parent_path() / anchor.stem() / fmt::format("{}.{}", location, extension);
}

std::uintmax_t DefinitionBytes(const std::string& anchor) {
  std::error_code code;
  const fs::path definitions = DefinitionsFile(anchor);
  const std::uintmax_t bytes = fs::file_size(definitions, code);
  if (code) {
    throw Error(ErrorKind::kInput, anchor, "its definitions are missing: there is no " + definitions.string(),
                "copy the whole archive: anchor, definitions and the folder of events");
  }
  return bytes;
}

}  // namespace

void RequireLocationFiles(const std::string& anchor_path, const std::vector<Otf2Location>& locations) {
  const fs::path anchor(anchor_path);
  constexpr const char* kExtensions[] = {"evt", "def"};
  std::vector<char> is_there[] = {std::vector<char>(locations.size()), std::vector<char>(locations.size())};
  ParallelForBlocks(locations.size(), [&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      for (std::size_t k = 0; k < std::size(kExtensions); ++k) {
        std::error_code code;
        is_there[k][i] =
            fs::is_regular_file(LocationFile(anchor, locations[i].reference, kExtensions[k]), code) ? 1 : 0;
      }
    }
  });
  std::vector<std::string> missing;
  for (std::size_t k = 0; k < std::size(kExtensions); ++k) {
    for (std::size_t i = 0; i < locations.size(); ++i) {
      if (is_there[k][i] != 0) continue;
      missing.push_back(fmt::format("{}.{} (rank {})", locations[i].reference, kExtensions[k], locations[i].rank));
    }
  }
  if (missing.empty()) return;
  const std::size_t count = missing.size();
  if (count > 5) missing.resize(5);
  throw Error(
      ErrorKind::kInput, anchor.string(),
      fmt::format("{} of {} files are missing from {}: {}{}", count, 2 * locations.size(),
                  (anchor.parent_path() / anchor.stem()).string(), Join(missing, ", "), count > 5 ? ", ..." : ""),
      "copy the whole archive: anchor, definitions and the folder of events");
}

Otf2Layout RequireSoundDefinitions(const std::string& anchor) {
  const Otf2Layout layout = RequireSoundAnchor(anchor, DefinitionBytes(anchor));
  if (layout.is_plain) {
    RequireEndOfFile(DefinitionsFile(anchor).string(), Otf2FileKind::kDefinitions, layout.definition_chunk, anchor);
  }
  return layout;
}

bool RequireEnds(const Otf2LocationReader& reader, const Otf2Layout& layout) {
  if (!layout.is_plain) return true;
  const OTF2_LocationRef location = reader.location.reference;
  const bool needs_definitions = RequireEndOfLocalDefinitions(LocationFile(reader.path, location, "def").string(),
                                                              layout.definition_chunk, reader.Where());
  RequireEndOfFile(LocationFile(reader.path, location, "evt").string(), Otf2FileKind::kEvents, layout.event_chunk,
                   reader.Where());
  return needs_definitions;
}

Otf2Archive::Otf2Archive(const std::string& anchor, const Otf2Layout& layout) : anchor_(anchor), layout_(layout) {
  CaptureOtf2Errors();
  reader_.reset(OTF2_Reader_Open(anchor.c_str()));
  if (reader_ == nullptr) CheckOtf2(OTF2_ERROR_INVALID, anchor, "opening the OTF2 archive");
  CheckOtf2(OTF2_Reader_SetSerialCollectiveCallbacks(reader()), anchor, "opening the OTF2 archive");
  CheckOtf2(OTF2_Pthread_Reader_SetLockingCallbacks(reader(), nullptr), anchor, "opening the OTF2 archive");
}

Otf2Archive::~Otf2Archive() {
  if (has_definitions_) OTF2_Reader_CloseDefFiles(reader());
  if (has_events_) OTF2_Reader_CloseEvtFiles(reader());
}

void Otf2Archive::OpenFiles(const std::vector<Otf2Location>& locations, std::size_t first, std::size_t step) {
  for (std::size_t i = first; i < locations.size(); i += step) {
    CheckOtf2(OTF2_Reader_SelectLocation(reader(), locations[i].reference), anchor_, "selecting a location");
  }
  CheckOtf2(OTF2_Reader_OpenDefFiles(reader()), anchor_, "opening the definition files");
  has_definitions_ = true;
  CheckOtf2(OTF2_Reader_OpenEvtFiles(reader()), anchor_, "opening the event files");
  has_events_ = true;
}

void Otf2Archive::ReadLocalDefinitions(Otf2LocationReader& location) {
  TakeOtf2Message();
  OTF2_DefReader* definitions = OTF2_Reader_GetDefReader(reader(), location.location.reference);
  if (definitions == nullptr) CheckOtf2(OTF2_ERROR_FILE_CAN_NOT_OPEN, location.Where(), "opening the definitions");
  std::uint64_t count = 0;
  const OTF2_ErrorCode code = OTF2_Reader_ReadAllLocalDefinitions(reader(), definitions, &count);
  OTF2_Reader_CloseDefReader(reader(), definitions);
  CheckOtf2(code, location.Where(), "reading the local definitions");
}

std::uint64_t Otf2Archive::ReadEvents(Otf2LocationReader& location, const OTF2_EvtReaderCallbacks* callbacks) {
  TakeOtf2Message();
  OTF2_EvtReader* events = OTF2_Reader_GetEvtReader(reader(), location.location.reference);
  if (events == nullptr) CheckOtf2(OTF2_ERROR_FILE_CAN_NOT_OPEN, location.Where(), "opening the event file");
  std::uint64_t count = 0;
  OTF2_ErrorCode code = OTF2_EvtReader_ApplyMappingTables(events, true);
  if (code == OTF2_SUCCESS) code = OTF2_EvtReader_ApplyClockOffsets(events, true);
  if (code == OTF2_SUCCESS) code = OTF2_Reader_RegisterEvtCallbacks(reader(), events, callbacks, &location);
  if (code == OTF2_SUCCESS) code = OTF2_Reader_ReadAllLocalEvents(reader(), events, &count);
  OTF2_Reader_CloseEvtReader(reader(), events);
  if (location.failure) std::rethrow_exception(location.failure);
  CheckOtf2(code, location.Where(), fmt::format("reading the event after number {}", count));
  return count;
}

Otf2LocationReaders::Otf2LocationReaders(Otf2Archive& first, const std::string& anchor,
                                         const std::vector<Otf2Location>& locations) {
  constexpr std::size_t kLocationsOfOne = 128;  // chosen: opening a reader takes as long as searching so many times
  const std::size_t count = first.layout().is_plain ? (locations.size() + kLocationsOfOne - 1) / kLocationsOfOne : 1;
  readers_.push_back(&first);
  while (readers_.size() < count) {
    readers_.push_back(others_.emplace_back(std::make_unique<Otf2Archive>(anchor, first.layout())).get());
  }
  for (std::size_t i = 0; i < readers_.size(); ++i) readers_[i]->OpenFiles(locations, i, readers_.size());
}

}  // namespace farscale
