// The end of a file of events whose writer is gone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace farscale::collect {

struct EventFile {
  std::uint64_t events = 0;
  std::uint64_t last_time = 0;  // of the last event; 0 without one
};

// Ends a file of chunks behind its event number `events`, or behind its last whole one. Nothing where it is no file of
// events or cannot be written.
std::optional<EventFile> EndEventFile(const std::string& path, std::uint64_t events);

// Bytes of one chunk in memory up to its event number `events`, counted from the begin of the trace.
std::uint64_t UsedOfChunk(const char* chunk, std::uint64_t events);

}  // namespace farscale::collect
