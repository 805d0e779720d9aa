// The work of OpenMP threads in a trace: a location for every thread beside the main one, forks and joins,
// teams, barriers and tasks, in the layout that Score-P uses. Teams that the main thread makes outside of others are
// recorded; of nested ones, what their main threads do.
//
// Events of other threads than the main one are kept in memory, and written when the archive is closed.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <string>
#include <vector>

#include "collect/clock.h"
#include "collect/trace/trace_definitions.h"

namespace farscale::collect {

// True if a team that the calling thread, the main one, makes now is recorded.
bool IsRecordingTeams();

// Threads are numbered as their records in the page are: the main one is 0.
void RecordFork(unsigned threads, Tick time);
void RecordTeamBegin(std::size_t thread, unsigned size, Tick time);
void RecordBarrier(std::size_t thread, bool is_implicit, bool is_enter, Tick time);
void RecordTask(std::size_t thread, bool is_begin, Tick time);
// For other threads than the main one.
void RecordDeviceCall(std::size_t thread, bool is_enter, Tick time);
// Called by the thread that ends the team, for each of its threads, itself last: what is open ends.
void RecordTeamEnd(std::size_t thread, unsigned size, Tick time);
void RecordJoin(Tick time);

// Those of this rank. Threads that were in a team of a size are among its members.
std::vector<ThreadDefinition> OwnThreads();
std::vector<TeamDefinition> OwnTeams();
// Then no threads are written.
bool HasTooManyThreadEvents();

// True if all could be written. Before the files of events are closed.
bool WriteThreadEvents(OTF2_Archive* archive);
// For a trace that is given up.
void RemoveThreadFiles(const std::string& folder);
// The size that the events of an estimate would have. Nothing is written.
TraceSize SizeOfThreadEvents(OTF2_Archive* archive);

// Bytes of the location whose events were written last, and not to a file.
std::uint64_t BytesOfLastWritten(std::uint64_t events);

// Memory for the events of these locations, as the callbacks of an archive give it.
bool IsLocationOfThread(std::uint64_t location);
void* AllocateForThread(void** of_buffer, std::uint64_t size);
void FreeOfThread(void** of_buffer);

}  // namespace farscale::collect
