/* pcap_dispatch, pcap_loop, pcap_next, pcap_next_ex: how many, in which order, and how long their bytes stay. */
#include "contract.h"

struct seen {
    pcap_t *p;
    unsigned count;
    long last;
    int is_in_order, stop_at;
};

static void see(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes) {
    struct seen *seen = (struct seen *)user;
    long number = number_of(bytes, header->caplen);
    if (number != seen->last + 1) seen->is_in_order = 0;
    seen->last = number;
    seen->count++;
    if (seen->stop_at && seen->count == (unsigned)seen->stop_at) pcap_breakloop(seen->p);
}

static struct seen nothing_seen(pcap_t *p) { return (struct seen){p, 0, -1, 1, 0}; }

static void counts(void) {
    pcap_t *p = open_near();
    send_numbers(0, 100);
    await_received(p, 100);
    struct seen seen = nothing_seen(p);
    int done = pcap_dispatch(p, 1, see, (u_char *)&seen);
    CHECK(done == 1 && seen.count == 1, "dispatch(1): %d, %u calls", done, seen.count);
    done = pcap_dispatch(p, 10, see, (u_char *)&seen);
    CHECK(done >= 1 && done <= 10 && seen.count == 1U + (unsigned)done, "dispatch(10): %d, %u calls", done, seen.count);
    unsigned before = seen.count;
    done = pcap_loop(p, 20, see, (u_char *)&seen);
    CHECK(done == 0 && seen.count == before + 20, "loop(20): %d, %u calls more", done, seen.count - before);
    before = seen.count;
    done = pcap_dispatch(p, -1, see, (u_char *)&seen);
    CHECK(done > 0 && seen.count == before + (unsigned)done, "dispatch(-1): %d, %u calls more", done, seen.count - before);
    while (seen.count < 100) {
        before = seen.count;
        done = pcap_dispatch(p, 0, see, (u_char *)&seen);
        CHECK(done >= 0 && seen.count == before + (unsigned)done, "dispatch(0): %d", done);
    }
    CHECK(seen.count == 100 && seen.is_in_order && seen.last == 99, "%u frames, last %ld", seen.count, seen.last);
    pcap_close(p);
}

/* All calls in turn on one handle: nothing lost, nothing twice. */
static void mixed(void) {
    pcap_t *p = open_near();
    send_numbers(0, 300);
    await_received(p, 300);
    struct seen seen = nothing_seen(p);
    struct pcap_pkthdr header, *there;
    const u_char *bytes;
    while (seen.count < 299) {
        CHECK(pcap_dispatch(p, 1, see, (u_char *)&seen) == 1, "dispatch");
        bytes = pcap_next(p, &header);
        CHECK(bytes, "next: %s", pcap_geterr(p));
        see((u_char *)&seen, &header, bytes);
        CHECK(pcap_next_ex(p, &there, &bytes) == 1, "next_ex");
        see((u_char *)&seen, there, bytes);
        if (seen.count < 298) CHECK(pcap_loop(p, 2, see, (u_char *)&seen) == 0, "loop");
        if (seen.count >= 295) break;
    }
    while (seen.count < 300) CHECK(pcap_dispatch(p, -1, see, (u_char *)&seen) >= 0, "dispatch(-1)");
    CHECK(seen.is_in_order && seen.last == 299, "last %ld", seen.last);
    pcap_close(p);
}

static void forever(int count) {
    pcap_t *p = open_near();
    send_numbers(0, 200);
    await_received(p, 200);
    struct seen seen = nothing_seen(p);
    seen.stop_at = 150;
    int done = pcap_loop(p, count, see, (u_char *)&seen);
    CHECK(done == PCAP_ERROR_BREAK, "loop(%d): %d", count, done);
    CHECK(seen.count == 150, "broken after %u", seen.count);
    seen.stop_at = 0;
    done = pcap_loop(p, 50, see, (u_char *)&seen);
    CHECK(done == 0 && seen.count == 200 && seen.is_in_order, "the rest: %d, %u frames", done, seen.count);
    expect_nothing(p, 50);
    pcap_close(p);
}

static void loop_minus_one(void) { forever(-1); }
static void loop_zero(void) { forever(0); }

/* A loop does not end when the timeout has run out without packets. */
static void *send_later(void *ms) {
    sleep_ms((int)(intptr_t)ms);
    send_numbers(0, 5);
    return NULL;
}

static void loop_waits(void) {
    pcap_t *p = open_near();
    pthread_t thread;
    pthread_create(&thread, NULL, send_later, (void *)(intptr_t)300);
    struct seen seen = nothing_seen(p);
    double begun = now_ms();
    int done = pcap_loop(p, 5, see, (u_char *)&seen);
    CHECK(done == 0 && seen.count == 5, "loop(5): %d, %u frames", done, seen.count);
    CHECK(now_ms() - begun >= 290, "after %.0f ms", now_ms() - begun);
    pthread_join(thread, NULL);
    pcap_close(p);
}

static void check_bytes(const u_char *bytes, unsigned caplen, long number, const char *when) {
    unsigned char wanted[1500];
    size_t size = make_frame(wanted, (uint32_t)number, 1000, 400);
    CHECK(caplen == size && memcmp(bytes, wanted, size) == 0, "frame %ld %s: not its bytes any more", number, when);
}

static void overrun(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes) {
    unsigned *count = (unsigned *)user;
    struct pcap_pkthdr copy = *header;
    long number = number_of(bytes, header->caplen);
    /* Several times what the ring holds. */
    if (*count < 2) send_numbers_to(1000000, 6000, 1000, 400);
    check_bytes(bytes, header->caplen, number, "at the end of its callback");
    CHECK(memcmp(&copy, header, sizeof copy) == 0, "frame %ld: its header has changed", number);
    *count += 1;
}

/* What a callback is given stays while the ring overflows behind it. */
static void callback_bytes_stay(void) {
    pcap_t *p = open_with((struct how){.buffer = 1 << 20});
    send_numbers_to(0, 10, 1000, 400);
    await_received(p, 10);
    unsigned count = 0;
    CHECK(pcap_loop(p, 10, overrun, (u_char *)&count) == 0 && count == 10, "%u frames", count);
    pcap_close(p);
}

static void next_bytes_stay(void) {
    pcap_t *p = open_with((struct how){.buffer = 1 << 20});
    send_numbers_to(0, 10, 1000, 400);
    await_received(p, 10);
    for (long number = 0; number < 10; number++) {
        struct pcap_pkthdr header, *there;
        const u_char *bytes;
        if (number % 2) {
            bytes = pcap_next(p, &header);
            CHECK(bytes, "no frame %ld", number);
            there = &header;
        } else {
            CHECK(pcap_next_ex(p, &there, &bytes) == 1, "no frame %ld", number);
        }
        if (number < 4) send_numbers_to(1000000, 6000, 1000, 400);
        check_bytes(bytes, there->caplen, number, "before the next call");
        CHECK(there->len == 400, "frame %ld: length %u", number, there->len);
    }
    pcap_close(p);
}

/* Nothing is lost or doubled over many turns of a small ring, read as fast as it comes. */
static void many_turns(void) {
    pcap_t *p = open_with((struct how){.buffer = 2 << 20});
    for (uint32_t round = 0; round < 40; round++) {
        send_numbers(round * 1000, 1000);
        expect_numbers(p, round * 1000, 1000);
    }
    struct pcap_stat stats;
    CHECK(pcap_stats(p, &stats) == 0 && stats.ps_recv == 40000 && stats.ps_drop == 0, "%u received, %u dropped", stats.ps_recv, stats.ps_drop);
    pcap_close(p);
}

/* Frames of all sizes, whole and as sent. */
static void every_size(void) {
    pcap_t *p = open_near();
    unsigned char frame[1514], wanted[1514];
    int fd = raw_socket(FAR);
    for (uint32_t bytes = 64; bytes <= 1514; bytes++) send_frame(fd, frame, make_frame(frame, bytes, 1000, bytes));
    for (uint32_t bytes = 64; bytes <= 1514; bytes++) {
        struct pcap_pkthdr *header;
        const u_char *got;
        int done;
        while ((done = pcap_next_ex(p, &header, &got)) == 0) {
        }
        CHECK(done == 1, "next_ex: %d", done);
        make_frame(wanted, bytes, 1000, bytes);
        CHECK(header->len == bytes && header->caplen == bytes, "%u bytes: %u of %u", bytes, header->caplen, header->len);
        CHECK(memcmp(got, wanted, bytes) == 0, "%u bytes: not as sent", bytes);
    }
    close(fd);
    pcap_close(p);
}

const struct test READING[] = {{"counts", counts},
                               {"mixed", mixed},
                               {"loop_minus_one", loop_minus_one},
                               {"loop_zero", loop_zero},
                               {"loop_waits", loop_waits},
                               {"callback_bytes_stay", callback_bytes_stay},
                               {"next_bytes_stay", next_bytes_stay},
                               {"many_turns", many_turns},
                               {"every_size", every_size},
                               {0}};
