/* What is not possible is said by the documented code, with a text where one is promised. */
#include "contract.h"

#include <sys/wait.h>

static void ignore(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes) { (void)user, (void)header, (void)bytes; }

static pcap_t *created(const char *device) {
    char error[PCAP_ERRBUF_SIZE] = "";
    pcap_t *p = pcap_create(device, error);
    CHECK(p, "pcap_create(%s): %s", device, error);
    return p;
}

static void not_activated(void) {
    pcap_t *p = created(NEAR);
    struct pcap_pkthdr header, *there;
    const u_char *bytes;
    struct pcap_stat stats;
    struct bpf_insn all = {6, 0, 0, 65535};
    struct bpf_program program = {1, &all};
    int *list = NULL;
    char error[PCAP_ERRBUF_SIZE] = "";
#define NOT_ACTIVATED(call)                                                      \
    do {                                                                         \
        int code = (call);                                                       \
        CHECK(code == PCAP_ERROR_NOT_ACTIVATED, #call ": %d", code);             \
    } while (0)
    NOT_ACTIVATED(pcap_dispatch(p, -1, ignore, NULL));
    NOT_ACTIVATED(pcap_loop(p, -1, ignore, NULL));
    NOT_ACTIVATED(pcap_next_ex(p, &there, &bytes));
    CHECK(pcap_next(p, &header) == NULL, "pcap_next gives something");
    NOT_ACTIVATED(pcap_stats(p, &stats));
    NOT_ACTIVATED(pcap_setfilter(p, &program));
    NOT_ACTIVATED(pcap_setdirection(p, PCAP_D_IN));
    NOT_ACTIVATED(pcap_inject(p, &all, sizeof all));
    /* Not pcap_sendpacket: libpcap 1.10.3 says 0 there. */
    NOT_ACTIVATED(pcap_datalink(p));
    NOT_ACTIVATED(pcap_datalink_ext(p));
    NOT_ACTIVATED(pcap_list_datalinks(p, &list));
    CHECK(pcap_set_datalink(p, DLT_EN10MB) < 0, "pcap_set_datalink");
    NOT_ACTIVATED(pcap_snapshot(p));
    NOT_ACTIVATED(pcap_is_swapped(p));
    NOT_ACTIVATED(pcap_major_version(p));
    NOT_ACTIVATED(pcap_minor_version(p));
    NOT_ACTIVATED(pcap_bufsize(p));
    CHECK(pcap_getnonblock(p, error) == PCAP_ERROR_NOT_ACTIVATED, "pcap_getnonblock");
    CHECK(pcap_dump_open(p, "/dev/null") == NULL && *pcap_geterr(p), "pcap_dump_open");
    struct bpf_program compiled;
    CHECK(pcap_compile(p, &compiled, "tcp", 0, 0) < 0, "pcap_compile");
    pcap_breakloop(p);
    pcap_close(p);
}

static void twice_activated(void) {
    pcap_t *p = open_near();
    CHECK(pcap_activate(p) == PCAP_ERROR_ACTIVATED, "the second time");
#define ACTIVATED(call)                                               \
    do {                                                              \
        int code = (call);                                            \
        CHECK(code == PCAP_ERROR_ACTIVATED, #call ": %d", code);      \
    } while (0)
    ACTIVATED(pcap_set_snaplen(p, 100));
    ACTIVATED(pcap_set_promisc(p, 1));
    ACTIVATED(pcap_set_rfmon(p, 1));
    ACTIVATED(pcap_set_timeout(p, 1));
    ACTIVATED(pcap_set_immediate_mode(p, 1));
    ACTIVATED(pcap_set_buffer_size(p, 1 << 20));
    ACTIVATED(pcap_set_tstamp_precision(p, 0));
    ACTIVATED(pcap_set_protocol_linux(p, 3));
    /* It still works. */
    send_numbers(0, 5);
    expect_numbers(p, 0, 5);
    pcap_close(p);
}

static void no_such_device(void) {
    pcap_t *p = created("tw9nowhere");
    int status = pcap_activate(p);
    CHECK(status == PCAP_ERROR_NO_SUCH_DEVICE, "activate: %d", status);
    /* Not a second time: libpcap 1.10.3 crashes there. */
    pcap_close(p);
    char error[PCAP_ERRBUF_SIZE] = "";
    CHECK(pcap_open_live("tw9nowhere", 100, 0, 10, error) == NULL && strstr(error, "tw9nowhere"), "open_live: '%s'", error);
}

static void interface_down(void) {
    shell("ip link set " NEAR " down");
    pcap_t *p = created(NEAR);
    int status = pcap_activate(p);
    CHECK(status == PCAP_ERROR_IFACE_NOT_UP, "activate: %d", status);
    CHECK(strcmp(pcap_statustostr(status), "That device is not up") == 0, "%s", pcap_statustostr(status));
    pcap_close(p);
    shell("ip link set " NEAR " up");
    p = open_near();
    sleep_ms(100);
    send_numbers(0, 5);
    expect_numbers(p, 0, 5);
    pcap_close(p);
}

static void no_permission(void) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        CHECK(setgid(65534) == 0 && setuid(65534) == 0, "setuid");
        pcap_t *p = created(NEAR);
        int status = pcap_activate(p);
        CHECK(status == PCAP_ERROR_PERM_DENIED, "activate: %d: %s", status, pcap_geterr(p));
        CHECK(*pcap_geterr(p), "no text");
        pcap_close(p);
        char error[PCAP_ERRBUF_SIZE] = "";
        CHECK(pcap_open_live(NEAR, 100, 0, 10, error) == NULL && *error, "open_live");
        _exit(0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0, "the child ended with %d", status);
}

static void no_monitor_mode(void) {
    pcap_t *p = created(NEAR);
    CHECK(pcap_can_set_rfmon(p) == 0, "an Ethernet has a monitor mode");
    CHECK(pcap_set_rfmon(p, 1) == 0, "set");
    int status = pcap_activate(p);
    CHECK(status == PCAP_ERROR_RFMON_NOTSUP, "activate: %d", status);
    pcap_close(p);
}

/* Values that no device has. */
static void odd_values(void) {
    pcap_t *p = created(NEAR);
    CHECK(pcap_set_snaplen(p, 0) == 0, "snaplen 0 is the greatest, later");
    CHECK(pcap_set_timeout(p, 10) == 0, "timeout");
    CHECK(pcap_activate(p) == 0, "activate: %s", pcap_geterr(p));
    CHECK(pcap_snapshot(p) == 262144, "snapshot %d", pcap_snapshot(p));
    send_numbers(0, 3);
    expect_numbers(p, 0, 3);
    pcap_close(p);
    p = created(NEAR);
    CHECK(pcap_set_snaplen(p, 1 << 30) == 0, "snaplen");
    CHECK(pcap_activate(p) == 0, "activate: %s", pcap_geterr(p));
    CHECK(pcap_snapshot(p) == 262144, "snapshot %d", pcap_snapshot(p));
    pcap_close(p);
    char error[PCAP_ERRBUF_SIZE] = "";
    p = pcap_open_live(NEAR, -1, -1, -1, error);
    if (p) pcap_close(p);
}

/* Handles that are closed without having been used in any way. */
static void closed_unused(void) {
    for (int turn = 0; turn < 50; turn++) pcap_close(created(turn % 2 ? NEAR : "tw9nowhere"));
}

static void live_has_no_file(void) {
    pcap_t *p = open_near();
    CHECK(pcap_file(p) == NULL, "a live handle has a FILE");
    CHECK(pcap_fileno(p) >= 0, "fileno %d", pcap_fileno(p));
    CHECK(pcap_is_swapped(p) == 0, "swapped");
    CHECK(pcap_major_version(p) >= 0 && pcap_minor_version(p) >= 0, "version");
    CHECK(pcap_bufsize(p) > 0, "bufsize %d", pcap_bufsize(p));
    pcap_close(p);
}

const struct test ERRORS[] = {{"not_activated", not_activated},
                              {"twice_activated", twice_activated},
                              {"no_such_device", no_such_device},
                              {"interface_down", interface_down},
                              {"no_permission", no_permission},
                              {"no_monitor_mode", no_monitor_mode},
                              {"odd_values", odd_values},
                              {"closed_unused", closed_unused},
                              {"live_has_no_file", live_has_no_file},
                              {0}};
