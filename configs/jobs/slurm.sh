#!/bin/sh
# farscale on several nodes by SLURM: sbatch slurm.sh study.toml report
#SBATCH --job-name=farscale
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=16
#SBATCH --time=01:00:00
# Each process may use its share of the node's memory: traces need about as much as docs/large-traces.md says.
#SBATCH --mem=0
# What does not fit goes to files in TMPDIR, which should be a local disk.

study=${1:-study.toml}
report=${2:-report}
# Open MPI is started by PMIx, MPICH by PMI: srun --mpi=list shows what there is.
exec srun --mpi="${FARSCALE_PMI:-pmix}" farscale run "$study" -o "$report" --jobs "$SLURM_CPUS_PER_TASK"
