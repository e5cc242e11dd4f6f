/* pcap_breakloop: from signal handlers, from other threads, before the read, and from callbacks. */
#include "contract.h"

#include <signal.h>
#include <sys/time.h>

static pcap_t *broken;

static void on_alarm(int number) {
    (void)number;
    pcap_breakloop(broken);
}

static void ignore(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes) {
    (void)header, (void)bytes;
    if (user) ++*(unsigned *)user;
}

static void alarm_in(int ms, int flags) {
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = flags};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval timer = {.it_value = {ms / 1000, ms % 1000 * 1000}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void by_signal(int flags, int to_ms, int with_load) {
    /* The main thread takes the signal: the kernel prefers it. */
    broken = open_with((struct how){.to_ms = to_ms});
    struct load load;
    if (with_load) load_start(&load, 200);
    double begun = now_ms();
    alarm_in(200, flags);
    unsigned count = 0;
    int done = pcap_loop(broken, -1, ignore, (u_char *)&count);
    double took = now_ms() - begun;
    CHECK(done == PCAP_ERROR_BREAK, "loop: %d: %s", done, pcap_geterr(broken));
    CHECK(took >= 190 && took < 3000, "after %.0f ms", took);
    if (with_load) {
        CHECK(count > 0, "no frames");
        load_stop(&load);
    }
    pcap_close(broken);
}

static void signal_interrupting(void) { by_signal(0, 10, 0); }
static void signal_restarting(void) { by_signal(SA_RESTART, 10, 0); }
static void signal_without_timeout(void) { by_signal(0, -1, 0); }
static void signal_restarting_without_timeout(void) { by_signal(SA_RESTART, -1, 0); }
static void signal_with_long_timeout(void) { by_signal(SA_RESTART, 10000, 0); }
static void signal_under_load(void) { by_signal(SA_RESTART, 10, 1); }

static void *break_later(void *ms) {
    sleep_ms((int)(intptr_t)ms);
    pcap_breakloop(broken);
    return NULL;
}

static void by_thread(int to_ms, int with_load) {
    broken = open_with((struct how){.to_ms = to_ms});
    struct load load;
    if (with_load) load_start(&load, 200);
    pthread_t thread;
    double begun = now_ms();
    pthread_create(&thread, NULL, break_later, (void *)(intptr_t)200);
    int done = pcap_loop(broken, -1, ignore, NULL);
    double took = now_ms() - begun;
    CHECK(done == PCAP_ERROR_BREAK, "loop: %d: %s", done, pcap_geterr(broken));
    CHECK(took >= 190 && took < 3000, "after %.0f ms", took);
    pthread_join(thread, NULL);
    if (with_load) load_stop(&load);
    pcap_close(broken);
}

static void thread_breaks(void) { by_thread(10, 0); }
static void thread_breaks_without_timeout(void) { by_thread(-1, 0); }
static void thread_breaks_under_load(void) { by_thread(10, 1); }

static void thread_breaks_dispatch(void) {
    broken = open_with((struct how){.to_ms = -1});
    pthread_t thread;
    pthread_create(&thread, NULL, break_later, (void *)(intptr_t)200);
    int done = pcap_dispatch(broken, -1, ignore, NULL);
    CHECK(done == PCAP_ERROR_BREAK, "dispatch: %d", done);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, break_later, (void *)(intptr_t)200);
    struct pcap_pkthdr *header;
    const u_char *bytes;
    done = pcap_next_ex(broken, &header, &bytes);
    CHECK(done == PCAP_ERROR_BREAK, "next_ex: %d", done);
    pthread_join(thread, NULL);
    pcap_close(broken);
}

/* The flag stays until a read has seen it, and is gone then. */
static void before_the_read(void) {
    pcap_t *p = open_near();
    send_numbers(0, 10);
    await_received(p, 10);
    for (int which = 0; which < 3; which++) {
        pcap_breakloop(p);
        struct pcap_pkthdr *header;
        const u_char *bytes;
        double begun = now_ms();
        int done = which == 0 ? pcap_loop(p, -1, ignore, NULL) : which == 1 ? pcap_dispatch(p, -1, ignore, NULL) : pcap_next_ex(p, &header, &bytes);
        CHECK(done == PCAP_ERROR_BREAK, "read %d: %d", which, done);
        CHECK(now_ms() - begun < 1000, "read %d took %.0f ms", which, now_ms() - begun);
    }
    expect_numbers(p, 0, 10);
    pcap_close(p);
}

static void nonblocking(void) {
    pcap_t *p = open_near();
    char error[PCAP_ERRBUF_SIZE];
    CHECK(pcap_setnonblock(p, 1, error) == 0, "%s", error);
    send_numbers(0, 10);
    await_received(p, 10);
    unsigned count = 0;
    pcap_breakloop(p);
    /* libpcap looks at the flag when it has something to deliver. */
    int done = 0;
    for (double end = now_ms() + 2000; done == 0 && now_ms() < end; usleep(500)) done = pcap_dispatch(p, -1, ignore, (u_char *)&count);
    CHECK(done == PCAP_ERROR_BREAK && count == 0, "dispatch: %d, %u frames", done, count);
    expect_numbers(p, 0, 10);
    CHECK(pcap_setnonblock(p, 1, error) == 0, "%s", error);
    done = pcap_dispatch(p, -1, ignore, NULL);
    CHECK(done == 0, "dispatch after it: %d", done);
    pcap_close(p);
}

struct stopped {
    pcap_t *p;
    uint32_t next;
    unsigned run;
};

static void stop_each(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes) {
    struct stopped *stopped = (struct stopped *)user;
    long number = number_of(bytes, header->caplen);
    CHECK(number == (long)stopped->next, "number %ld, not %u", number, stopped->next);
    stopped->next++;
    if (number % 7 == 0) pcap_breakloop(stopped->p);
}

/* Broken in the middle of batches, again and again: nothing is lost, nothing comes twice. */
static void from_callbacks(void) {
    pcap_t *p = open_near();
    send_numbers(0, 1000);
    await_received(p, 1000);
    struct stopped stopped = {p, 0, 0};
    unsigned breaks = 0;
    for (double end = now_ms() + 10000; stopped.next < 1000 && now_ms() < end;) {
        int done = pcap_dispatch(p, -1, stop_each, (u_char *)&stopped);
        CHECK(done >= 0 || done == PCAP_ERROR_BREAK, "dispatch: %d: %s", done, pcap_geterr(p));
        breaks++;
    }
    CHECK(stopped.next == 1000 && breaks >= 143, "%u frames, %u reads", stopped.next, breaks);
    pcap_close(p);
}

const struct test BREAKING[] = {{"signal_interrupting", signal_interrupting},
                                {"signal_restarting", signal_restarting},
                                {"signal_without_timeout", signal_without_timeout},
                                {"signal_restarting_without_timeout", signal_restarting_without_timeout},
                                {"signal_with_long_timeout", signal_with_long_timeout},
                                {"signal_under_load", signal_under_load},
                                {"thread_breaks", thread_breaks},
                                {"thread_breaks_without_timeout", thread_breaks_without_timeout},
                                {"thread_breaks_under_load", thread_breaks_under_load},
                                {"thread_breaks_dispatch", thread_breaks_dispatch},
                                {"before_the_read", before_the_read},
                                {"breakloop_nonblocking", nonblocking},
                                {"from_callbacks", from_callbacks},
                                {0}};
