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

struct FoundPage {
  std::string path;
  Page page;        // a copy
  bool is_running;  // its process still exists and has not ended its measurement
};

// Pages of this user; of one job unless `job` is empty.
std::vector<FoundPage> FindPages(const std::string& job);

// True for the first who asks on this node, so that one alone prints.
bool TellOnce(const std::string& job);

// Removes what processes left behind that ended without a word.
void RemoveStalePages();

}  // namespace farscale::collect
