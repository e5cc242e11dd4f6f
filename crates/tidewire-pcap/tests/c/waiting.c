/* Non-blocking mode, descriptors to wait for, timeouts, immediate mode. */
#include "contract.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>

static void ignore(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes) {
    (void)header, (void)bytes;
    if (user) ++*(unsigned *)user;
}

static void nonblocking(void) {
    char error[PCAP_ERRBUF_SIZE] = "";
    pcap_t *p = open_with((struct how){.to_ms = 10000});
    CHECK(pcap_getnonblock(p, error) == 0, "blocking at first");
    CHECK(pcap_setnonblock(p, 1, error) == 0, "setnonblock: %s", error);
    CHECK(pcap_getnonblock(p, error) == 1, "it is set");
    double begun = now_ms();
    struct pcap_pkthdr *header;
    const u_char *bytes;
    for (int turn = 0; turn < 100; turn++) {
        CHECK(pcap_dispatch(p, -1, ignore, NULL) == 0, "dispatch");
        CHECK(pcap_next_ex(p, &header, &bytes) == 0, "next_ex");
    }
    CHECK(now_ms() - begun < 1500, "200 empty reads took %.0f ms", now_ms() - begun);
    CHECK(pcap_setnonblock(p, 0, error) == 0, "setnonblock: %s", error);
    CHECK(pcap_getnonblock(p, error) == 0, "it is not set any more");
    pcap_close(p);
    p = open_near();
    CHECK(pcap_setnonblock(p, 1, error) == 0, "setnonblock: %s", error);
    send_numbers(0, 50);
    expect_numbers(p, 0, 50);
    CHECK(pcap_dispatch(p, -1, ignore, NULL) == 0, "dispatch after all");
    pcap_close(p);
}

/* Set before activation: pcap_setnonblock works on a handle that is not activated, too. */
static void nonblocking_before_activation(void) {
    char error[PCAP_ERRBUF_SIZE] = "";
    pcap_t *p = pcap_create(NEAR, error);
    CHECK(p, "%s", error);
    CHECK(pcap_set_timeout(p, 5000) == 0, "timeout");
    CHECK(pcap_setnonblock(p, 1, error) == 0, "setnonblock: %s", error);
    CHECK(pcap_activate(p) == 0, "activate: %s", pcap_geterr(p));
    CHECK(pcap_getnonblock(p, error) == 1, "getnonblock: %s", error);
    double begun = now_ms();
    CHECK(pcap_dispatch(p, -1, ignore, NULL) == 0 && now_ms() - begun < 1000, "dispatch took %.0f ms", now_ms() - begun);
    pcap_close(p);
}

enum waiter { BY_SELECT, BY_POLL, BY_EPOLL };

static int is_readable(enum waiter waiter, int fd, int ms) {
    if (waiter == BY_SELECT) {
        fd_set set;
        FD_ZERO(&set);
        FD_SET(fd, &set);
        struct timeval time = {ms / 1000, ms % 1000 * 1000};
        return select(fd + 1, &set, NULL, NULL, &time);
    }
    if (waiter == BY_POLL) {
        struct pollfd wanted = {fd, POLLIN, 0};
        int ready = poll(&wanted, 1, ms);
        CHECK(!(wanted.revents & (POLLERR | POLLNVAL)), "poll says %x", wanted.revents);
        return ready;
    }
    int set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN}, got;
    CHECK(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl: %s", strerror(errno));
    int ready = epoll_wait(set, &got, 1, ms);
    close(set);
    return ready;
}

/* Waits as the manual asks for: for the descriptor, and no longer than the required timeout where there is one. */
static int wait_as_asked(enum waiter waiter, pcap_t *p, int ms) {
    const struct timeval *required = pcap_get_required_select_timeout(p);
    int slice = required ? (int)(required->tv_sec * 1000 + required->tv_usec / 1000) + 1 : ms;
    int ready = is_readable(waiter, pcap_get_selectable_fd(p), slice < ms ? slice : ms);
    /* Where a timeout is required the read is tried when it is over, too. */
    return ready || required;
}

static void selectable(enum waiter waiter) {
    char error[PCAP_ERRBUF_SIZE];
    pcap_t *p = open_near();
    CHECK(pcap_setnonblock(p, 1, error) == 0, "%s", error);
    int fd = pcap_get_selectable_fd(p);
    CHECK(fd >= 0, "selectable fd %d", fd);
    for (int round = 0; round < 3; round++) {
        CHECK(is_readable(waiter, fd, 50) == 0 || pcap_dispatch(p, -1, ignore, NULL) == 0, "readable, with nothing there");
        send_numbers(0, 100);
        unsigned count = 0, idle = 0;
        /* One at a time: what is left of a batch keeps it readable. */
        while (count < 100) {
            CHECK(wait_as_asked(waiter, p, 3000), "not readable after %u of 100 frames", count);
            int done = pcap_dispatch(p, 1, ignore, (u_char *)&count);
            CHECK(done >= 0 && done <= 1, "dispatch(1): %d", done);
            idle = done ? 0 : idle + 1;
            CHECK(idle < 300, "readable, but nothing is read after %u frames", count);
        }
        CHECK(pcap_dispatch(p, 1, ignore, NULL) == 0, "more than there was");
    }
    /* Drained: not readable, unless a read that finds nothing makes it so. */
    int spurious = 0;
    for (int turn = 0; turn < 20 && is_readable(waiter, fd, 20); turn++, spurious++) CHECK(pcap_dispatch(p, -1, ignore, NULL) == 0, "a frame from nowhere");
    CHECK(spurious < 5, "readable again and again with nothing there");
    pcap_close(p);
}

static void with_select(void) { selectable(BY_SELECT); }
static void with_poll(void) { selectable(BY_POLL); }
static void with_epoll(void) { selectable(BY_EPOLL); }

/* Edge by edge: an epoll that was there all the time wakes up for packets that come after a batch was half read. */
static void stays_in_epoll(void) {
    char error[PCAP_ERRBUF_SIZE];
    pcap_t *p = open_near();
    CHECK(pcap_setnonblock(p, 1, error) == 0, "%s", error);
    int set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN}, got;
    CHECK(epoll_ctl(set, EPOLL_CTL_ADD, pcap_get_selectable_fd(p), &event) == 0, "epoll_ctl");
    const struct timeval *required = pcap_get_required_select_timeout(p);
    unsigned count = 0;
    for (unsigned sent = 0; sent < 500; sent += 50) {
        send_numbers(sent, 50);
        double end = now_ms() + 4000;
        while (count < sent + 25 && now_ms() < end) {
            CHECK(epoll_wait(set, &got, 1, required ? 20 : 3000) == 1 || required, "not readable at %u frames", count);
            CHECK(pcap_dispatch(p, 5, ignore, (u_char *)&count) >= 0, "dispatch: %s", pcap_geterr(p));
        }
        CHECK(count >= sent + 25, "%u frames", count);
    }
    close(set);
    pcap_close(p);
}

/* The time from sending a frame to its callback, ms. */
static double latency(pcap_t *p) {
    double begun = now_ms();
    send_numbers(7, 1);
    unsigned count = 0;
    while (count == 0) {
        int done = pcap_dispatch(p, 1, ignore, (u_char *)&count);
        CHECK(done >= 0, "dispatch: %s", pcap_geterr(p));
        CHECK(now_ms() - begun < 6000, "no frame after 6 s");
    }
    return now_ms() - begun;
}

static double median_latency(struct how how, int turns) {
    double all[32];
    pcap_t *p = open_with(how);
    for (int turn = 0; turn < turns; turn++) {
        double it = latency(p);
        int at = turn;
        for (; at > 0 && all[at - 1] > it; at--) all[at] = all[at - 1];
        all[at] = it;
    }
    pcap_close(p);
    return all[turns / 2];
}

static void immediate(void) {
    double ms = median_latency((struct how){.immediate = 1, .to_ms = 5000}, 21);
    CHECK(ms < 30, "immediate mode: %.1f ms", ms);
    ms = median_latency((struct how){.immediate = 1, .to_ms = -1}, 11);
    CHECK(ms < 30, "immediate mode without timeout: %.1f ms", ms);
}

static void timeout_10(void) {
    double ms = median_latency((struct how){.to_ms = 10}, 11);
    CHECK(ms < 100, "a frame came after %.1f ms with a timeout of 10", ms);
}

static void timeout_1000(void) {
    double ms = median_latency((struct how){.to_ms = 1000}, 3);
    CHECK(ms < 2500, "a frame came after %.1f ms with a timeout of 1000", ms);
}

/* Without a timeout a read waits: it does not return without packets. */
static volatile int is_sent;
static void *send_many(void *nothing) {
    (void)nothing;
    sleep_ms(400);
    is_sent = 1;
    /* "Until enough packets arrive": many. */
    for (int round = 0; round < 50; round++) send_numbers(0, 1000);
    return NULL;
}

static void timeout_0(void) {
    pcap_t *p = open_with((struct how){.to_ms = -1});
    pthread_t thread;
    pthread_create(&thread, NULL, send_many, NULL);
    unsigned count = 0;
    int done = pcap_dispatch(p, -1, ignore, (u_char *)&count);
    CHECK(done > 0 && is_sent, "dispatch: %d, %s", done, is_sent ? "after" : "before a frame was sent");
    pthread_join(thread, NULL);
    pcap_close(p);
}

/* Two handles in one poll, each with its own traffic. */
static void two_descriptors(void) {
    char error[PCAP_ERRBUF_SIZE];
    pcap_t *near = open_near(), *loop = open_on("lo", &(struct how){0});
    CHECK(pcap_setnonblock(near, 1, error) == 0 && pcap_setnonblock(loop, 1, error) == 0, "%s", error);
    unsigned counts[2] = {0};
    send_numbers(0, 40);
    for (double end = now_ms() + 4000; counts[0] < 40 && now_ms() < end;) {
        struct pollfd wanted[2] = {{pcap_get_selectable_fd(near), POLLIN, 0}, {pcap_get_selectable_fd(loop), POLLIN, 0}};
        poll(wanted, 2, 50);
        CHECK(pcap_dispatch(near, 3, ignore, (u_char *)&counts[0]) >= 0, "near");
        CHECK(pcap_dispatch(loop, 3, ignore, (u_char *)&counts[1]) >= 0, "lo");
    }
    CHECK(counts[0] == 40 && counts[1] == 0, "%u and %u", counts[0], counts[1]);
    pcap_close(near);
    pcap_close(loop);
}

const struct test WAITING[] = {{"nonblocking", nonblocking},
                               {"nonblocking_before_activation", nonblocking_before_activation},
                               {"with_select", with_select},
                               {"with_poll", with_poll},
                               {"with_epoll", with_epoll},
                               {"stays_in_epoll", stays_in_epoll},
                               {"immediate", immediate},
                               {"timeout_10", timeout_10},
                               {"timeout_1000", timeout_1000},
                               {"timeout_0", timeout_0},
                               {"two_descriptors", two_descriptors},
                               {0}};
