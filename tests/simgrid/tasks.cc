// Tasks that share hosts, by SimGrid, for scripts/compare_simgrid:
//
//     tasks LOADS PROCESSORS REPETITIONS
//
// LOADS is a file of loaded_traces: how tasks synchronise, then the microseconds of every task and iteration. Tasks lie
// on processors in blocks; the iterations run again and again. Messages take no time. Prints the makespan in seconds.
#include <simgrid/s4u.hpp>

#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

namespace {

constexpr double kSpeed = 1e6;  // a second has so many microseconds

struct Tasks {
  std::string synchronization;
  std::size_t count = 0, iterations = 0;
  std::vector<std::vector<double>> loads;
};

Tasks Read(const char* path) {
  std::ifstream file(path);
  Tasks tasks;
  file >> tasks.synchronization >> tasks.count >> tasks.iterations;
  tasks.loads.assign(tasks.count, std::vector<double>(tasks.iterations));
  for (auto& task : tasks.loads) {
    for (double& load : task) file >> load;
  }
  return tasks;
}

// What one task sends another and has not been received.
class Messages {
 public:
  sg4::Semaphore& Between(std::size_t from, std::size_t to) {
    auto& found = semaphores_[{from, to}];
    if (!found) found = sg4::Semaphore::create(0);
    return *found;
  }

 private:
  std::map<std::pair<std::size_t, std::size_t>, sg4::SemaphorePtr> semaphores_;
};

void RunTask(const Tasks& tasks, std::size_t task, std::size_t repetitions, Messages& messages, sg4::Barrier& barrier) {
  const std::size_t next = (task + 1) % tasks.count, before = (task + tasks.count - 1) % tasks.count;
  const bool is_chain = tasks.synchronization == "chain", is_halo = tasks.synchronization == "halo";
  for (std::size_t i = 0; i < repetitions * tasks.iterations; ++i) {
    if (is_chain && task > 0) messages.Between(task - 1, task).acquire();
    sg4::this_actor::execute(tasks.loads[task][i % tasks.iterations]);
    if (is_chain && task + 1 < tasks.count) messages.Between(task, task + 1).release();
    if (is_halo) {
      messages.Between(task, next).release();
      messages.Between(task, before).release();
      messages.Between(next, task).acquire();
      messages.Between(before, task).acquire();
    }
    if (!is_chain && !is_halo) barrier.wait();
  }
}

}  // namespace

int main(int argc, char** argv) {
  sg4::Engine engine(&argc, argv);
  if (argc != 4) return 2;
  const Tasks tasks = Read(argv[1]);
  const std::size_t processors = std::stoul(argv[2]), repetitions = std::stoul(argv[3]);
  auto* zone = sg4::create_full_zone("zone");
  std::vector<sg4::Host*> hosts;
  for (std::size_t i = 0; i < processors; ++i) hosts.push_back(zone->create_host("host" + std::to_string(i), kSpeed));
  zone->seal();
  Messages messages;
  const auto barrier = sg4::Barrier::create(static_cast<unsigned>(tasks.count));
  for (std::size_t task = 0; task < tasks.count; ++task) {
    sg4::Actor::create("task" + std::to_string(task), hosts[task * processors / tasks.count],
                       [&, task] { RunTask(tasks, task, repetitions, messages, *barrier); });
  }
  engine.run();
  std::printf("%.9f\n", sg4::Engine::get_clock());
  return 0;
}
