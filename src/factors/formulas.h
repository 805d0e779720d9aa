// The formulas of the efficiency factors of one run, and the times of threads and devices that some of them take
// [docs/formulas.md, factors]. One function a factor: times are in any one unit, results are shares. Nothing but
// inline functions, so that libraries which are preloaded into programs can use them, too.
#pragma once

namespace farscale {

// avg t / T [Rosas14, eq. 1]
inline double ParallelEfficiency(double average_useful, double elapsed) { return average_useful / elapsed; }
// avg t / max t [Rosas14, eq. 2]
inline double LoadBalance(double average_useful, double largest_useful) { return average_useful / largest_useful; }
// max L / max t, with L the mean useful time of the ranks of a node [Lopez21, eq. 6]
inline double LoadBalanceWithinNodes(double largest_node_load, double largest_useful) {
  return largest_node_load / largest_useful;
}
// avg t / max L [Lopez21, eq. 7]
inline double LoadBalanceBetweenNodes(double average_useful, double largest_node_load) {
  return average_useful / largest_node_load;
}
// max t / T [POP]
inline double CommunicationEfficiency(double largest_useful, double elapsed) { return largest_useful / elapsed; }
// max t / T_ideal [Rosas14, eq. 3]
inline double Serialization(double largest_useful, double ideal_elapsed) { return largest_useful / ideal_elapsed; }
// T_ideal / T [Rosas14, eq. 4]. The rule set bsc takes the computation of the replay for serialization and the useful
// time for communication efficiency, as the BSC tools do, and transfer is the one over the other
// [docs/formulas.md, two notions of useful time].
inline double Transfer(double ideal_elapsed, double elapsed) { return ideal_elapsed / elapsed; }

// Seconds, summed over all threads of all processes [docs/formulas.md, threads and devices].
struct ThreadTimes {
  double cpus = 0;  // N: threads that are ever in a team, and main threads
  double useful = 0;
  double mpi = 0, mpi_idle = 0;
  double imbalance = 0, scheduling = 0;
  double serialization = 0;  // with what follows
  double idle_in_region = 0;
  double device_runtime = 0;

  // A, and what MPI leaves to the threads.
  double Work() const { return useful + device_runtime; }
  double OutsideMpi() const { return Work() + serialization + imbalance + scheduling; }

  friend bool operator==(const ThreadTimes&, const ThreadTimes&) = default;
};

// [POP hybrid, multiplicative]: (A + R) / (A + R + I), (A + R + I) / (A + R + I + S), A / (A + R), and their product.
inline double OmpLoadBalance(const ThreadTimes& t) {
  return (t.Work() + t.serialization) / (t.Work() + t.serialization + t.imbalance);
}
inline double OmpScheduling(const ThreadTimes& t) {
  return (t.Work() + t.serialization + t.imbalance) / t.OutsideMpi();
}
inline double OmpSerialization(const ThreadTimes& t) { return t.Work() / (t.Work() + t.serialization); }
inline double OmpParallelEfficiency(const ThreadTimes& t) { return t.Work() / t.OutsideMpi(); }
// Σ useful / A
inline double DeviceOffload(const ThreadTimes& t) { return t.useful / t.Work(); }

// Seconds of devices.
struct DeviceTimes {
  double devices = 0;
  double kernels = 0;       // summed over the devices
  double most_kernels = 0;  // in one of them
  double most_active = 0;   // in kernels or copies of one of them

  friend bool operator==(const DeviceTimes&, const DeviceTimes&) = default;
};

// Σ kernels / (devices · T) is the product of Σ kernels / (devices · max kernels), max kernels / max active and
// max active / T [POP].
inline double DeviceParallelEfficiency(const DeviceTimes& t, double elapsed) {
  return t.kernels / (t.devices * elapsed);
}
inline double DeviceLoadBalance(const DeviceTimes& t) { return t.kernels / (t.devices * t.most_kernels); }
inline double DeviceCommunication(const DeviceTimes& t) { return t.most_kernels / t.most_active; }
inline double DeviceOrchestration(const DeviceTimes& t, double elapsed) { return t.most_active / elapsed; }

}  // namespace farscale
