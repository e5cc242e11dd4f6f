/*
 * Reads a queue to its end and prints a line for each event, then how far it came.
 *   reader copy|wait|poll|place|track SOCKET QUEUE [GROUP]     attaches
 *   reader copy|wait|place|track -FIRST PATH                   opens a file from record FIRST on
 *   reader file PATH...                                  opens files from their first record on, and prints only how each ends
 */
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tidewire/queue.h>

/* FNV-1a. */
static uint64_t sum(const uint8_t *data, size_t bytes)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t at = 0; at < bytes; at++)
        hash = (hash ^ data[at]) * 0x100000001b3u;
    return hash;
}

static void print(int what, const tidewire_queue_event_t *event, uint64_t hash)
{
    char client[TIDEWIRE_QUEUE_ENDPOINT_BYTES] = "-";
    const char *kind = tidewire_queue_kind_name(event->kind);
    const char *names[] = {"", "record", "missed", "lost", "ended"};
    if (event->open != NULL && tidewire_queue_endpoint(&event->open->key, 0, client, sizeof client) < 0)
        abort();
    printf("%s %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu32 " %" PRIu32 " %zu %016" PRIx64
           " %s\n",
           names[what], kind != NULL ? kind : "-", event->sequence, event->stream, event->offset, event->time_ns,
           event->bytes, event->flags, event->code, event->data_bytes, hash, client);
}

static void figures(tidewire_queue_t *queue)
{
    const tidewire_queue_progress_t *progress = tidewire_queue_progress(queue);
    if (progress->streams_missed != 0)
        printf("streams missed %" PRIu64 "\n", progress->streams_missed);
    printf("figures %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", progress->first,
           progress->sequence, progress->published, progress->read, progress->missed, progress->lost, progress->others);
}

static int step(const char *how, tidewire_queue_t *queue, const tidewire_queue_event_t **event)
{
    if (strcmp(how, "wait") == 0)
        return tidewire_queue_next_timeout(queue, 20, event);
    if (strcmp(how, "place") == 0)
        return tidewire_queue_next_in_place(queue, event);
    int what = tidewire_queue_next(queue, event);
    if (what == TIDEWIRE_QUEUE_EMPTY && strcmp(how, "poll") == 0) {
        struct pollfd poll_for = {.fd = tidewire_queue_descriptor(queue), .events = POLLIN};
        if (poll_for.fd < 0 || poll(&poll_for, 1, 1000) < 0)
            abort();
    }
    return what;
}

static int read_all(const char *how, tidewire_queue_t *queue)
{
    const tidewire_queue_event_t *event;
    for (;;) {
        int what = step(how, queue, &event);
        if ((what == TIDEWIRE_QUEUE_EMPTY || what < 0) != (event == NULL))
            abort();
        if (what < 0) {
            fprintf(stderr, "%d %s\n", what, tidewire_queue_error());
            return 1;
        }
        if (what == TIDEWIRE_QUEUE_EMPTY)
            continue;
        uint64_t hash = sum(event->data, event->data_bytes);
        if (what == TIDEWIRE_QUEUE_RECORD && strcmp(how, "place") == 0 && tidewire_queue_is_intact(queue) != 1)
            what = TIDEWIRE_QUEUE_MISSED;
        if (strcmp(how, "track") != 0)
            print(what, event, hash);
        for (size_t at = 0; at < event->missing_count; at++)
            printf("missing %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu32 "\n",
                   TIDEWIRE_QUEUE_MISSING_AT(event, at)->stream, TIDEWIRE_QUEUE_MISSING_AT(event, at)->offset,
                   TIDEWIRE_QUEUE_MISSING_AT(event, at)->bytes, TIDEWIRE_QUEUE_MISSING_AT(event, at)->flags);
        if (what == TIDEWIRE_QUEUE_ENDED) {
            figures(queue);
            return 0;
        }
    }
}

/* Whatever is in the file: an error or an end, and every byte that is offered can be read. */
static void read_file(const char *path)
{
    const tidewire_queue_event_t *event;
    tidewire_queue_t *queue;
    volatile uint64_t all = 0;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    int what = tidewire_queue_open_file(descriptor, 0, &queue);
    close(descriptor);
    for (int steps = 0; what >= 0 && what != TIDEWIRE_QUEUE_ENDED && steps < 5000; steps++) {
        what = steps % 2 ? tidewire_queue_next(queue, &event) : tidewire_queue_next_in_place(queue, &event);
        if (what > 0) {
            all = all + sum(event->data, event->data_bytes);
            if (event->open != NULL)
                all = all + sum((const uint8_t *)event->open, sizeof *event->open);
            if (event->close != NULL)
                all = all + sum((const uint8_t *)event->close, sizeof *event->close);
            if (event->packet != NULL)
                all = all + sum((const uint8_t *)event->packet, sizeof *event->packet);
            tidewire_queue_is_intact(queue);
        }
    }
    tidewire_queue_detach(queue);
    printf("%d\n", what);
}

int main(int argc, char **argv)
{
    tidewire_queue_t *queue;
    if (argc > 2 && strcmp(argv[1], "file") == 0) {
        for (int at = 2; at < argc; at++)
            read_file(argv[at]);
        return 0;
    }
    if (argc < 4)
        return 2;
    int what;
    if (argv[2][0] == '-') {
        int descriptor = open(argv[3], O_RDONLY | O_CLOEXEC);
        what = tidewire_queue_open_file(descriptor, strtoull(argv[2] + 1, NULL, 10), &queue);
        close(descriptor);
    } else {
        what = tidewire_queue_attach(argv[2], argv[3], "reader", argc > 4 ? argv[4] : "", &queue);
    }
    if (what < 0) {
        fprintf(stderr, "%d %s\n", what, tidewire_queue_error());
        return 1;
    }
    if (argv[2][0] != '-')
        puts("attached");
    fflush(stdout);
    if (strcmp(argv[1], "track") == 0 && tidewire_queue_track_losses(queue, 1000) != 0)
        abort();
    what = read_all(argv[1], queue);
    tidewire_queue_detach(queue);
    return what;
}
