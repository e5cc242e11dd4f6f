/*
 * tidewire/event.h: reports the events of an analyzer to a Tidewire sensor.
 *
 * Events go to the sensor's event processor, which folds and stores them. An event is durable when tidewire_event_flush() has
 * returned 0 after it: it survives every crash from then on, and is stored once. If the event processor is started again, the
 * library connects again and sends again what was not acknowledged.
 *
 *   tidewire_events_t *events;
 *   int status = tidewire_event_open(NULL, "example", &events);
 *   if (status == 0)
 *       status = tidewire_event_begin(events, "login.failed", TIDEWIRE_EVENT_MEDIUM);
 *   if (status == 0)
 *       status = tidewire_event_text(events, "user", "alice");
 *   if (status == 0)
 *       status = tidewire_event_emit(events);
 *   if (status == 0)
 *       status = tidewire_event_flush(events, 10000);
 *   if (status < 0)
 *       fprintf(stderr, "%s\n", tidewire_event_error());
 *   tidewire_event_close(events);
 *
 * Compile with: cc example.c $(pkg-config --cflags --libs tidewire-queue)
 *
 * Names of analyzers, kinds and fields are 1 to 64 letters, digits, '.', '-' and '_'. Limits: 32 fields, 4096 bytes of a text,
 * of bytes and of the excerpt, 64 KiB in all.
 *
 * Threads: each tidewire_events_t has a thread that sends. One thread at a time may use a
 * tidewire_events_t; different ones are independent. After fork(2) only the parent may use it.
 */
#ifndef TIDEWIRE_EVENT_H
#define TIDEWIRE_EVENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface. It grows with each addition. */
#define TIDEWIRE_EVENT_VERSION 1

/* Where a sensor listens unless told otherwise. */
#define TIDEWIRE_EVENT_SOCKET "/run/tidewire/events.sock"

/* Severities. */
#define TIDEWIRE_EVENT_INFO 0     /* worth knowing; nothing is wrong */
#define TIDEWIRE_EVENT_LOW 1      /* unusual */
#define TIDEWIRE_EVENT_MEDIUM 2   /* somebody should look at it */
#define TIDEWIRE_EVENT_HIGH 3     /* most likely an attack or a failure */
#define TIDEWIRE_EVENT_CRITICAL 4 /* an attack that succeeded, or a failure that goes on */

/* Directions of a stream. */
#define TIDEWIRE_EVENT_FROM_CLIENT 0
#define TIDEWIRE_EVENT_FROM_SERVER 1

/* Errors, by the numbers of tidewire/queue.h. tidewire_event_error() describes the last one. */
#define TIDEWIRE_EVENT_ERROR_ARGUMENT (-1)  /* a null pointer, an invalid name, or an event beyond a limit */
#define TIDEWIRE_EVENT_ERROR_SYSTEM (-2)    /* the kernel refused memory or a thread */
#define TIDEWIRE_EVENT_ERROR_SERVER (-3)    /* no event processor answers there */
#define TIDEWIRE_EVENT_ERROR_REFUSED (-7)   /* the event processor refuses */
#define TIDEWIRE_EVENT_ERROR_INTERNAL (-10) /* a defect of this library */
#define TIDEWIRE_EVENT_ERROR_TIMEOUT (-11)  /* no room, or no acknowledgment, in time; what was emitted is still being sent */

/* A connection to an event processor, and the event that is being made. */
typedef struct tidewire_events tidewire_events_t;

/*
 * Connects. socket: the path (NULL: the environment's TIDEWIRE_EVENTS, else TIDEWIRE_EVENT_SOCKET). name: the analyzer's (NULL:
 * TIDEWIRE_NAME, else the program's). A sensor sets both variables for the programs that it starts. Returns 0, or an error.
 */
int tidewire_event_open(const char *socket, const char *name, tidewire_events_t **events_out);

/*
 * Emits an event with one field, text (NULL: none), at the time of the clock. For whoever needs no more than that. Waits and
 * returns as tidewire_event_emit().
 */
int tidewire_event(tidewire_events_t *events, const char *kind, int severity, const char *text);

/*
 * Emits an event that is JSON, as docs/output.md has it: "time_ns" may be left out, "analyzer" is the name of this connection.
 * As tidewire_event_emit().
 */
int tidewire_event_json(tidewire_events_t *events, const char *json);

/*
 * Begins an event; what another one had got is dropped. The functions behind this one add to it. Each returns 0, or an error;
 * limits are checked when it is emitted.
 */
int tidewire_event_begin(tidewire_events_t *events, const char *kind, int severity);

/* Its time in nanoseconds since 1970; without this call that of the clock when it is emitted. */
int tidewire_event_time(tidewire_events_t *events, uint64_t time_ns);

/* Between whom: an IP protocol, addresses as text (both IPv4 or both IPv6), and ports (0 where there are none). */
int tidewire_event_key(tidewire_events_t *events, unsigned protocol, const char *client, unsigned client_port,
                       const char *server, unsigned server_port);

/* Which stream, as a queue's records have it (event->stream). */
int tidewire_event_stream(tidewire_events_t *events, uint64_t stream);

/* Where in the stream: TIDEWIRE_EVENT_FROM_CLIENT or _FROM_SERVER, and bytes from the beginning of that direction. */
int tidewire_event_place(tidewire_events_t *events, int direction, uint64_t offset);

/* The bytes that it is about. */
int tidewire_event_excerpt(tidewire_events_t *events, const void *data, size_t bytes);

/* Fields, each name once: a text (UTF-8), bytes, numbers, a truth value, an IP address as text, a time. */
int tidewire_event_text(tidewire_events_t *events, const char *name, const char *value);
int tidewire_event_bytes(tidewire_events_t *events, const char *name, const void *data, size_t bytes);
int tidewire_event_unsigned(tidewire_events_t *events, const char *name, uint64_t value);
int tidewire_event_signed(tidewire_events_t *events, const char *name, int64_t value);
int tidewire_event_double(tidewire_events_t *events, const char *name, double value);
int tidewire_event_bool(tidewire_events_t *events, const char *name, int value);
int tidewire_event_address(tidewire_events_t *events, const char *name, const char *value);
int tidewire_event_when(tidewire_events_t *events, const char *name, uint64_t time_ns);

/*
 * Emits the event that was begun. Waits while as many events as may wait for their acknowledgment do, at most 30 s
 * (TIDEWIRE_EVENT_ERROR_TIMEOUT; the event is still there, and can be emitted again). Returns 0, or an error.
 */
int tidewire_event_emit(tidewire_events_t *events);

/*
 * As tidewire_event_emit(), but never waits. Returns 0; or 1: there was no room, and the event was dropped. Those are counted,
 * and an event says how many as soon as there is room again.
 */
int tidewire_event_try_emit(tidewire_events_t *events);

/* Waits up to so many milliseconds until everything that was emitted is durable; -1: without end. Returns 0, or an error. */
int tidewire_event_flush(tidewire_events_t *events, int milliseconds);

/* Closes a connection and frees everything. Waits at most a second for acknowledgments. NULL is allowed. */
void tidewire_event_close(tidewire_events_t *events);

/* The text of this thread's last error, for people. Never NULL; valid until the next call that fails in this thread. */
const char *tidewire_event_error(void);

/* TIDEWIRE_EVENT_VERSION of the library that the program runs with. */
int tidewire_event_version(void);

#ifdef __cplusplus
}
#endif

#endif
