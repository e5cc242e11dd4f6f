/* Runs one case of the contract: `contract NAME`, or `contract --list`. */
#include "contract.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <time.h>

void fail(const char *file, int line, const char *format, ...) {
    va_list rest;
    va_start(rest, format);
    printf("%s:%d: ", file, line);
    vprintf(format, rest);
    printf("\n");
    fflush(stdout);
    _exit(1);
}

double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

void sleep_ms(int ms) {
    struct timespec left = {ms / 1000, ms % 1000 * 1000000L};
    while (nanosleep(&left, &left) < 0 && errno == EINTR) {
    }
}

static unsigned limit;

static void *watch(void *nothing) {
    (void)nothing;
    sleep_ms((int)limit * 1000);
    fail(__FILE__, __LINE__, "it hangs: nothing for %u s", limit);
}

void limit_s(unsigned seconds) {
    pthread_t thread;
    limit = seconds;
    CHECK(pthread_create(&thread, NULL, watch, NULL) == 0, "no thread");
    pthread_detach(thread);
}

int raw_socket(const char *device) {
    int fd = socket(AF_PACKET, SOCK_RAW, 0);
    CHECK(fd >= 0, "socket: %s", strerror(errno));
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(device)};
    CHECK(address.sll_ifindex > 0, "no %s", device);
    CHECK(bind(fd, (struct sockaddr *)&address, sizeof address) == 0, "bind: %s", strerror(errno));
    int bytes = 8 << 20;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes);
    return fd;
}

static const unsigned char MAGIC[4] = {'t', 'i', 'd', 'e'};
enum { PAYLOAD = 14 + 20 + 8 };

size_t make_frame(unsigned char *frame, uint32_t number, uint16_t port, size_t bytes) {
    if (bytes < 64) bytes = 64;
    for (size_t index = 0; index < bytes; index++) frame[index] = (unsigned char)(index * 7 + number);
    /* To nobody here: the stack drops it without an answer. */
    static const unsigned char link[14] = {2, 9, 9, 9, 9, 9, 2, 8, 8, 8, 8, 8, 8, 0};
    memcpy(frame, link, sizeof link);
    unsigned char *ip = frame + 14;
    size_t total = bytes - 14 > 65535 ? 65535 : bytes - 14;
    const unsigned char header[20] = {0x45, 0, total >> 8, total & 255, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 1, 0, 1, 10, 1, 0, 2};
    memcpy(ip, header, sizeof header);
    uint32_t sum = 0;
    for (int index = 0; index < 20; index += 2) sum += (uint32_t)ip[index] << 8 | ip[index + 1];
    sum = (sum & 0xffff) + (sum >> 16);
    sum = ~((sum & 0xffff) + (sum >> 16));
    ip[10] = (sum >> 8) & 255, ip[11] = sum & 255;
    unsigned char *udp = ip + 20;
    const unsigned char ports[8] = {40000 >> 8, 40000 & 255, port >> 8, port & 255, (total - 20) >> 8, (total - 20) & 255, 0, 0};
    memcpy(udp, ports, sizeof ports);
    memcpy(frame + PAYLOAD, MAGIC, 4);
    uint32_t wire = htonl(number);
    memcpy(frame + PAYLOAD + 4, &wire, 4);
    return bytes;
}

void send_frame(int fd, const void *frame, size_t bytes) {
    for (int tries = 0;; tries++) {
        ssize_t sent = send(fd, frame, bytes, 0);
        if (sent == (ssize_t)bytes) return;
        CHECK(tries < 1000 && (errno == ENOBUFS || errno == EINTR || errno == EAGAIN), "send of %zu: %s", bytes, strerror(errno));
        usleep(1000);
    }
}

void send_numbers_to(uint32_t from, uint32_t count, uint16_t port, size_t bytes) {
    unsigned char *frame = malloc(bytes < 64 ? 64 : bytes);
    int fd = raw_socket(FAR);
    for (uint32_t index = 0; index < count; index++) {
        size_t made = make_frame(frame, from + index, port, bytes);
        send_frame(fd, frame, made);
    }
    close(fd);
    free(frame);
}

void send_numbers(uint32_t from, uint32_t count) { send_numbers_to(from, count, 1000, 128); }

long number_of(const unsigned char *bytes, unsigned caplen) {
    uint32_t wire;
    if (caplen < PAYLOAD + 8 || memcmp(bytes + PAYLOAD, MAGIC, 4) != 0) return -1;
    memcpy(&wire, bytes + PAYLOAD + 4, 4);
    return ntohl(wire);
}

int port_of(const unsigned char *bytes, unsigned caplen) {
    return caplen < PAYLOAD ? -1 : bytes[14 + 20 + 2] << 8 | bytes[14 + 20 + 3];
}

static void *send_load(void *argument) {
    struct load *load = argument;
    unsigned char frame[128];
    int fd = raw_socket(FAR);
    while (!load->stop) {
        size_t bytes = make_frame(frame, load->sent, (uint16_t)(1000 + load->sent % 4), sizeof frame);
        send_frame(fd, frame, bytes);
        load->sent++;
        if (load->pause_us && load->sent % 64 == 0) usleep(load->pause_us);
    }
    close(fd);
    return NULL;
}

void load_start(struct load *load, unsigned pause_us) {
    memset(load, 0, sizeof *load);
    load->pause_us = pause_us;
    CHECK(pthread_create(&load->thread, NULL, send_load, load) == 0, "no thread");
}

void load_stop(struct load *load) {
    load->stop = 1;
    pthread_join(load->thread, NULL);
}

pcap_t *open_on(const char *device, const struct how *how) {
    char error[PCAP_ERRBUF_SIZE] = "";
    pcap_t *p = pcap_create(device, error);
    CHECK(p, "pcap_create(%s): %s", device, error);
    CHECK(pcap_set_snaplen(p, how->snaplen ? how->snaplen : 262144) == 0, "snaplen");
    CHECK(pcap_set_timeout(p, how->to_ms ? (how->to_ms < 0 ? 0 : how->to_ms) : 10) == 0, "timeout");
    if (how->promisc) CHECK(pcap_set_promisc(p, 1) == 0, "promisc");
    if (how->immediate) CHECK(pcap_set_immediate_mode(p, 1) == 0, "immediate");
    if (how->buffer) CHECK(pcap_set_buffer_size(p, how->buffer) == 0, "buffer");
    if (how->precision) CHECK(pcap_set_tstamp_precision(p, how->precision) == 0, "precision");
    int status = pcap_activate(p);
    CHECK(status == 0, "pcap_activate: %d (%s): %s", status, pcap_statustostr(status), pcap_geterr(p));
    return p;
}

pcap_t *open_with(struct how how) { return open_on(NEAR, &how); }

pcap_t *open_near(void) { return open_with((struct how){0}); }

struct gathered {
    uint32_t *numbers;
    unsigned count, most;
};

static void note(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes) {
    struct gathered *gathered = (struct gathered *)user;
    long number = number_of(bytes, header->caplen);
    if (number < 0) return;
    CHECK(gathered->count < gathered->most, "more than %u frames: number %ld", gathered->most, number);
    gathered->numbers[gathered->count++] = (uint32_t)number;
}

unsigned gather(pcap_t *p, uint32_t *numbers, unsigned count, int ms) {
    struct gathered gathered = {numbers, 0, count};
    char error[PCAP_ERRBUF_SIZE];
    int before = pcap_getnonblock(p, error);
    CHECK(pcap_setnonblock(p, 1, error) == 0, "setnonblock: %s", error);
    double end = now_ms() + ms;
    while (gathered.count < count && now_ms() < end) {
        int done = pcap_dispatch(p, (int)(count - gathered.count), note, (u_char *)&gathered);
        CHECK(done >= 0, "pcap_dispatch: %d: %s", done, pcap_geterr(p));
        if (done == 0) usleep(500);
    }
    pcap_setnonblock(p, before, error);
    return gathered.count;
}

void expect_numbers(pcap_t *p, uint32_t from, unsigned count) {
    uint32_t *numbers = calloc(count, sizeof *numbers);
    unsigned got = gather(p, numbers, count, 5000);
    CHECK(got == count, "%u of %u frames came", got, count);
    for (unsigned index = 0; index < count; index++)
        CHECK(numbers[index] == from + index, "frame %u has number %u, not %u", index, numbers[index], from + index);
    free(numbers);
}

void expect_nothing(pcap_t *p, int ms) {
    uint32_t number = 0;
    unsigned got = gather(p, &number, 1, ms);
    CHECK(got == 0, "a frame that should not come: number %u", number);
}

void await_received(pcap_t *p, unsigned count) {
    struct pcap_stat stats;
    unsigned received = 0;
    for (double end = now_ms() + 5000; now_ms() < end; usleep(500)) {
        CHECK(pcap_stats(p, &stats) == 0, "pcap_stats: %s", pcap_geterr(p));
        if ((received = stats.ps_recv) >= count) return;
    }
    fail(__FILE__, __LINE__, "%u of %u frames received", received, count);
}

void shell(const char *command) {
    int status = system(command);
    CHECK(status == 0, "%s: status %d", command, status);
}

void output_of(const char *command, char *text, size_t bytes) {
    FILE *pipe = popen(command, "r");
    CHECK(pipe, "%s: %s", command, strerror(errno));
    size_t got = fread(text, 1, bytes - 1, pipe);
    text[got] = 0;
    text[strcspn(text, "\n")] = 0;
    pclose(pipe);
}

void filter(pcap_t *p, const char *expression) {
    struct bpf_program program;
    CHECK(pcap_compile(p, &program, expression, 1, PCAP_NETMASK_UNKNOWN) == 0, "%s: %s", expression, pcap_geterr(p));
    CHECK(pcap_setfilter(p, &program) == 0, "%s: %s", expression, pcap_geterr(p));
    pcap_freecode(&program);
}

static const struct test *const ALL[] = {READING, BREAKING, WAITING, STATS, FILTERS, DEVICES, LINKS, ERRORS, FACTS};

int main(int count, char **words) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t group = 0; group < sizeof ALL / sizeof *ALL; group++) {
        for (const struct test *test = ALL[group]; test->name; test++) {
            if (count > 1 && strcmp(words[1], "--list") == 0) {
                printf("%s\n", test->name);
            } else if (count > 1 && strcmp(words[1], test->name) == 0) {
                limit_s(25);
                test->run();
                printf("ok\n");
                return 0;
            }
        }
    }
    return count > 1 && strcmp(words[1], "--list") == 0 ? 0 : 2;
}
