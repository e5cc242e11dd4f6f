/* What is asked of a handle: direction, sending, snapshot length, promiscuous mode, times, link types, savefiles, many at once. */
#include "contract.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

static void ignore(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes) {
    if (user && number_of(bytes, header->caplen) >= 0) ++*(unsigned *)user;
}

/* Numbers from 100 come in, those from 200 go out. */
static void direction(pcap_direction_t wanted, unsigned in, unsigned out) {
    pcap_t *p = open_near();
    CHECK(pcap_setdirection(p, wanted) == 0, "setdirection: %s", pcap_geterr(p));
    unsigned char frame[128];
    int near = raw_socket(NEAR), far = raw_socket(FAR);
    for (uint32_t index = 0; index < 20; index++) {
        send_frame(far, frame, make_frame(frame, 100 + index, 1000, 128));
        send_frame(near, frame, make_frame(frame, 200 + index, 1000, 128));
    }
    close(near), close(far);
    uint32_t numbers[100];
    unsigned count = gather(p, numbers, in + out + 1, 400), got_in = 0, got_out = 0;
    for (unsigned index = 0; index < count; index++) numbers[index] < 200 ? got_in++ : got_out++;
    CHECK(got_in == in && got_out == out, "%u came in (%u wanted), %u went out (%u)", got_in, in, got_out, out);
    pcap_close(p);
}

static void direction_in(void) { direction(PCAP_D_IN, 20, 0); }
static void direction_out(void) { direction(PCAP_D_OUT, 0, 20); }
static void direction_both(void) { direction(PCAP_D_INOUT, 20, 20); }

static void inject(void) {
    pcap_t *p = open_near(), *far = open_on(FAR, &(struct how){0});
    unsigned char frame[1514];
    for (uint32_t number = 0; number < 50; number++) {
        size_t bytes = make_frame(frame, number, 1000, 100 + number * 28);
        if (number % 2)
            CHECK(pcap_inject(p, frame, bytes) == (int)bytes, "inject: %s", pcap_geterr(p));
        else
            CHECK(pcap_sendpacket(p, frame, (int)bytes) == 0, "sendpacket: %s", pcap_geterr(p));
    }
    for (uint32_t number = 0; number < 50; number++) {
        struct pcap_pkthdr *header;
        const u_char *got;
        int done;
        while ((done = pcap_next_ex(far, &header, &got)) == 0) {
        }
        size_t bytes = make_frame(frame, number, 1000, 100 + number * 28);
        CHECK(done == 1 && header->caplen == bytes && memcmp(got, frame, bytes) == 0, "frame %u is not as it was sent", number);
    }
    static unsigned char large[100000];
    CHECK(pcap_inject(p, large, sizeof large) < 0 && *pcap_geterr(p), "a frame of 100,000 bytes is sent");
    pcap_close(p);
    pcap_close(far);
}

static void snapshot(void) {
    pcap_t *p = open_with((struct how){.snaplen = 77});
    CHECK(pcap_snapshot(p) == 77, "snapshot is %d", pcap_snapshot(p));
    send_numbers_to(0, 20, 1000, 1000);
    send_numbers_to(20, 1, 1000, 70);
    for (unsigned number = 0; number < 21; number++) {
        struct pcap_pkthdr *header;
        const u_char *bytes;
        int done;
        while ((done = pcap_next_ex(p, &header, &bytes)) == 0) {
        }
        CHECK(done == 1 && number_of(bytes, header->caplen) == (long)number, "frame %u", number);
        unsigned length = number < 20 ? 1000 : 70, captured = number < 20 ? 77 : 70;
        CHECK(header->len == length && header->caplen == captured, "%u of %u bytes", header->caplen, header->len);
    }
    pcap_close(p);
}

static int promiscuity(void) {
    char text[64];
    output_of("ip -d -o link show " NEAR " | sed 's/.*promiscuity \\([0-9]*\\).*/\\1/'", text, sizeof text);
    return atoi(text);
}

static void promiscuous(void) {
    int before = promiscuity();
    pcap_t *p = open_with((struct how){.promisc = 1});
    CHECK(promiscuity() == before + 1, "promiscuity %d, was %d", promiscuity(), before);
    send_numbers(0, 5);
    expect_numbers(p, 0, 5);
    pcap_close(p);
    CHECK(promiscuity() == before, "promiscuity %d after closing, was %d", promiscuity(), before);
    p = open_near();
    CHECK(promiscuity() == before, "promiscuity %d, was %d", promiscuity(), before);
    pcap_close(p);
}

static void times(int precision) {
    pcap_t *p = open_with((struct how){.precision = precision});
    CHECK(pcap_get_tstamp_precision(p) == precision, "precision %d", pcap_get_tstamp_precision(p));
    struct timeval before, after;
    gettimeofday(&before, NULL);
    send_numbers(0, 100);
    gettimeofday(&after, NULL);
    int beyond_micro = 0;
    double last = 0;
    for (int number = 0; number < 100; number++) {
        struct pcap_pkthdr *header;
        const u_char *bytes;
        int done;
        while ((done = pcap_next_ex(p, &header, &bytes)) == 0) {
        }
        CHECK(done == 1, "next_ex: %s", pcap_geterr(p));
        long part = (long)header->ts.tv_usec;
        CHECK(part >= 0 && part < (precision ? 1000000000 : 1000000), "the part of a second is %ld", part);
        if (part % 1000) beyond_micro++;
        double time = (double)header->ts.tv_sec + (double)part / (precision ? 1e9 : 1e6);
        CHECK(time >= last, "times go back: %f, %f", last, time);
        last = time;
        CHECK(time > (double)before.tv_sec + (double)before.tv_usec / 1e6 - 0.05 && time < (double)after.tv_sec + (double)after.tv_usec / 1e6 + 0.05, "%f", time);
    }
    if (precision) CHECK(beyond_micro > 50, "nanoseconds are multiples of 1,000");
    pcap_close(p);
}

static void microseconds(void) { times(PCAP_TSTAMP_PRECISION_MICRO); }
static void nanoseconds(void) { times(PCAP_TSTAMP_PRECISION_NANO); }

static void time_types(void) {
    char error[PCAP_ERRBUF_SIZE];
    pcap_t *p = pcap_create(NEAR, error);
    int *types = NULL, count = pcap_list_tstamp_types(p, &types), has_host = count == 0;
    CHECK(count >= 0, "list: %s", pcap_geterr(p));
    for (int index = 0; index < count; index++) has_host |= types[index] == PCAP_TSTAMP_HOST;
    CHECK(has_host, "the host's clock is not among %d types", count);
    if (types) pcap_free_tstamp_types(types);
    CHECK(pcap_set_tstamp_type(p, PCAP_TSTAMP_HOST) == 0, "host");
    int status = pcap_set_tstamp_type(p, PCAP_TSTAMP_ADAPTER);
    CHECK(status == 0 || status == PCAP_WARNING_TSTAMP_TYPE_NOTSUP, "adapter: %d", status);
    CHECK(pcap_set_tstamp_type(p, 99) == PCAP_WARNING_TSTAMP_TYPE_NOTSUP, "99");
    CHECK(pcap_set_tstamp_precision(p, 7) == PCAP_ERROR_TSTAMP_PRECISION_NOTSUP, "precision 7");
    CHECK(pcap_set_timeout(p, 10) == 0, "timeout");
    CHECK(pcap_activate(p) >= 0, "activate: %s", pcap_geterr(p));
    CHECK(pcap_set_tstamp_type(p, PCAP_TSTAMP_HOST) == PCAP_ERROR_ACTIVATED, "after activation");
    send_numbers(0, 3);
    expect_numbers(p, 0, 3);
    pcap_close(p);
}

static void link_types(void) {
    pcap_t *p = open_near();
    CHECK(pcap_datalink(p) == DLT_EN10MB, "datalink %d", pcap_datalink(p));
    int *all = NULL, count = pcap_list_datalinks(p, &all), found = 0;
    CHECK(count > 0, "list: %d", count);
    for (int index = 0; index < count; index++) found |= all[index] == DLT_EN10MB;
    CHECK(found, "Ethernet is not in the list");
    pcap_free_datalinks(all);
    CHECK(pcap_set_datalink(p, DLT_EN10MB) == 0, "set: %s", pcap_geterr(p));
    CHECK(pcap_set_datalink(p, DLT_USB_LINUX) == -1 && *pcap_geterr(p), "set to USB");
    CHECK(pcap_datalink(p) == DLT_EN10MB, "datalink %d", pcap_datalink(p));
    pcap_close(p);
}

struct dump {
    pcap_dumper_t *file;
    unsigned count;
};

static void write_one(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes) {
    struct dump *dump = (struct dump *)user;
    pcap_dump((u_char *)dump->file, header, bytes);
    dump->count++;
}

static void savefile(int precision) {
    char path[] = "/tmp/contract-XXXXXX", error[PCAP_ERRBUF_SIZE];
    close(mkstemp(path));
    pcap_t *p = open_with((struct how){.precision = precision, .snaplen = 300});
    struct dump dump = {pcap_dump_open(p, path), 0};
    CHECK(dump.file, "pcap_dump_open: %s", pcap_geterr(p));
    send_numbers_to(0, 30, 1000, 400);
    CHECK(pcap_loop(p, 30, write_one, (u_char *)&dump) == 0, "loop: %s", pcap_geterr(p));
    CHECK(pcap_dump_ftell(dump.file) == 24 + 30 * (16 + 300), "at %ld", pcap_dump_ftell(dump.file));
    pcap_dump_close(dump.file);
    pcap_close(p);
    /* Added to by another handle. */
    p = open_with((struct how){.precision = precision, .snaplen = 300});
    dump.file = pcap_dump_open_append(p, path);
    CHECK(dump.file, "pcap_dump_open_append: %s", pcap_geterr(p));
    send_numbers_to(30, 10, 1000, 400);
    CHECK(pcap_loop(p, 10, write_one, (u_char *)&dump) == 0, "loop");
    CHECK(pcap_dump_flush(dump.file) == 0, "flush");
    pcap_dump_close(dump.file);
    pcap_close(p);
    p = pcap_open_offline_with_tstamp_precision(path, (u_int)precision, error);
    CHECK(p, "%s", error);
    CHECK(pcap_snapshot(p) == 300 && pcap_datalink(p) == DLT_EN10MB && pcap_is_swapped(p) == 0, "snapshot %d", pcap_snapshot(p));
    struct pcap_pkthdr *header;
    const u_char *bytes;
    unsigned char wanted[400];
    for (uint32_t number = 0; number < 40; number++) {
        CHECK(pcap_next_ex(p, &header, &bytes) == 1, "frame %u of the file", number);
        make_frame(wanted, number, 1000, 400);
        CHECK(header->len == 400 && header->caplen == 300 && memcmp(bytes, wanted, 300) == 0, "frame %u of the file", number);
    }
    CHECK(pcap_next_ex(p, &header, &bytes) == PCAP_ERROR_BREAK, "the end of the file");
    pcap_close(p);
    unlink(path);
}

static void savefile_micro(void) { savefile(PCAP_TSTAMP_PRECISION_MICRO); }
static void savefile_nano(void) { savefile(PCAP_TSTAMP_PRECISION_NANO); }

static void close_with_packets(void) {
    for (int round = 0; round < 10; round++) {
        pcap_t *p = open_near();
        send_numbers(0, 200);
        if (round % 2) CHECK(pcap_dispatch(p, 3, ignore, NULL) >= 0, "dispatch");
        pcap_close(p);
    }
    pcap_t *p = open_near();
    send_numbers(5, 5);
    expect_numbers(p, 5, 5);
    pcap_close(p);
}

static void many_handles(void) {
    enum { MANY = 24 };
    pcap_t *all[MANY];
    for (int index = 0; index < MANY; index++) all[index] = open_with((struct how){.buffer = 512 << 10});
    send_numbers(0, 50);
    for (int index = 0; index < MANY; index++) expect_numbers(all[index], 0, 50);
    for (int index = 0; index < MANY; index += 2) pcap_close(all[index]);
    send_numbers(50, 50);
    for (int index = 1; index < MANY; index += 2) {
        expect_numbers(all[index], 50, 50);
        pcap_close(all[index]);
    }
}

static void *read_one_handle(void *nothing) {
    (void)nothing;
    pcap_t *p = open_with((struct how){.buffer = 1 << 20});
    unsigned count = 0;
    int done = pcap_loop(p, 500, ignore, (u_char *)&count);
    CHECK(done == 0 && count == 500, "loop: %d, %u frames", done, count);
    pcap_close(p);
    return NULL;
}

/* Each thread with a handle of its own. */
static void threads(void) {
    pthread_t all[6];
    for (int index = 0; index < 6; index++) pthread_create(&all[index], NULL, read_one_handle, NULL);
    struct load load;
    load_start(&load, 1000);
    for (int index = 0; index < 6; index++) pthread_join(all[index], NULL);
    load_stop(&load);
}

/* A child that has the handle, too, and ends or closes it: the parent's goes on. */
static void forked(void) {
    pcap_t *p = open_near();
    send_numbers(0, 20);
    expect_numbers(p, 0, 10);
    for (int way = 0; way < 3; way++) {
        pid_t child = fork();
        if (child == 0) {
            if (way == 0) _exit(0);
            if (way == 1) pcap_close(p);
            exit(0);
        }
        int status = 0;
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the child of way %d ended with %d", way, status);
    }
    expect_numbers(p, 10, 10);
    send_numbers(20, 20);
    expect_numbers(p, 20, 20);
    pcap_close(p);
    /* As daemons do: open, fork, and the child reads. */
    p = open_near();
    pid_t child = fork();
    if (child == 0) {
        send_numbers(0, 20);
        expect_numbers(p, 0, 20);
        fflush(stdout);
        _exit(0);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the reading child ended with %d", status);
    pcap_close(p);
}

const struct test DEVICES[] = {{"direction_in", direction_in},
                               {"direction_out", direction_out},
                               {"direction_both", direction_both},
                               {"inject", inject},
                               {"snapshot", snapshot},
                               {"promiscuous", promiscuous},
                               {"microseconds", microseconds},
                               {"nanoseconds", nanoseconds},
                               {"time_types", time_types},
                               {"link_types", link_types},
                               {"savefile_micro", savefile_micro},
                               {"savefile_nano", savefile_nano},
                               {"close_with_packets", close_with_packets},
                               {"many_handles", many_handles},
                               {"threads", threads},
                               {"forked", forked},
                               {0}};
