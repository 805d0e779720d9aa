// Pages as files in shared memory: one a process, named after job and rank, readable by their owner alone.
#pragma once

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

}  // namespace farscale::collect
