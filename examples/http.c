/*
 * Prints the HTTP requests that begin streams, one a line: http [SOCKET [QUEUE]]
 *   cc -o http examples/http.c $(pkg-config --cflags --libs tidewire-queue) && ./http /run/tidewire/queues.sock streams
 * Without arguments it reads the queue that a sensor started it for.
 */
#include <stdio.h>
#include <string.h>
#include <tidewire/queue.h>

#define STREAMS 4096 /* remembered at a time */

struct begun { uint64_t stream; size_t bytes; char client[64], server[64], text[512]; };
static struct begun streams[STREAMS];

static void look(struct begun *begun, const tidewire_queue_event_t *event) {
    char method[16], path[400];
    size_t room = sizeof begun->text - 1 - begun->bytes;
    size_t more = event->data_bytes < room ? event->data_bytes : room;
    int end = 0;
    memcpy(begun->text + begun->bytes, event->data, more);
    begun->text[begun->bytes += more] = '\0';
    sscanf(begun->text, "%15[A-Z]%*1[ ]%399[!-~]%*1[ ]HTTP/1.%n", method, path, &end);
    if (end > 0 && printf("%s > %s %s %s\n", begun->client, begun->server, method, path) > 0)
        fflush(stdout);
    if (end > 0 || more == room)
        begun->stream = 0; /* found, or too long for a request's first line */
}

int main(int argc, char **argv) {
    tidewire_queue_t *queue;
    const tidewire_queue_event_t *event;
    int what = tidewire_queue_attach(argc > 1 ? argv[1] : NULL, argc > 2 ? argv[2] : NULL, NULL, NULL, &queue);
    while (what >= 0 && (what = tidewire_queue_next_timeout(queue, -1, &event)) != TIDEWIRE_QUEUE_ENDED) {
        struct begun *begun = &streams[what == TIDEWIRE_QUEUE_RECORD ? event->stream % STREAMS : 0];
        if (what != TIDEWIRE_QUEUE_RECORD)
            continue; /* lost, missed: the offsets of what follows show it */
        if (event->kind == TIDEWIRE_QUEUE_OPEN && begun->stream != event->stream) {
            begun->stream = event->stream;
            begun->bytes = 0;
            tidewire_queue_endpoint(&event->open->key, 0, begun->client, sizeof begun->client);
            tidewire_queue_endpoint(&event->open->key, 1, begun->server, sizeof begun->server);
        } else if (event->kind == TIDEWIRE_QUEUE_DATA && !(event->flags & TIDEWIRE_QUEUE_FROM_SERVER) &&
                   begun->stream == event->stream && begun->bytes == event->offset) {
            look(begun, event);
        }
    }
    if (what < 0)
        fprintf(stderr, "http: %s\n", tidewire_queue_error());
    tidewire_queue_detach(queue);
    return what < 0;
}
