// The work of OpenMP threads in a trace: a location for every thread beside the main one, forks and joins,
// teams, barriers and tasks, in the layout that Score-P uses. Teams that the main thread makes outside of others are
// recorded; of nested ones, what their main threads do.
//
// Events of other threads than the main one are kept in memory, and written when the archive is closed.
#pragma once

#include <otf2/otf2.h>

#include <vector>

#include "collect/threads/counters.h"
#include "collect/trace/trace_definitions.h"
#include "mpi_functions.h"

namespace farscale::collect {

// True if a team that the calling thread, the main one, makes now is recorded.
bool IsRecordingTeams();

// Threads are numbered as their records in the page are: the main one is 0.
void RecordFork(unsigned threads, Tick time);
void RecordTeamBegin(std::size_t thread, unsigned size, Tick time);
void RecordBarrier(std::size_t thread, bool is_implicit, bool is_enter, Tick time);
// A task or another region begins or ends. The events of the main thread are written at once.
void RecordEdge(std::size_t thread, CallId region, bool is_enter, Tick time);
// For other threads than the main one.
void RecordDeviceCall(std::size_t thread, bool is_enter, Tick time);
// Called by the thread that ends the team, for each of its threads, itself last: what is open ends.
void RecordTeamEnd(std::size_t thread, unsigned size, Tick time);
void RecordJoin(Tick time);

// Those of this rank. Threads that were in a team of a size are among its members.
LocationDefinitions OwnThreads();
std::vector<GroupDefinition> OwnTeams();
// Then no threads are written.
bool HasTooManyThreadEvents();

// As WriteLocation, for all threads. Before the files of events are closed.
bool WriteThreadEvents(OTF2_Archive* archive, TraceSize* estimate);

}  // namespace farscale::collect
