/* What a handle on the loopback interface becomes, and whether this program has other rights than its caller. */
#include <pcap/pcap.h>
#include <stdio.h>
#include <sys/auxv.h>

int main(void) {
  char error[PCAP_ERRBUF_SIZE] = "";
  printf("secure %lu\n", getauxval(AT_SECURE));
  fflush(stdout);
  printf("version %s\n", pcap_lib_version());
  pcap_t *pcap = pcap_create("lo", error);
  if (!pcap) {
    printf("create: %s\n", error);
    return 0;
  }
  pcap_set_timeout(pcap, 10);
  int status = pcap_activate(pcap);
  printf("activate %d: %s\n", status, status < 0 ? pcap_geterr(pcap) : "");
  pcap_close(pcap);
  return 0;
}
