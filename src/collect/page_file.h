// Pages as files in shared memory: one a process, named after job and rank, readable by their owner alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collect/page.h"

namespace farscale::collect {

// Where pages lie: /dev/shm, or FARSCALE_PAGES, for tests and machines without.
std::string PageFolder();

// A new page of zeros, mapped; nullptr when that is not possible, and then the process measures in memory of its own.
Page* CreatePage(const std::string& path);
std::string PagePath(const std::string& job, int rank);

// When a process was started, by the kernel's count; 0 when it is none or a zombie.
std::uint64_t ProcessStarted(int pid);
// Whether the process that this page is of still exists.
bool ProcessExists(const Page& page);

struct FoundPage {
  std::string path;
  Page page;        // a copy
  bool is_running;  // its process still exists and has not ended its measurement
};

// Pages of this user; of one job unless `job` is empty.
std::vector<FoundPage> FindPages(const std::string& job);

// Whether no lower rank of the job has a page on this node.
bool IsLowestHere(const std::string& job, int rank);

// A page of this user, mapped for reading, so that it stays when its file goes; nullptr if there is none.
const Page* MapPage(const std::string& path);
std::vector<const Page*> MapPages(const std::string& job);

// Removes the pages of processes that were killed.
void RemoveStalePages();

// For the launcher: the file, made for this process, which is about to become the program; empty where there is no
// room.
std::string MarkLaunch();

// For the library: when it is loaded, and when a run begins.
void WatchLaunch();
void ForgetLaunch();

// Whether a launch's file is left of a process that is gone.
bool IsStaleLaunch(const std::string& path);

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

// Of FARSCALE_ONLY, one a line.
std::vector<RecordedRegion> RecordedRegions();
std::vector<std::string> WindowNames();

}  // namespace farscale::collect
