/* pcap_setfilter on a live handle: what was queued under the old one and does not match the new one is not delivered. */
#include "contract.h"

struct ports {
    unsigned counts[4], others;
    int only;
};

static void by_port(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes) {
    struct ports *ports = (struct ports *)user;
    if (number_of(bytes, header->caplen) < 0) return;
    int port = port_of(bytes, header->caplen) - 1000;
    CHECK(ports->only < 0 || port == ports->only, "port %d is delivered under the filter for %d", port, ports->only);
    if (port >= 0 && port < 4)
        ports->counts[port]++;
    else
        ports->others++;
}

static void read_for(pcap_t *p, struct ports *ports, int ms) {
    char error[PCAP_ERRBUF_SIZE];
    CHECK(pcap_setnonblock(p, 1, error) == 0, "%s", error);
    for (double end = now_ms() + ms; now_ms() < end;) {
        int done = pcap_dispatch(p, -1, by_port, (u_char *)ports);
        CHECK(done >= 0, "dispatch: %s", pcap_geterr(p));
        if (done == 0) usleep(500);
    }
}

static void interleaved(unsigned each) {
    unsigned char frame[128];
    int fd = raw_socket(FAR);
    for (uint32_t number = 0; number < each * 4; number++) send_frame(fd, frame, make_frame(frame, number, (uint16_t)(1000 + number % 4), sizeof frame));
    close(fd);
}

static void queued_packets(void) {
    pcap_t *p = open_near();
    interleaved(100);
    await_received(p, 400);
    filter(p, "udp dst port 1002");
    struct ports ports = {.only = 2};
    read_for(p, &ports, 300);
    CHECK(ports.counts[2] == 100, "%u of 100 that were queued and match", ports.counts[2]);
    interleaved(50);
    read_for(p, &ports, 300);
    CHECK(ports.counts[2] == 150, "%u of 150 that match", ports.counts[2]);
    pcap_close(p);
}

/* Half a batch is read, then the filter changes. */
static void in_the_middle_of_a_batch(void) {
    pcap_t *p = open_near();
    interleaved(100);
    await_received(p, 400);
    struct ports ports = {.only = -1};
    for (unsigned total = 0; total < 40;) {
        int done = pcap_dispatch(p, 40 - (int)total, by_port, (u_char *)&ports);
        CHECK(done >= 0, "dispatch");
        total += (unsigned)done;
    }
    filter(p, "udp dst port 1003");
    ports.only = 3;
    read_for(p, &ports, 300);
    CHECK(ports.counts[3] == 100, "%u of 100", ports.counts[3]);
    /* Wider again: all of what comes now. */
    filter(p, "udp");
    ports.only = -1;
    interleaved(10);
    read_for(p, &ports, 300);
    CHECK(ports.counts[3] == 110 && ports.counts[0] == 20, "%u and %u", ports.counts[3], ports.counts[0]);
    pcap_close(p);
}

/* A callback sets the filter: from the next packet on it holds. */
struct setter {
    pcap_t *p;
    unsigned count;
    int is_set;
};
static void set_in_callback(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes) {
    struct setter *setter = (struct setter *)user;
    int port = port_of(bytes, header->caplen);
    if (setter->is_set) CHECK(port == 1001, "port %d after the filter was set", port);
    setter->count++;
    if (setter->count == 20) {
        filter(setter->p, "udp dst port 1001");
        setter->is_set = 1;
    }
}

static void from_a_callback(void) {
    pcap_t *p = open_near();
    interleaved(100);
    await_received(p, 400);
    struct setter setter = {p, 0, 0};
    char error[PCAP_ERRBUF_SIZE];
    CHECK(pcap_setnonblock(p, 1, error) == 0, "%s", error);
    for (double end = now_ms() + 400; now_ms() < end;) {
        /* In steps: a read that is under way may go on with the filter that it began with. */
        int done = pcap_dispatch(p, 20 - (int)(setter.count % 20), set_in_callback, (u_char *)&setter);
        CHECK(done >= 0, "dispatch");
        if (done == 0) usleep(500);
    }
    CHECK(setter.count == 20 + 95, "%u frames", setter.count);
    pcap_close(p);
}

/* Long expressions: from a few instructions to more than the kernel takes. */
static char *long_expression(int port, int more) {
    char *text = malloc((size_t)more * 40 + 100);
    size_t at = (size_t)sprintf(text, "udp dst port %d", port);
    for (int index = 0; index < more; index++) at += (size_t)sprintf(text + at, " or (ip src 192.168.%d.%d)", index / 250 % 250, index % 250);
    return text;
}

static void many_times_under_load(void) {
    pcap_t *p = open_near();
    struct load load;
    load_start(&load, 100);
    static const int MORE[] = {0, 40, 3, 300, 0, 1, 120};
    unsigned total = 0;
    for (int turn = 0; turn < 150; turn++) {
        struct ports ports = {.only = turn % 4};
        char *text = long_expression(1000 + ports.only, MORE[turn % 7]);
        filter(p, text);
        free(text);
        for (double end = now_ms() + 3000; ports.counts[ports.only] < 20;) {
            CHECK(pcap_dispatch(p, 50, by_port, (u_char *)&ports) >= 0, "dispatch: %s", pcap_geterr(p));
            CHECK(now_ms() < end, "turn %d: %u frames in 3 s", turn, ports.counts[ports.only]);
        }
        total += ports.counts[ports.only];
    }
    load_stop(&load);
    CHECK(total >= 150 * 20, "%u", total);
    pcap_close(p);
}

/* More than BPF_MAXINSNS: the kernel refuses it, the library has to do it. */
static void too_long_for_the_kernel(void) {
    pcap_t *p = open_near();
    char *text = long_expression(1001, 5000);
    struct bpf_program program;
    CHECK(pcap_compile(p, &program, text, 0, PCAP_NETMASK_UNKNOWN) == 0, "%s", pcap_geterr(p));
    CHECK(program.bf_len > 4096, "only %u instructions", program.bf_len);
    interleaved(50);
    await_received(p, 200);
    CHECK(pcap_setfilter(p, &program) == 0, "setfilter: %s", pcap_geterr(p));
    pcap_freecode(&program);
    struct ports ports = {.only = 1};
    read_for(p, &ports, 300);
    interleaved(50);
    read_for(p, &ports, 300);
    CHECK(ports.counts[1] == 100, "%u of 100", ports.counts[1]);
    free(text);
    pcap_close(p);
}

static void nonsense(void) {
    pcap_t *p = open_near();
    struct bpf_insn instruction = {0xffff, 0, 0, 0};
    struct bpf_program program = {1, &instruction};
    CHECK(pcap_setfilter(p, &program) == -1 && *pcap_geterr(p), "nonsense is taken");
    CHECK(pcap_compile(p, &program, "port port", 0, 0) == -1 && *pcap_geterr(p), "a syntax error is none");
    /* What was there before still holds. */
    filter(p, "udp dst port 1000");
    instruction.code = 0xffff;
    program = (struct bpf_program){1, &instruction};
    CHECK(pcap_setfilter(p, &program) == -1, "nonsense is taken");
    interleaved(10);
    struct ports ports = {.only = 0};
    read_for(p, &ports, 300);
    CHECK(ports.counts[0] == 10, "%u of 10", ports.counts[0]);
    pcap_close(p);
}

/* A filter that rejects everything, one that is empty. */
static void nothing_and_everything(void) {
    pcap_t *p = open_near();
    filter(p, "udp dst port 9");
    interleaved(10);
    expect_nothing(p, 100);
    filter(p, "");
    struct ports ports = {.only = -1};
    interleaved(10);
    read_for(p, &ports, 300);
    CHECK(ports.counts[0] == 10 && ports.counts[3] == 10, "%u and %u", ports.counts[0], ports.counts[3]);
    pcap_close(p);
}

/* Handles on one device know nothing of each other. */
static void two_handles_two_filters(void) {
    pcap_t *a = open_near(), *b = open_near();
    filter(a, "udp dst port 1000 or udp dst port 1001");
    filter(b, "udp dst port 1003");
    interleaved(100);
    struct ports for_a = {.only = -1}, for_b = {.only = 3};
    read_for(a, &for_a, 250);
    read_for(b, &for_b, 250);
    CHECK(for_a.counts[0] == 100 && for_a.counts[1] == 100 && for_a.counts[2] == 0, "%u %u %u", for_a.counts[0], for_a.counts[1], for_a.counts[2]);
    CHECK(for_b.counts[3] == 100, "%u", for_b.counts[3]);
    pcap_close(a);
    pcap_close(b);
}

const struct test FILTERS[] = {{"filter_queued_packets", queued_packets},
                               {"filter_in_the_middle_of_a_batch", in_the_middle_of_a_batch},
                               {"filter_from_a_callback", from_a_callback},
                               {"filter_many_times_under_load", many_times_under_load},
                               {"filter_too_long_for_the_kernel", too_long_for_the_kernel},
                               {"filter_nonsense", nonsense},
                               {"filter_nothing_and_everything", nothing_and_everything},
                               {"two_handles_two_filters", two_handles_two_filters},
                               {0}};
