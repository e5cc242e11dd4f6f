/* A library that nobody with other rights than its caller's may load. */
#include <stdio.h>

__attribute__((constructor)) static void begin(void) {
  printf("taken over\n");
  fflush(stdout);
}
