/*
 * pcap_fanout: what Tidewire's libpcap offers beside pcap(3PCAP).
 *
 * A program that calls it runs with a libpcap that has it: libtidewire_pcap.so, preloaded or in the
 * system library's place. To run with any libpcap, look for it:
 *
 *   #include <dlfcn.h>
 *   pcap_fanout_function join = (pcap_fanout_function)dlsym(RTLD_DEFAULT, "pcap_fanout");
 *   if (join != NULL && join(handle, 3, "hash") != 0)
 *       fprintf(stderr, "%s\n", pcap_geterr(handle));
 */
#ifndef TIDEWIRE_PCAP_FANOUT_H
#define TIDEWIRE_PCAP_FANOUT_H

#include <pcap/pcap.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The call is declared. */
#define PCAP_VERSION_FANOUT 1

/* Groups are numbered from 0 to this. A number stands for another group on every device. */
#define PCAP_FANOUT_GROUP_MAX 255

/*
 * Has a live handle share the packets of its devices with all other handles in the group, in this process and others.
 *
 * fanout: "hash", "lb", "cpu", "rollover", "rnd", "qm", "cbpf", "ebpf" or "data", each with "+defrag" or "+rollover"
 * behind it if wanted (packet(7), PACKET_FANOUT); or a steering program, as in "steer_flow". "cbpf" and "ebpf" take their
 * programs from the configuration (tidewire-pcap(7)).
 *
 * Best called before pcap_activate(3PCAP): packets that a handle received before it joined are its own, and other members
 * may have got them, too. A handle cannot leave its group; it does when it is closed.
 *
 * Returns 0; -1 if the mode is misspelt, the number is out of range, the group has members with other settings, or the
 * handle is not a live one on a network interface. pcap_geterr(3PCAP) says which.
 */
PCAP_API int pcap_fanout(pcap_t *handle, int group, const char *fanout);

/* Its type, for programs that look for it at run time. */
typedef int (*pcap_fanout_function)(pcap_t *, int, const char *);

#ifdef __cplusplus
}
#endif

#endif
