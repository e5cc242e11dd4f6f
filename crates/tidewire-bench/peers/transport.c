/* The peers of a queue: one process sends records to another over a pipe, a Unix socket or ZeroMQ's PUB/SUB over ipc://.
 *
 *   transport pipe|unix|zmq BYTES SECONDS RATE BUFFER
 *
 * Sends records of BYTES for SECONDS: as fast as possible (RATE 0), or RATE a second with the time in each of them. BUFFER is
 * the size of the pipe or of the socket's buffers; 0: the kernel's default. The sender's thread has core 0, the receiver's
 * core 1; ZeroMQ's own threads run where they like. Prints one JSON object.
 *
 * cc -O2 -o transport transport.c [-DWITH_ZMQ -lzmq]
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef WITH_ZMQ
#include <zmq.h>
#endif

enum { LATENCIES_MAX = 1 << 22, READ_BYTES = 1 << 16 };
static const uint64_t END = UINT64_MAX;

struct settings {
    const char *kind;
    size_t bytes;
    double seconds, rate;
    int buffer;
};

/* What the receiver saw, sent to its parent over a pipe. */
struct seen {
    uint64_t records, wrong, last_ns, cpu_ns, p50_ns, p99_ns, p999_ns, max_ns;
};

static uint64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint64_t process_cpu_ns(void)
{
    return now(CLOCK_PROCESS_CPUTIME_ID);
}

static void die(const char *what)
{
    fprintf(stderr, "transport: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void pin(int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    if (sched_setaffinity(0, sizeof set, &set))
        die("core");
}

/* The receiver's account. */
static struct seen seen;
static uint32_t *latencies;
static size_t latency_count;

static int note(const unsigned char *record, size_t bytes, size_t wanted)
{
    uint64_t words[2];
    if (bytes < sizeof words) {
        seen.wrong++;
        return 1;
    }
    memcpy(words, record, sizeof words);
    if (words[0] == END)
        return 0;
    seen.wrong += words[0] != seen.records || bytes != wanted;
    seen.records++;
    if (words[1] && latency_count < LATENCIES_MAX)
        latencies[latency_count++] = (uint32_t)(now(CLOCK_MONOTONIC) - words[1]);
    return 1;
}

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static uint64_t quantile(double share)
{
    return latency_count ? latencies[(size_t)((double)(latency_count - 1) * share)] : 0;
}

static void report(int to, uint64_t cpu_ns)
{
    seen.last_ns = now(CLOCK_MONOTONIC);
    seen.cpu_ns = process_cpu_ns() - cpu_ns;
    qsort(latencies, latency_count, sizeof *latencies, ascending);
    seen.p50_ns = quantile(0.5);
    seen.p99_ns = quantile(0.99);
    seen.p999_ns = quantile(0.999);
    seen.max_ns = quantile(1);
    if (write(to, &seen, sizeof seen) != sizeof seen)
        die("report");
}

/* Sends for the settings' time. `put` sends one record, or returns 0 on failure. */
static uint64_t send_all(const struct settings *settings, unsigned char *record, int (*put)(void *, const void *, size_t),
                         void *with, uint64_t *begun_ns)
{
    uint64_t number = 0, words[2] = {0, 0};
    *begun_ns = now(CLOCK_MONOTONIC);
    uint64_t end_ns = *begun_ns + (uint64_t)(settings->seconds * 1e9);
    for (;; number++) {
        if (settings->rate > 0) {
            uint64_t at = *begun_ns + (uint64_t)((double)number * 1e9 / settings->rate);
            if (at >= end_ns)
                break;
            while ((words[1] = now(CLOCK_MONOTONIC)) < at)
                ;
        } else if (number % 64 == 0 && now(CLOCK_MONOTONIC) >= end_ns) {
            break;
        }
        words[0] = number;
        memcpy(record, words, sizeof words);
        if (!put(with, record, settings->bytes))
            die("send");
    }
    words[0] = END;
    memcpy(record, words, sizeof words);
    if (!put(with, record, settings->bytes))
        die("send");
    return number;
}

static int put_to_file(void *with, const void *record, size_t bytes)
{
    const unsigned char *at = record;
    while (bytes > 0) {
        ssize_t written = write(*(int *)with, at, bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return 0;
        at += written;
        bytes -= (size_t)written;
    }
    return 1;
}

/* Reads as much as is there, up to 64 KiB, and takes it apart. */
static void receive_from_file(int from, size_t bytes)
{
    size_t room = bytes > READ_BYTES ? bytes * 2 : READ_BYTES * 2, held = 0;
    unsigned char *memory = malloc(room);
    for (;;) {
        ssize_t got = read(from, memory + held, room - held < READ_BYTES ? room - held : READ_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            die("receive");
        held += (size_t)got;
        size_t at = 0;
        for (; held - at >= bytes; at += bytes)
            if (!note(memory + at, bytes, bytes))
                return;
        held -= at;
        memmove(memory, memory + at, held);
    }
}

#ifdef WITH_ZMQ
static int put_to_zmq(void *with, const void *record, size_t bytes)
{
    return zmq_send(with, record, bytes, 0) == (int)bytes;
}

static void *zmq_end(void *context, int kind, const char *address)
{
    int none = 0;
    void *end = zmq_socket(context, kind);
    if (!end || zmq_setsockopt(end, ZMQ_SNDHWM, &none, sizeof none) || zmq_setsockopt(end, ZMQ_RCVHWM, &none, sizeof none))
        die("zmq_socket");
    if (kind == ZMQ_SUB ? zmq_connect(end, address) || zmq_setsockopt(end, ZMQ_SUBSCRIBE, "", 0) : zmq_bind(end, address))
        die(address);
    return end;
}

/* Greetings are shorter than records: the receiver says when the first has arrived, and ignores the others. */
static void receive_from_zmq(const char *address, size_t bytes, int ready)
{
    void *end = zmq_end(zmq_ctx_new(), ZMQ_SUB, address);
    pin(1);
    int is_ready = 0;
    zmq_msg_t message;
    zmq_msg_init(&message);
    for (;;) {
        if (zmq_msg_recv(&message, end, 0) < 0)
            die("zmq_msg_recv");
        if (zmq_msg_size(&message) == 1) {
            if (!is_ready && write(ready, "r", 1) != 1)
                die("ready");
            is_ready = 1;
        } else if (!note(zmq_msg_data(&message), zmq_msg_size(&message), bytes)) {
            return;
        }
    }
}
#endif

static void print(const struct settings *settings, uint64_t sent, uint64_t begun_ns, uint64_t cpu_ns)
{
    double seconds = (double)(seen.last_ns - begun_ns) / 1e9;
    printf("{\"sent\":%llu,\"received\":%llu,\"wrong\":%llu,\"bytes\":%zu,\"seconds\":%.6f,\"sender_cpu_ns\":%llu,"
           "\"receiver_cpu_ns\":%llu,\"p50_ns\":%llu,\"p99_ns\":%llu,\"p999_ns\":%llu,\"max_ns\":%llu}\n",
           (unsigned long long)sent, (unsigned long long)seen.records, (unsigned long long)seen.wrong, settings->bytes, seconds,
           (unsigned long long)cpu_ns, (unsigned long long)seen.cpu_ns, (unsigned long long)seen.p50_ns,
           (unsigned long long)seen.p99_ns, (unsigned long long)seen.p999_ns, (unsigned long long)seen.max_ns);
}

int main(int count, char **words)
{
    if (count != 6) {
        fprintf(stderr, "transport pipe|unix|zmq BYTES SECONDS RATE BUFFER\n");
        return 2;
    }
    struct settings settings = {words[1], strtoul(words[2], 0, 10), atof(words[3]), atof(words[4]), atoi(words[5])};
    int is_zmq = !strcmp(settings.kind, "zmq"), is_pipe = !strcmp(settings.kind, "pipe");
    if (settings.bytes < 16 || settings.bytes > 1 << 20 || (!is_zmq && !is_pipe && strcmp(settings.kind, "unix"))) {
        fprintf(stderr, "transport: pipe, unix or zmq, and records of 16 bytes to 1 MiB\n");
        return 2;
    }
#ifndef WITH_ZMQ
    if (is_zmq) {
        fprintf(stderr, "transport: built without ZeroMQ\n");
        return 2;
    }
#endif
    char address[64];
    snprintf(address, sizeof address, "ipc:///tmp/tidewire-bench-zmq-%d", getpid());
    int data[2] = {-1, -1}, back[2], ready[2];
    if (pipe(back) || pipe(ready) || (is_pipe && pipe(data)) || (!is_zmq && !is_pipe && socketpair(AF_UNIX, SOCK_STREAM, 0, data)))
        die("pipe");
    /* A pipe is read at 0 and written at 1; of the socket pair either end will do. */
    if (settings.buffer > 0 && is_pipe && fcntl(data[1], F_SETPIPE_SZ, settings.buffer) < 0)
        die("F_SETPIPE_SZ");
    if (settings.buffer > 0 && !is_pipe && !is_zmq)
        for (int end = 0; end < 2; end++)
            setsockopt(data[end], SOL_SOCKET, end ? SO_SNDBUF : SO_RCVBUF, &settings.buffer, sizeof settings.buffer);
    pid_t child = fork();
    if (child < 0)
        die("fork");
    if (child == 0) {
        latencies = malloc(LATENCIES_MAX * sizeof *latencies);
        memset(latencies, 0, LATENCIES_MAX * sizeof *latencies);
        uint64_t cpu_ns = process_cpu_ns();
#ifdef WITH_ZMQ
        if (is_zmq) {
            receive_from_zmq(address, settings.bytes, ready[1]);
            report(back[1], cpu_ns);
            _exit(0);
        }
#endif
        pin(1);
        if (write(ready[1], "r", 1) != 1)
            die("ready");
        receive_from_file(data[0], settings.bytes);
        report(back[1], cpu_ns);
        _exit(0);
    }
    close(back[1]);
    close(ready[1]);
    unsigned char *record = malloc(settings.bytes);
    memset(record, 7, settings.bytes);
    void *with = &data[1];
    int (*put)(void *, const void *, size_t) = put_to_file;
#ifdef WITH_ZMQ
    if (is_zmq) {
        with = zmq_end(zmq_ctx_new(), ZMQ_PUB, address);
        put = put_to_zmq;
        fcntl(ready[0], F_SETFL, O_NONBLOCK);
    }
#endif
    char byte;
    while (read(ready[0], &byte, 1) != 1) {
#ifdef WITH_ZMQ
        if (is_zmq && (zmq_send(with, "g", 1, 0) != 1 || usleep(1000)))
            die("greeting");
#endif
    }
    pin(0);
    uint64_t begun_ns, cpu_ns = process_cpu_ns(), sent = send_all(&settings, record, put, with, &begun_ns);
    cpu_ns = process_cpu_ns() - cpu_ns;
    if (read(back[0], &seen, sizeof seen) != sizeof seen) {
        fprintf(stderr, "transport: the receiver failed\n");
        return 1;
    }
    waitpid(child, 0, 0);
    if (is_zmq)
        unlink(address + strlen("ipc://"));
    print(&settings, sent, begun_ns, cpu_ns);
    return 0;
}
