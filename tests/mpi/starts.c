/* Starts another program with a library preloaded: starts HOW LIBRARY PROGRAM, in each of the ways that POSIX has beside
 * the plain exec functions. */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

int main(int argc, char** argv) {
  char* program[] = {NULL, "one", "two", NULL};
  pid_t child;
  int status = 1;
  if (argc != 4 || setenv("LD_PRELOAD", argv[2], 1) != 0) return 1;
  program[0] = argv[3];
  if (!strcmp(argv[1], "execl")) execl(argv[3], argv[3], "one", "two", NULL);
  if (!strcmp(argv[1], "execlp")) execlp(argv[3], argv[3], "one", "two", NULL);
  if (!strcmp(argv[1], "execle")) execle(argv[3], argv[3], "one", "two", NULL, environ);
  if (!strcmp(argv[1], "spawn") && posix_spawn(&child, argv[3], NULL, NULL, program, environ) != 0) return 1;
  if (!strcmp(argv[1], "spawnp") && posix_spawnp(&child, argv[3], NULL, NULL, program, environ) != 0) return 1;
  if (strncmp(argv[1], "spawn", 5) != 0 || waitpid(child, &status, 0) != child) return 1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
