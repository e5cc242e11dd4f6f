/*
 * tidewire/queue.h: reads the queues of a Tidewire sensor.
 *
 * A sensor publishes records (what its streams deliver, or packets) in shared memory. Any number of programs, at most 32 to
 * a queue, read the same copy. No program can disturb the sensor or another program: the memory is read-only, and a program
 * that is too slow loses records and learns which.
 *
 *   tidewire_queue_t *queue;
 *   const tidewire_queue_event_t *event;
 *   int what = tidewire_queue_attach(NULL, "streams", "example", NULL, &queue);
 *   while (what >= 0 && what != TIDEWIRE_QUEUE_ENDED) {
 *       what = tidewire_queue_next_timeout(queue, 1000, &event);
 *       if (what == TIDEWIRE_QUEUE_RECORD && event->kind == TIDEWIRE_QUEUE_DATA)
 *           fwrite(event->data, 1, event->data_bytes, stdout);
 *   }
 *   if (what < 0)
 *       fprintf(stderr, "%s\n", tidewire_queue_error());
 *   tidewire_queue_detach(queue);
 *
 * Compile with: cc example.c $(pkg-config --cflags --libs tidewire-queue)
 *
 * Threads: one thread at a time may use a tidewire_queue_t; different ones are independent. The library starts no thread,
 * prints nothing, changes no signal, and keeps no state outside of what it returns, but for the error text of each thread.
 *
 * Compatibility: numbers of constants and offsets of members stay as they are. Members are added behind the last one only,
 * and every structure is the library's own: a program never allocates one. Structures that are in an array inside another one
 * (tidewire_queue_figures_t, tidewire_queue_key_t) never grow: what is added to them comes behind the last member of the other. The file's format and the socket's protocol are
 * in docs/queues.md.
 */
#ifndef TIDEWIRE_QUEUE_H
#define TIDEWIRE_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface. It grows with each addition; the soname changes when something is taken away. */
#define TIDEWIRE_QUEUE_VERSION 1

/* Where a sensor listens unless told otherwise. */
#define TIDEWIRE_QUEUE_SOCKET "/run/tidewire/queues.sock"

/* What a call found. */
#define TIDEWIRE_QUEUE_EMPTY 0  /* no record is there yet */
#define TIDEWIRE_QUEUE_RECORD 1 /* a record */
#define TIDEWIRE_QUEUE_MISSED 2 /* a record whose payload was overwritten before it was read; its other members are known */
#define TIDEWIRE_QUEUE_LOST 3   /* records that were overwritten before they were read: how many, and bytes of payload */
#define TIDEWIRE_QUEUE_ENDED 4  /* the queue has ended (event->code says why), and everything was read */

/* Errors. tidewire_queue_error() describes the last one. */
#define TIDEWIRE_QUEUE_ERROR_ARGUMENT (-1)    /* a null pointer, or an invalid name */
#define TIDEWIRE_QUEUE_ERROR_SYSTEM (-2)      /* the kernel refused memory or a descriptor */
#define TIDEWIRE_QUEUE_ERROR_SERVER (-3)      /* no server of queues answers there */
#define TIDEWIRE_QUEUE_ERROR_NO_QUEUE (-4)    /* the server has no queue of this name */
#define TIDEWIRE_QUEUE_ERROR_FULL (-5)        /* the queue has as many readers as it may have */
#define TIDEWIRE_QUEUE_ERROR_USER (-6)        /* this user may not attach */
#define TIDEWIRE_QUEUE_ERROR_REFUSED (-7)     /* the server refused for another reason */
#define TIDEWIRE_QUEUE_ERROR_NOT_A_QUEUE (-8) /* the file is no queue, or one of another version */
#define TIDEWIRE_QUEUE_ERROR_CORRUPT (-9)     /* the publisher wrote what no publisher writes; nothing more can be read */
#define TIDEWIRE_QUEUE_ERROR_INTERNAL (-10)   /* a defect of this library */

/* Kinds of records. Others may be added: a program skips kinds that it does not know. */
#define TIDEWIRE_QUEUE_OPEN 1     /* a stream begins: event->open */
#define TIDEWIRE_QUEUE_DATA 2     /* bytes of a stream, in order: event->data */
#define TIDEWIRE_QUEUE_GAP 3      /* bytes that are missing: event->bytes from event->offset on, event->code says why */
#define TIDEWIRE_QUEUE_CONFLICT 4 /* bytes of which two versions arrived: event->bytes from event->offset on */
#define TIDEWIRE_QUEUE_CLOSE 5    /* a stream ends: event->close, event->code says why */
#define TIDEWIRE_QUEUE_PACKET 6   /* a packet: event->packet, its bytes from the link layer on are event->data */

/* Flags of records. */
#define TIDEWIRE_QUEUE_FROM_SERVER 1   /* of the direction from the server to the client */
#define TIDEWIRE_QUEUE_REPEATED 2      /* an open that was published before, for readers that do not have it */
#define TIDEWIRE_QUEUE_DATAGRAM 4      /* the data are one datagram */
#define TIDEWIRE_QUEUE_SHED_BY_QUEUE 8 /* a gap of bytes that the queue shed for the sake of a slow reader */

/* Why a queue has ended. */
#define TIDEWIRE_QUEUE_FINISHED 1 /* the input ended, or the sensor was stopped; every record was published */
#define TIDEWIRE_QUEUE_ABORTED 2  /* the sensor failed */
#define TIDEWIRE_QUEUE_GONE 3     /* the sensor's process ended without a word, for example by SIGKILL */

/* In vlan of a key: no tag. */
#define TIDEWIRE_QUEUE_NO_VLAN 0xffff

/* In network_at, transport_at, payload_at of a packet: it has no such layer. */
#define TIDEWIRE_QUEUE_NO_OFFSET 0xffffffff

/* Bytes of the text that tidewire_queue_endpoint() writes, at most, with its end. */
#define TIDEWIRE_QUEUE_ENDPOINT_BYTES 64

/* What a program reads a queue with. */
typedef struct tidewire_queue tidewire_queue_t;

/* Who talks to whom. */
typedef struct tidewire_queue_key {
    uint8_t client[16];   /* address of the client; IPv4: the first 4 bytes, then zeroes */
    uint8_t server[16];   /* address of the server */
    uint16_t client_port; /* 0 where the protocol has none */
    uint16_t server_port;
    uint8_t protocol;     /* IP protocol: 6 is TCP, 17 is UDP */
    uint8_t ip_version;   /* 4 or 6 */
    uint8_t tunnel_kind;  /* of the innermost tunnel, see tidewire_queue_tunnel_name(); 0: no tunnel */
    uint8_t client_known; /* 1: a SYN or SYN-ACK showed who the client is; 0: it is inferred */
    uint16_t vlan[2];     /* VLAN ids from the outside in, or TIDEWIRE_QUEUE_NO_VLAN */
    uint8_t icmp_type;    /* of the first ICMP packet; 0 for other protocols */
    uint8_t icmp_code;
    uint16_t reserved;
    uint32_t tunnel_id;   /* 0 where the kind has none */
    uint32_t reserved2;
} tidewire_queue_key_t;

/* A stream that begins. */
typedef struct tidewire_queue_open {
    tidewire_queue_key_t key;
    uint64_t start_ns;       /* time of its first packet, in nanoseconds since 1970 */
    uint64_t ordinal;        /* number among the streams of this queue, from 0: a jump is a stream whose open was lost */
    uint64_t next_offset[2]; /* of the next byte from the client and from the server; 0 unless the open is repeated */
    uint8_t priority;        /* 0 (the lowest) to 7 */
    uint8_t reserved[7];
} tidewire_queue_open_t;

/* Final figures of one direction of a stream. docs/queues.md explains each. */
typedef struct tidewire_queue_figures {
    uint64_t packets;
    uint64_t frames;
    uint64_t frame_bytes;
    uint64_t ip_bytes;
    uint64_t payload_wire_bytes;
    uint64_t reassembled_bytes;
    uint64_t delivered_bytes;
    uint64_t retransmitted_bytes;
    uint64_t out_of_order_packets;
    uint64_t missing_bytes;
    uint64_t ignored_bytes;
    uint64_t cutoff_bytes;
    uint64_t shed_packets;
    uint64_t shed_bytes;
    uint64_t chunks;
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t tcp_flags; /* all that were seen, or-ed */
} tidewire_queue_figures_t;

/* A stream that ends. */
typedef struct tidewire_queue_close {
    uint64_t ordinal;       /* as in its open */
    uint64_t anomalies;     /* a bit for each anomaly, see tidewire_queue_anomaly_name() */
    uint8_t state;          /* that the connection reached, see tidewire_queue_state_name() */
    uint8_t reason;         /* why it ended, see tidewire_queue_end_reason_name() */
    uint8_t reserved[6];
    uint64_t end_offset[2]; /* behind the last byte or gap that this queue had from the client and from the server */
    tidewire_queue_figures_t figures[2]; /* of the client's direction and of the server's */
} tidewire_queue_close_t;

/* A packet. Offsets count from the first byte of event->data. */
typedef struct tidewire_queue_packet {
    uint64_t number;        /* in the input, from 1 */
    uint64_t anomalies;     /* a bit for each anomaly */
    uint32_t wire_bytes;    /* bytes on the wire; event->data_bytes were captured */
    uint32_t link_type;     /* LINKTYPE_ of pcap: 1 is Ethernet */
    uint32_t network_at;    /* of the network header, or TIDEWIRE_QUEUE_NO_OFFSET */
    uint32_t transport_at;  /* of the transport header */
    uint32_t payload_at;    /* of the transport's payload */
    uint32_t payload_bytes; /* captured bytes of this payload */
    tidewire_queue_key_t key;
} tidewire_queue_packet_t;

/* Bytes of a direction that were published and that the program did not get. */
typedef struct tidewire_queue_missing {
    uint64_t stream;
    uint64_t offset; /* of the first one */
    uint64_t bytes;
    uint32_t flags;  /* TIDEWIRE_QUEUE_FROM_SERVER or 0 */
    uint32_t reserved;
} tidewire_queue_missing_t;

/*
 * What a call found. It belongs to the library, and is valid until the next call with the same tidewire_queue_t. Pointers that
 * do not apply are NULL, numbers that do not apply are 0.
 */
typedef struct tidewire_queue_event {
    uint64_t sequence;   /* number of the record; of the first one that was lost */
    uint64_t records;    /* 1; how many were lost */
    uint64_t stream;     /* id of the stream; of a packet without a stream 0 */
    uint64_t offset;     /* data, gap, conflict: offset of the first byte in the direction */
    uint64_t time_ns;    /* time of the packet that caused it, in nanoseconds since 1970 */
    uint64_t bytes;      /* data, packet, missed: of the payload; gap, conflict: of the stream; lost: of all payloads */
    const uint8_t *data; /* data: the bytes; packet: the packet */
    size_t data_bytes;
    size_t repeated_bytes; /* data: so many of the first bytes were published before (overlapping chunks) */
    const tidewire_queue_open_t *open;
    const tidewire_queue_close_t *close;
    const tidewire_queue_packet_t *packet;
    uint32_t kind;  /* TIDEWIRE_QUEUE_OPEN ... */
    uint32_t flags; /* TIDEWIRE_QUEUE_FROM_SERVER ... */
    uint32_t code;  /* gap: the cause; close: the reason; ended: why */
    uint32_t reserved;
    const tidewire_queue_missing_t *missing; /* what this record shows to be missing before it: tidewire_queue_track_losses() */
    size_t missing_count;
    size_t missing_size; /* bytes of one of these, which may grow: TIDEWIRE_QUEUE_MISSING_AT() */
} tidewire_queue_event_t;

/* Element number at of event->missing, whatever the size of elements is in the library that the program runs with. */
#define TIDEWIRE_QUEUE_MISSING_AT(event, at) \
    ((const tidewire_queue_missing_t *)(const void *)((const char *)(event)->missing + (at) * (event)->missing_size))

/* How far a program is. Records published since `first` = read + missed + lost + others + waiting, at any moment. */
typedef struct tidewire_queue_progress {
    uint64_t first;     /* sequence of the first record that it could read */
    uint64_t sequence;  /* of the record that it reads next */
    uint64_t published; /* records published so far */
    uint64_t read;      /* records that it read */
    uint64_t missed;    /* records of which it knows all but the payload */
    uint64_t lost;      /* records of which it knows nothing */
    uint64_t missed_bytes; /* payload of the missed */
    uint64_t lost_bytes;   /* payload of the lost, each rounded up to 8 bytes */
    uint64_t others;    /* records that were for other members of the group */
    uint64_t epoch;     /* random number of the queue: its successor has another one */
    uint64_t streams_missed; /* streams of which it got neither open nor close: tidewire_queue_track_losses() */
} tidewire_queue_progress_t;

/*
 * Attaches to a queue, to begin with the next record that is published. Streams that are open by then are opened for this
 * program again (TIDEWIRE_QUEUE_REPEATED) before their next record.
 *
 * socket: where the sensor listens. queue: the queue's name. name: what the sensor's status calls this program. group: each
 * stream goes to one member of the group; "": no group, all records. Names are 1 to 64 letters, digits, '.', '-' and '_'.
 *
 * NULL: as a sensor that starts analyzers says in the environment (TIDEWIRE_SOCKET, TIDEWIRE_QUEUE, TIDEWIRE_NAME,
 * TIDEWIRE_GROUP); where it says nothing TIDEWIRE_QUEUE_SOCKET, "streams", the program's name, and no group.
 *
 * Returns 0 and sets *queue_out, or an error and sets it to NULL. It waits for the server's answer, at most 5 seconds.
 */
int tidewire_queue_attach(const char *socket, const char *queue, const char *name, const char *group,
                          tidewire_queue_t **queue_out);

/*
 * Opens the file of a queue (a descriptor that another process passed), without a server: to begin with record `first`, or
 * with the next one if it is UINT64_MAX. The descriptor stays the caller's, and may be closed afterwards.
 */
int tidewire_queue_open_file(int descriptor, uint64_t first, tidewire_queue_t **queue_out);

/*
 * The next record, or what became of it. Never waits. Returns TIDEWIRE_QUEUE_EMPTY, _RECORD, _MISSED, _LOST or _ENDED and sets
 * *event (to NULL where it is empty), or an error. The data are a copy: nobody changes them.
 */
int tidewire_queue_next(tidewire_queue_t *queue, const tidewire_queue_event_t **event);

/* As tidewire_queue_next(), but waits up to so many milliseconds for a record; -1: without end. A signal handler does not end it. */
int tidewire_queue_next_timeout(tidewire_queue_t *queue, int milliseconds, const tidewire_queue_event_t **event);

/*
 * As tidewire_queue_next(), but data are not copied: event->data points into shared memory, which the sensor may be
 * overwriting. Whatever a program makes of these bytes is only valid if tidewire_queue_is_intact() returns 1 afterwards; until
 * then they may be anything, and may change between two reads. (Opens, closes and headers of packets are always copies.)
 */
int tidewire_queue_next_in_place(tidewire_queue_t *queue, const tidewire_queue_event_t **event);

/*
 * Whether the bytes of the last event of tidewire_queue_next_in_place() were not overwritten so far. Returns 1; or 0: drop what
 * was made of them, the record counts as missed (once).
 */
int tidewire_queue_is_intact(tidewire_queue_t *queue);

/*
 * From now on events say which bytes of which streams are missing because records were missed or lost (event->missing), by the
 * offsets, ordinals and ends of later records. At most so many streams are followed at a time, about 150 bytes each; beyond
 * that the oldest are forgotten. 0: no longer. tidewire_queue_next_in_place() copies data while losses are tracked. Returns 0,
 * or an error. It stays on after tidewire_queue_reattach().
 */
int tidewire_queue_track_losses(tidewire_queue_t *queue, size_t streams_max);

/*
 * A descriptor for poll(2), select(2) or epoll(7). Read until TIDEWIRE_QUEUE_EMPTY, then poll: it becomes readable when
 * something is published after that, or when the sensor has ended; then read again. It belongs to the library, is not to be
 * read or closed, and changes with tidewire_queue_reattach() only. Or an error.
 */
int tidewire_queue_descriptor(tidewire_queue_t *queue);

/* How far the program is, until the next call; NULL for NULL. */
const tidewire_queue_progress_t *tidewire_queue_progress(tidewire_queue_t *queue);

/*
 * Attaches to the queue that has replaced this one (same socket, same names) and leaves this one. Waits up to so many
 * milliseconds for a server that offers one; -1: without end. Returns 1; 0 if none came; or an error. Without success the
 * old one stays readable. What tidewire_queue_progress() says begins anew.
 */
int tidewire_queue_reattach(tidewire_queue_t *queue, int milliseconds);

/* Leaves a queue and frees everything. NULL is allowed. */
void tidewire_queue_detach(tidewire_queue_t *queue);

/* The text of this thread's last error, for people. Never NULL; valid until the next call that fails in this thread. */
const char *tidewire_queue_error(void);

/* TIDEWIRE_QUEUE_VERSION of the library that the program runs with. */
int tidewire_queue_version(void);

/*
 * Writes an end of a stream as text: 192.0.2.10:80, [2001:db8::1]:80, or the address where the protocol has no ports. server:
 * 0 for the client, else the server. At most so many bytes with the zero at its end (TIDEWIRE_QUEUE_ENDPOINT_BYTES are
 * enough). Returns the length of the whole text, as snprintf(3) does, or an error.
 */
int tidewire_queue_endpoint(const tidewire_queue_key_t *key, int server, char *text, size_t bytes);

/* Names of numbers, as in docs/output.md; NULL: a number of a later version. */
const char *tidewire_queue_kind_name(unsigned kind);
const char *tidewire_queue_gap_cause_name(unsigned cause);
const char *tidewire_queue_end_reason_name(unsigned reason);
const char *tidewire_queue_state_name(unsigned state);
const char *tidewire_queue_tunnel_name(unsigned kind);
const char *tidewire_queue_anomaly_name(unsigned bit);
const char *tidewire_queue_ended_name(unsigned code);

#ifdef __cplusplus
}
#endif

#endif
