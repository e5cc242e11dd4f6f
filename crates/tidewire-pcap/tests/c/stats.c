/* pcap_stats: exact. packet(7): what is dropped counts as received, and only what the filter lets through counts. */
#include "contract.h"

static void ignore(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes) {
    if (number_of(bytes, header->caplen) >= 0) ++*(unsigned *)user;
}

static struct pcap_stat stats_of(pcap_t *p) {
    struct pcap_stat stats = {1, 2, 3};
    CHECK(pcap_stats(p, &stats) == 0, "pcap_stats: %s", pcap_geterr(p));
    return stats;
}

static unsigned drain(pcap_t *p, int quiet_ms) {
    char error[PCAP_ERRBUF_SIZE];
    unsigned count = 0;
    CHECK(pcap_setnonblock(p, 1, error) == 0, "%s", error);
    for (double last = now_ms(); now_ms() - last < quiet_ms;) {
        int done = pcap_dispatch(p, -1, ignore, (u_char *)&count);
        CHECK(done >= 0, "dispatch: %s", pcap_geterr(p));
        if (done > 0)
            last = now_ms();
        else
            usleep(500);
    }
    return count;
}

static void exact(void) {
    pcap_t *p = open_near();
    struct pcap_stat stats = stats_of(p);
    CHECK(stats.ps_recv == 0 && stats.ps_drop == 0 && stats.ps_ifdrop == 0, "at first: %u %u %u", stats.ps_recv, stats.ps_drop, stats.ps_ifdrop);
    unsigned total = 0;
    for (unsigned round = 1; round <= 5; round++) {
        send_numbers(total, round * 100);
        expect_numbers(p, total, round * 100);
        total += round * 100;
        /* Asked twice: totals since activation, not since the last question. */
        for (int twice = 0; twice < 2; twice++) {
            stats = stats_of(p);
            CHECK(stats.ps_recv == total && stats.ps_drop == 0, "%u of %u received, %u dropped", stats.ps_recv, total, stats.ps_drop);
        }
    }
    pcap_close(p);
}

/* Only what is received after activation counts, and only until the handle is closed: a new one begins at 0. */
static void since_activation(void) {
    send_numbers(0, 50);
    pcap_t *p = open_near();
    CHECK(stats_of(p).ps_recv == 0, "%u before anything", stats_of(p).ps_recv);
    send_numbers(0, 30);
    expect_numbers(p, 0, 30);
    pcap_close(p);
    p = open_near();
    CHECK(stats_of(p).ps_recv == 0, "%u on a new handle", stats_of(p).ps_recv);
    pcap_close(p);
}

static void with_filter(void) {
    pcap_t *p = open_near();
    filter(p, "udp dst port 1001");
    send_numbers_to(0, 200, 1000, 128);
    send_numbers_to(200, 70, 1001, 128);
    expect_numbers(p, 200, 70);
    struct pcap_stat stats = stats_of(p);
    CHECK(stats.ps_recv == 70 && stats.ps_drop == 0, "%u received, %u dropped, of 70 that match", stats.ps_recv, stats.ps_drop);
    pcap_close(p);
}

/* A ring that is far too small, not read while it overflows. */
static void overload(void) {
    enum { SENT = 60000 };
    pcap_t *p = open_with((struct how){.buffer = 256 << 10});
    for (int round = 0; round < 3; round++) {
        struct pcap_stat before = stats_of(p);
        send_numbers(0, SENT);
        unsigned count = drain(p, 150);
        struct pcap_stat after = stats_of(p);
        unsigned received = after.ps_recv - before.ps_recv, dropped = after.ps_drop - before.ps_drop;
        CHECK(dropped > 0, "nothing dropped: %u of %u received", received, SENT);
        CHECK(received == SENT, "%u received, %u sent (%u dropped, %u delivered)", received, SENT, dropped, count);
        CHECK(count + dropped == received, "%u delivered and %u dropped of %u", count, dropped, received);
    }
    pcap_close(p);
}

/* The same while it is read, slowly. */
struct slow {
    unsigned count;
};
static void slowly(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes) {
    struct slow *slow = (struct slow *)user;
    if (number_of(bytes, header->caplen) < 0) return;
    slow->count++;
    for (double end = now_ms() + 0.02; now_ms() < end;) {
    }
}

static void slow_reader(void) {
    char error[PCAP_ERRBUF_SIZE];
    pcap_t *p = open_with((struct how){.buffer = 256 << 10});
    CHECK(pcap_setnonblock(p, 1, error) == 0, "%s", error);
    struct load load;
    struct slow slow = {0};
    unsigned last = 0;
    load_start(&load, 0);
    for (double end = now_ms() + 1000; now_ms() < end;) {
        CHECK(pcap_dispatch(p, -1, slowly, (u_char *)&slow) >= 0, "dispatch");
        struct pcap_stat stats = stats_of(p);
        CHECK(stats.ps_recv >= last, "received went from %u to %u", last, stats.ps_recv);
        last = stats.ps_recv;
    }
    load_stop(&load);
    unsigned count = slow.count + drain(p, 150);
    struct pcap_stat stats = stats_of(p);
    CHECK(stats.ps_recv == load.sent, "%u received, %u sent", stats.ps_recv, load.sent);
    CHECK(count + stats.ps_drop == stats.ps_recv, "%u delivered and %u dropped of %u", count, stats.ps_drop, stats.ps_recv);
    CHECK(stats.ps_drop > 0, "nothing was dropped: the test does not show anything");
    pcap_close(p);
}

/* Asked from a callback, in the middle of a batch. */
struct asked {
    pcap_t *p;
    unsigned count;
};
static void ask(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes) {
    (void)header, (void)bytes;
    struct asked *asked = (struct asked *)user;
    asked->count++;
    struct pcap_stat stats = stats_of(asked->p);
    CHECK(stats.ps_recv == 100 && stats.ps_drop == 0, "%u received, %u dropped", stats.ps_recv, stats.ps_drop);
}

static void from_a_callback(void) {
    pcap_t *p = open_near();
    send_numbers(0, 100);
    await_received(p, 100);
    struct asked asked = {p, 0};
    CHECK(pcap_loop(p, 100, ask, (u_char *)&asked) == 0 && asked.count == 100, "%u frames", asked.count);
    pcap_close(p);
}

const struct test STATS[] = {{"stats_exact", exact},
                             {"stats_since_activation", since_activation},
                             {"stats_with_filter", with_filter},
                             {"stats_overload", overload},
                             {"stats_slow_reader", slow_reader},
                             {"stats_from_a_callback", from_a_callback},
                             {0}};
