// Pages as files in shared memory: one a process, named after job and rank, readable by their owner alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collect/page.h"

namespace farscale::collect {

// Where pages lie: /dev/shm, or FARSCALE_PAGES, for tests and machines without.
std::string PageFolder();

// Opens a file of this user for reading; -1 where it is none. Sets its size.
int OpenOwnFile(const std::string& path, std::size_t& bytes);
// A new file of zeros for this user alone, mapped; nullptr when there is no room for it.
void* MapNewFile(const std::string& path, std::size_t bytes);

// A new page of zeros, mapped; nullptr when that is not possible, and then the process measures in memory of its own.
Page* CreatePage(const std::string& path);
std::string PagePath(const std::string& job, int rank);

// When a process was started, by the kernel's count; 0 when it is none or a zombie.
std::uint64_t ProcessStarted(int pid);
bool ProcessExists(const Page& page);

// True if all texts of a page end.
bool HasTexts(const Page& page);

// Copies of the pages of this user.
std::vector<Page> FindPages();

// True if no lower rank of the job has a page on this node.
bool IsLowestHere(const std::string& job, int rank);

// The pages of a job of this user, mapped for reading, so that they stay when their files go.
std::vector<const Page*> MapPages(const std::string& job);

// A dump: what rank 0 hands to the farscale program at MPI_Finalize [docs/file-formats.md, dumps].
struct PageDump {
  std::string trace;     // sentences on the trace that was written; empty without one
  TraceSize estimate{};  // no events where nothing was estimated
  std::vector<Page> pages;
};

// Its head, and then the pages of all ranks one by one. False where they cannot be written.
bool WriteDumpHead(int file, int ranks, const std::string& trace, const TraceSize& estimate);
bool WriteDumpPage(int file, const Page& page);

// Nothing where the file is no dump or not a whole one.
std::optional<PageDump> ReadDump(const std::string& path);

// Removes the pages of processes that were killed.
void RemoveStalePages();

// For the launcher: the file, made for this process, which is about to become the program; empty where there is no
// room.
std::string MarkLaunch();

// For the library: when it is loaded, and when a run begins.
void WatchLaunch();
void ForgetLaunch();

// The regions that alone are to be recorded, as --record-only names them: REGION or REGION:i..j, its occurrences from i
// to j on every rank, counted from 1.

struct RecordedRegion {
  std::string name;    // as pages have it
  std::string window;  // the region of pages that these occurrences are: `name` when they are all
  std::uint64_t first = 1;
  std::uint64_t last = ~std::uint64_t{0};
};

// ":3", ":3..5" and ":3.." at the end are occurrences; anything else belongs to the name.
RecordedRegion ParseRecordedRegion(const std::string& text);

// From FARSCALE_ONLY, one a line.
std::vector<RecordedRegion> RecordedRegions();
std::vector<std::string> WindowNames();

}  // namespace farscale::collect
