/* Frames that kernels treat in a special way, and links that go away. */
#include "contract.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static struct pcap_pkthdr *next_frame(pcap_t *p, const u_char **bytes) {
    struct pcap_pkthdr *header;
    int done;
    double end = now_ms() + 5000;
    while ((done = pcap_next_ex(p, &header, bytes)) == 0) CHECK(now_ms() < end, "no frame");
    CHECK(done == 1, "next_ex: %d: %s", done, pcap_geterr(p));
    return header;
}

/* A frame with tags after the addresses. */
static size_t tagged(unsigned char *frame, uint32_t number, const unsigned char *tags, size_t bytes) {
    unsigned char plain[256];
    size_t size = make_frame(plain, number, 1000, 128);
    memcpy(frame, plain, 12);
    memcpy(frame + 12, tags, bytes);
    memcpy(frame + 12 + bytes, plain + 12, size - 12);
    return size + bytes;
}

static void expect_frame(pcap_t *p, const unsigned char *frame, size_t bytes, const char *what) {
    const u_char *got;
    struct pcap_pkthdr *header = next_frame(p, &got);
    CHECK(header->len == bytes && header->caplen == bytes, "%s: %u of %u bytes, not %zu", what, header->caplen, header->len, bytes);
    CHECK(memcmp(got, frame, bytes) == 0, "%s: the frame is not as it was sent", what);
}

static const unsigned char ONE[] = {0x81, 0, 0x20, 5}, TWO[] = {0x88, 0xa8, 0, 7, 0x81, 0, 0, 9}, ZERO[] = {0x81, 0, 0, 0};

static void vlan_tags(void) {
    pcap_t *p = open_near();
    unsigned char frame[256];
    int fd = raw_socket(FAR);
    const struct {
        const unsigned char *tags;
        size_t bytes;
        const char *what;
    } ALL[] = {{ONE, 4, "one tag"}, {TWO, 8, "two tags"}, {ZERO, 4, "a priority tag"}};
    for (size_t index = 0; index < 3; index++) {
        size_t size = tagged(frame, (uint32_t)index, ALL[index].tags, ALL[index].bytes);
        send_frame(fd, frame, size);
        expect_frame(p, frame, size, ALL[index].what);
    }
    close(fd);
    pcap_close(p);
}

static void vlan_filter(void) {
    pcap_t *p = open_near();
    filter(p, "vlan 5 and udp dst port 1000");
    unsigned char frame[256];
    int fd = raw_socket(FAR);
    send_frame(fd, frame, make_frame(frame, 1, 1000, 128));
    size_t size = tagged(frame, 2, TWO, 8);
    send_frame(fd, frame, size);
    size = tagged(frame, 3, ONE, 4);
    send_frame(fd, frame, size);
    expect_frame(p, frame, size, "one tag");
    expect_nothing(p, 100);
    close(fd);
    pcap_close(p);
}

/* The snapshot length counts the tag, as the frame was on the cable. */
static void vlan_snapshot(void) {
    pcap_t *p = open_with((struct how){.snaplen = 60});
    unsigned char frame[256];
    int fd = raw_socket(FAR);
    size_t size = tagged(frame, 3, ONE, 4);
    send_frame(fd, frame, size);
    const u_char *got;
    struct pcap_pkthdr *header = next_frame(p, &got);
    CHECK(header->len == size && header->caplen >= 60 && header->caplen <= 64, "%u of %u bytes", header->caplen, header->len);
    CHECK(memcmp(got, frame, 60) == 0, "not as it was sent");
    close(fd);
    pcap_close(p);
}

static void jumbo(void) {
    shell("ip link set " NEAR " mtu 65535 && ip link set " FAR " mtu 65535");
    pcap_t *p = open_near();
    static unsigned char frame[66000];
    int fd = raw_socket(FAR);
    static const size_t SIZES[] = {1515, 2049, 4097, 9014, 16000, 40000, 65000, 65549};
    for (size_t index = 0; index < sizeof SIZES / sizeof *SIZES; index++) {
        size_t size = make_frame(frame, (uint32_t)index, 1000, SIZES[index]);
        send_frame(fd, frame, size);
        expect_frame(p, frame, size, "a jumbo frame");
    }
    /* Many in a row. */
    for (uint32_t number = 0; number < 30; number++) send_frame(fd, frame, make_frame(frame, number, 1000, 9014));
    for (uint32_t number = 0; number < 30; number++) expect_frame(p, frame, make_frame(frame, number, 1000, 9014), "many jumbo frames");
    close(fd);
    pcap_close(p);
}

/* One frame of 60,000 bytes that a card would cut into segments, as GRO makes them. */
static void aggregated(void) {
    pcap_t *p = open_near();
    enum { BYTES = 60000 };
    static unsigned char packet[sizeof(struct virtio_net_hdr) + BYTES];
    struct virtio_net_hdr *hint = (struct virtio_net_hdr *)packet;
    unsigned char *frame = packet + sizeof *hint;
    make_frame(frame, 1, 1000, BYTES);
    /* TCP instead of UDP: ports stay where they are, the header is 20 bytes. */
    frame[14 + 9] = 6;
    memset(frame + 14 + 20 + 4, 0, 16);
    frame[14 + 20 + 12] = 5 << 4;
    frame[14 + 20 + 13] = 0x10;
    *hint = (struct virtio_net_hdr){.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM, .gso_type = VIRTIO_NET_HDR_GSO_TCPV4, .hdr_len = 54, .gso_size = 1448, .csum_start = 34, .csum_offset = 16};
    int fd = raw_socket(FAR), yes = 1;
    CHECK(setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &yes, sizeof yes) == 0, "vnet header: %s", strerror(errno));
    send_frame(fd, packet, sizeof packet);
    const u_char *got;
    struct pcap_pkthdr *header = next_frame(p, &got);
    CHECK(header->len == BYTES && header->caplen == BYTES, "%u of %u bytes", header->caplen, header->len);
    CHECK(memcmp(got + 14 + 40, frame + 14 + 40, BYTES - 14 - 40) == 0, "not as it was sent");
    close(fd);
    pcap_close(p);
}

/* Every packet of the loopback interface passes twice, out and in; it is seen once. */
static void loopback(void) {
    pcap_t *p = open_on("lo", &(struct how){0});
    CHECK(pcap_datalink(p) == DLT_EN10MB, "datalink %d", pcap_datalink(p));
    int from = socket(AF_INET, SOCK_DGRAM, 0), to = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    CHECK(bind(to, (struct sockaddr *)&address, length) == 0 && getsockname(to, (struct sockaddr *)&address, &length) == 0, "bind");
    for (uint32_t number = 0; number < 25; number++) {
        unsigned char payload[8] = {'t', 'i', 'd', 'e'};
        uint32_t wire = htonl(number);
        memcpy(payload + 4, &wire, 4);
        CHECK(sendto(from, payload, 8, 0, (struct sockaddr *)&address, length) == 8, "sendto: %s", strerror(errno));
    }
    expect_numbers(p, 0, 25);
    expect_nothing(p, 150);
    struct pcap_stat stats;
    CHECK(pcap_stats(p, &stats) == 0 && stats.ps_drop == 0, "%u dropped", stats.ps_drop);
    close(from), close(to);
    pcap_close(p);
}

static void note_nothing(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes) { (void)user, (void)header, (void)bytes; }

static void *run_later(void *command) {
    sleep_ms(300);
    shell(command);
    return NULL;
}

static void vanishes(int to_ms) {
    pcap_t *p = open_with((struct how){.to_ms = to_ms});
    pthread_t thread;
    pthread_create(&thread, NULL, run_later, "ip link del " NEAR);
    double begun = now_ms();
    int done = pcap_loop(p, -1, note_nothing, NULL);
    CHECK(done == PCAP_ERROR, "loop: %d", done);
    CHECK(*pcap_geterr(p), "no text");
    CHECK(now_ms() - begun < 10000, "after %.0f ms", now_ms() - begun);
    pthread_join(thread, NULL);
    /* And from then on, without a crash. */
    struct pcap_stat stats;
    pcap_stats(p, &stats);
    filter(p, "udp");
    pcap_close(p);
}

static void vanishes_while_reading(void) { vanishes(100); }
static void vanishes_without_timeout(void) { vanishes(-1); }

static void vanishes_under_load(void) {
    pcap_t *p = open_near();
    send_numbers(0, 100);
    await_received(p, 100);
    shell("ip link del " NEAR);
    unsigned reads = 0;
    int done;
    char error[PCAP_ERRBUF_SIZE];
    CHECK(pcap_setnonblock(p, 1, error) == 0, "%s", error);
    double end = now_ms() + 5000;
    while ((done = pcap_dispatch(p, 7, note_nothing, NULL)) >= 0 && now_ms() < end) reads++, usleep(1000);
    CHECK(done == PCAP_ERROR && *pcap_geterr(p), "dispatch: %d", done);
    pcap_close(p);
}

/* Down and up again: the handle goes on. */
static void down_and_up(void) {
    pcap_t *p = open_near();
    send_numbers(0, 10);
    expect_numbers(p, 0, 10);
    shell("ip link set " NEAR " down");
    char error[PCAP_ERRBUF_SIZE];
    CHECK(pcap_setnonblock(p, 1, error) == 0, "%s", error);
    for (int turn = 0; turn < 20; turn++) {
        int done = pcap_dispatch(p, -1, note_nothing, NULL);
        CHECK(done == 0, "dispatch while it is down: %d: %s", done, pcap_geterr(p));
        usleep(2000);
    }
    shell("ip link set " NEAR " up");
    /* The carrier takes a moment. */
    sleep_ms(100);
    send_numbers(10, 10);
    expect_numbers(p, 10, 10);
    pcap_close(p);
}

const struct test LINKS[] = {{"vlan_tags", vlan_tags},
                             {"vlan_filter", vlan_filter},
                             {"vlan_snapshot", vlan_snapshot},
                             {"jumbo", jumbo},
                             {"aggregated", aggregated},
                             {"loopback", loopback},
                             {"vanishes_while_reading", vanishes_while_reading},
                             {"vanishes_without_timeout", vanishes_without_timeout},
                             {"vanishes_under_load", vanishes_under_load},
                             {"down_and_up", down_and_up},
                             {0}};
