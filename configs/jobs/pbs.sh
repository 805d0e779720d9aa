#!/bin/sh
# farscale on several nodes by PBS: qsub -v study=study.toml,report=report pbs.sh
#PBS -N farscale
#PBS -l select=4:ncpus=32:mpiprocs=2:mem=120gb
#PBS -l walltime=01:00:00
# Each process may use its share of the node's memory: traces need about as much as docs/large-traces.md says.
# What does not fit goes to files in TMPDIR, which should be a local disk.

cd "${PBS_O_WORKDIR:-.}" || exit 1
# Open MPI would bind all threads of a process to one core.
export OMPI_MCA_hwloc_base_binding_policy=none
# As many processes as the file with the nodes has lines.
exec mpirun -n "$(wc -l < "$PBS_NODEFILE")" farscale run "${study:-study.toml}" -o "${report:-report}" --jobs 16
