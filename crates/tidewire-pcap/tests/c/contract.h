/* What the cases of the contract have in common: a link of two ends, numbered frames, and checks that say what was not so. */
#ifndef CONTRACT_H
#define CONTRACT_H

#define _GNU_SOURCE
#include <errno.h>
#include <pcap/pcap.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The end that is listened to, and the other: a veth pair in the namespace that the test gave us. */
#define NEAR "tw0"
#define FAR "tw1"

struct test {
    const char *name;
    void (*run)(void);
};

/* Each file's cases, ended by an empty one. */
extern const struct test READING[], BREAKING[], WAITING[], STATS[], FILTERS[], DEVICES[], LINKS[], ERRORS[], FACTS[];

_Noreturn void fail(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
#define CHECK(condition, ...)                              \
    do {                                                   \
        if (!(condition)) fail(__FILE__, __LINE__, __VA_ARGS__); \
    } while (0)

/* Milliseconds of a clock that only goes on. */
double now_ms(void);
void sleep_ms(int ms);
/* Ends the process if the case takes longer: a read that hangs is a failure. */
void limit_s(unsigned seconds);

/* A raw socket on an interface. */
int raw_socket(const char *device);
/* Frames of UDP to a port, the number in the payload, of `bytes` bytes (at least 64). */
size_t make_frame(unsigned char *frame, uint32_t number, uint16_t port, size_t bytes);
void send_frame(int fd, const void *frame, size_t bytes);
/* Numbers from..from+count-1 to port 1000 from the far end, 128 bytes each. */
void send_numbers(uint32_t from, uint32_t count);
void send_numbers_to(uint32_t from, uint32_t count, uint16_t port, size_t bytes);
/* The number of a frame of ours, or -1; its port. */
long number_of(const unsigned char *bytes, unsigned caplen);
int port_of(const unsigned char *bytes, unsigned caplen);

/* A thread that sends numbered frames to ports 1000 + number % 4 until told to stop. */
struct load {
    pthread_t thread;
    volatile int stop;
    uint32_t sent;
    unsigned pause_us; /* after every 64 frames */
};
void load_start(struct load *load, unsigned pause_us);
void load_stop(struct load *load);

struct how {
    int snaplen, to_ms, immediate, buffer, promisc, precision;
};
/* An activated handle on a device; what is 0 in `how` is as the library has it, but for the snapshot length and 10 ms. */
pcap_t *open_on(const char *device, const struct how *how);
pcap_t *open_near(void);
pcap_t *open_with(struct how how);

/* Reads with pcap_dispatch until `count` frames of ours came or `ms` went by; their numbers go to `numbers`. */
unsigned gather(pcap_t *p, uint32_t *numbers, unsigned count, int ms);
/* The same, and they are from, from+1, ... */
void expect_numbers(pcap_t *p, uint32_t from, unsigned count);
/* Nothing more comes. */
void expect_nothing(pcap_t *p, int ms);
/* Waits until this many frames are in the ring: by pcap_stats. */
void await_received(pcap_t *p, unsigned count);
/* Runs a command of a shell; it must succeed. */
void shell(const char *command);
/* What a command prints, its first line's end cut off. */
void output_of(const char *command, char *text, size_t bytes);
void filter(pcap_t *p, const char *expression);

#endif
