/* Reads a queue to its end, and goes on with its successor: successor SOCKET QUEUE */
#include <inttypes.h>
#include <stdio.h>

#include <tidewire/queue.h>

int main(int argc, char **argv)
{
    const tidewire_queue_event_t *event;
    tidewire_queue_t *queue;
    int ends = 0;
    int what = argc == 3 ? tidewire_queue_attach(argv[1], argv[2], "successor", "", &queue) : -1;
    if (what < 0)
        return 1;
    while (what >= 0 && ends < 2) {
        printf("epoch %" PRIu64 "\n", tidewire_queue_progress(queue)->epoch);
        fflush(stdout);
        do
            what = tidewire_queue_next_timeout(queue, -1, &event);
        while (what >= 0 && what != TIDEWIRE_QUEUE_ENDED);
        if (what < 0)
            break;
        ends++;
        printf("ended %s after %" PRIu64 "\n", tidewire_queue_ended_name(event->code), tidewire_queue_progress(queue)->read);
        fflush(stdout);
        if (ends < 2)
            what = tidewire_queue_reattach(queue, -1);
    }
    if (what < 0)
        puts(tidewire_queue_error());
    tidewire_queue_detach(queue);
    return what < 0;
}
