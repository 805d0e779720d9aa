"""Two ranks compute 10 and 20 ms in a region, five times."""

import sys
import time

from mpi4py import MPI

import farscale


def compute(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


@farscale.region("step")
def step():
    compute(0.01 * (MPI.COMM_WORLD.Get_rank() + 1))
    MPI.COMM_WORLD.Barrier()


with farscale.region("all steps"):
    for _ in range(5):
        step()
known = farscale.query("step", all_ranks=True)
if MPI.COMM_WORLD.Get_rank() == 0:
    print("nothing" if known is None else f"{known.ranks} ranks, {known.starts} starts", flush=True)
sys.exit(0)
