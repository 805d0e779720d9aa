/* Regions with names that are long, alike, strange or many. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "farscale.h"

static void region(const char* name) {
  farscale_region_start(name);
  usleep(1000);
  farscale_region_stop(name);
}

int main(int argc, char** argv) {
  char name[100];
  int i;
  MPI_Init(&argc, &argv);
  for (i = 0; argc > 1 && i < 300; ++i) {
    sprintf(name, "region %d", i);
    farscale_region_start(name);
    farscale_region_stop(name);
  }
  if (argc == 1) {
    memset(name, 'x', 70);
    strcpy(name + 70, "one");
    region(name);
    strcpy(name + 70, "two");
    region(name);
    region("line\nfeed");
    region("l\xc3\xb6se");
    region("whole");
    region("whole run");
    MPI_Pcontrol(1, "pc\xc3\xb6");
    usleep(1000);
    MPI_Pcontrol(-1, "pc\xc3\xb6");
    MPI_Pcontrol(-1, "a word that lies about");
    printf("whole\n");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
