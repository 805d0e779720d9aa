// TALP's data of one region of a run, and its row of a factor table.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/diagnostics.h"
#include "factors/factor_table.h"

namespace farscale {

// Time of a process outside MPI, seconds.
struct OutsideMpi {
  double average = 0;
  std::optional<double> most, most_of_node;
};

// In seconds. Sums are over all CPUs of all processes; "normalised" is a sum over the CPUs of a process, or of a node,
// divided by their number.
struct TalpRegion {
  std::string name;
  std::string where;  // with its file, for messages
  // Useful time counts all CPUs of a process while it is outside MPI: before 3.5, and as this program writes it. Else a
  // CPU is useful by itself.
  bool at_process_level = false;

  std::int64_t ranks = 0;      // in the region
  std::int64_t all_ranks = 0;  // in the run
  std::int64_t cpus = 0;       // in the run
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> measurements;  // sum over the processes
  double gpus = 0;
  std::optional<double> own_cpus, average_cpus;  // other counts of the CPUs of the region

  double elapsed = 0;  // the longest of any process
  std::optional<double> useful;
  std::optional<double> mpi;       // only threads that call MPI
  std::optional<double> mpi_idle;  // the other threads meanwhile, since 3.8
  std::optional<double> omp_imbalance, omp_scheduling, omp_serialization;
  double gpu_calls = 0;                                               // on the host
  double gpu_kernels = 0, most_gpu_kernels = 0, most_gpu_active = 0;  // on the devices
  std::optional<double> most_useful, most_useful_node;                // normalised, up to 3.5
  std::optional<double> least_mpi, least_mpi_node;                    // normalised, since 3.6
  std::optional<double> instructions, cycles;                         // in useful time

  double OpenMpLost() const {
    return omp_imbalance.value_or(0) + omp_scheduling.value_or(0) + omp_serialization.value_or(0);
  }
  bool HasOpenMp() const { return omp_imbalance || omp_scheduling || omp_serialization; }

  FactorValues given;  // rounded to two digits; MPI's is that of the whole where the file has none of MPI
};

using NotePlace = std::function<void(const Anomaly&, const std::string& place)>;

// Everything of the row but phase, iterations, span and repeat. Nothing for a region without any known factor;
// `note` gets that and all other anomalies.
std::optional<FactorRow> RowOf(const TalpRegion& region, const NotePlace& note);

}  // namespace farscale
