/* A single-threaded traffic classifier over libpcap and nDPI: `ndpi-loop IFACE`, until SIGTERM; or `ndpi-loop -r FILE`. nDPI
 * inspects every IPv4 packet; a flow's state is reset after 32 packets, so that the work does not end once all flows are
 * classified. Prints one line of JSON. */
#include <ndpi/ndpi_main.h>
#include <pcap/pcap.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1 << 17, PACKETS_LOOKED_AT = 32 };

struct flow {
    struct flow *next;
    uint32_t low, high, ports;
    uint8_t protocol, packets;
    struct ndpi_flow_struct *state;
};

static struct flow *buckets[BUCKETS];
static struct ndpi_detection_module_struct *module;
static unsigned long long packets, bytes, flows, known;
static pcap_t *capture;

static struct flow *find(uint32_t low, uint32_t high, uint32_t ports, uint8_t protocol) {
    uint64_t hash = ((uint64_t)low * 0x9E3779B97F4A7C15u) ^ ((uint64_t)high * 0xC2B2AE3D27D4EB4Fu) ^ ((uint64_t)ports * 0x165667B19E3779F9u) ^ protocol;
    struct flow **place = &buckets[(hash ^ hash >> 29) % BUCKETS];
    for (struct flow *flow = *place; flow; flow = flow->next)
        if (flow->low == low && flow->high == high && flow->ports == ports && flow->protocol == protocol) return flow;
    struct flow *flow = calloc(1, sizeof *flow);
    *flow = (struct flow){*place, low, high, ports, protocol, 0, NULL};
    *place = flow;
    flows++;
    return flow;
}

static void see(u_char *user, const struct pcap_pkthdr *header, const u_char *frame) {
    (void)user;
    packets++;
    bytes += header->len;
    if (header->caplen < 14 + 20 || frame[12] != 8 || frame[13] != 0 || frame[14] >> 4 != 4) return;
    const u_char *ip = frame + 14;
    unsigned length = (unsigned)(ip[0] & 15) * 4, total = header->caplen - 14;
    uint32_t from, to, ports = 0;
    memcpy(&from, ip + 12, 4);
    memcpy(&to, ip + 16, 4);
    if ((ip[9] == 6 || ip[9] == 17) && total >= length + 4) {
        uint32_t source = (uint32_t)ip[length] << 8 | ip[length + 1], target = (uint32_t)ip[length + 2] << 8 | ip[length + 3];
        ports = source < target ? source << 16 | target : target << 16 | source;
    }
    struct flow *flow = from < to ? find(from, to, ports, ip[9]) : find(to, from, ports, ip[9]);
    if (!flow->state) flow->state = ndpi_flow_malloc(SIZEOF_FLOW_STRUCT), memset(flow->state, 0, SIZEOF_FLOW_STRUCT);
    uint64_t time_ms = (uint64_t)header->ts.tv_sec * 1000 + (uint64_t)header->ts.tv_usec / 1000;
    ndpi_protocol found = ndpi_detection_process_packet(module, flow->state, ip, (unsigned short)total, time_ms);
    if (++flow->packets == PACKETS_LOOKED_AT) {
        known += found.app_protocol != NDPI_PROTOCOL_UNKNOWN || found.master_protocol != NDPI_PROTOCOL_UNKNOWN;
        flow->packets = 0;
        ndpi_free_flow(flow->state);
        flow->state = NULL;
    }
}

static void stop(int number) {
    (void)number;
    pcap_breakloop(capture);
}

int main(int count, char **words) {
    char error[PCAP_ERRBUF_SIZE] = "";
    if (count < 2) return 2;
    if (count == 3 && strcmp(words[1], "-r") == 0) {
        capture = pcap_open_offline(words[2], error);
    } else if ((capture = pcap_create(words[1], error))) {
        pcap_set_snaplen(capture, 65535);
        pcap_set_promisc(capture, 1);
        pcap_set_timeout(capture, 100);
        pcap_set_buffer_size(capture, 4 << 20);
        int status = pcap_activate(capture);
        if (status < 0) {
            fprintf(stderr, "ndpi-loop: %s: %s\n", pcap_statustostr(status), pcap_geterr(capture));
            return 1;
        }
    }
    if (!capture) {
        fprintf(stderr, "ndpi-loop: %s\n", error);
        return 1;
    }
    module = ndpi_init_detection_module(ndpi_no_prefs);
    NDPI_PROTOCOL_BITMASK all;
    NDPI_BITMASK_SET_ALL(all);
    ndpi_set_protocol_detection_bitmask2(module, &all);
    ndpi_finalize_initialization(module);
    signal(SIGTERM, stop);
    signal(SIGINT, stop);
    pcap_loop(capture, -1, see, NULL);
    struct pcap_stat stats = {0};
    pcap_stats(capture, &stats);
    printf("{\"packets\":%llu,\"bytes\":%llu,\"flows\":%llu,\"known\":%llu,\"received\":%u,\"dropped\":%u,\"if_dropped\":%u}\n", packets, bytes, flows, known, stats.ps_recv, stats.ps_drop, stats.ps_ifdrop);
    return 0;
}
