/*
 * Tells a sensor of a failed login, and ends when that is durable: event USER
 *   cc -o event examples/event.c $(pkg-config --cflags --libs tidewire-queue) && ./event alice
 * A sensor that starts it says where by the environment; else it is /run/tidewire/events.sock.
 */
#include <stdio.h>
#include <tidewire/event.h>

int main(int argc, char **argv) {
    tidewire_events_t *events;
    int status = tidewire_event_open(NULL, NULL, &events);
    if (status == 0)
        status = tidewire_event_begin(events, "login.failed", TIDEWIRE_EVENT_MEDIUM);
    if (status == 0)
        status = tidewire_event_text(events, "user", argc > 1 ? argv[1] : "unknown");
    if (status == 0)
        status = tidewire_event_emit(events);
    if (status == 0)
        status = tidewire_event_flush(events, 10000);
    if (status < 0)
        fprintf(stderr, "event: %s\n", tidewire_event_error());
    tidewire_event_close(events);
    return status < 0;
}
