/* Wrong arguments: each is an error that says so. wrong SOCKET QUEUE */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tidewire/queue.h>

#define MUST(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #condition, tidewire_queue_error()); \
            exit(1); \
        } \
    } while (0)

int main(int argc, char **argv)
{
    const tidewire_queue_event_t *event = (const tidewire_queue_event_t *)&argc;
    tidewire_queue_t *queue = (tidewire_queue_t *)&argc;
    tidewire_queue_key_t key;
    char text[8];
    char long_name[80];
    MUST(argc == 3);
    memset(&key, 0xff, sizeof key);
    memset(long_name, 'a', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    MUST(tidewire_queue_version() == TIDEWIRE_QUEUE_VERSION);
    MUST(strlen(tidewire_queue_error()) == 0);
    MUST(tidewire_queue_attach(argv[1], argv[2], "x", "", NULL) == TIDEWIRE_QUEUE_ERROR_ARGUMENT);
    MUST(strstr(tidewire_queue_error(), "queue_out") != NULL);
    MUST(tidewire_queue_attach(argv[1], "a b", "x", "", &queue) == TIDEWIRE_QUEUE_ERROR_ARGUMENT && queue == NULL);
    MUST(tidewire_queue_attach(argv[1], argv[2], long_name, "", &queue) == TIDEWIRE_QUEUE_ERROR_ARGUMENT);
    MUST(tidewire_queue_attach(argv[1], "\xff\xfe", "x", "", &queue) == TIDEWIRE_QUEUE_ERROR_ARGUMENT);
    MUST(tidewire_queue_attach(argv[1], "none", "x", "", &queue) == TIDEWIRE_QUEUE_ERROR_NO_QUEUE);
    MUST(strstr(tidewire_queue_error(), argv[2]) != NULL); /* what there is */
    MUST(tidewire_queue_attach("/nonexistent/socket", argv[2], "x", "", &queue) == TIDEWIRE_QUEUE_ERROR_SERVER);
    MUST(strstr(tidewire_queue_error(), "/nonexistent/socket") != NULL && queue == NULL);
    MUST(tidewire_queue_open_file(-1, 0, &queue) == TIDEWIRE_QUEUE_ERROR_ARGUMENT);
    MUST(tidewire_queue_open_file(1000, 0, &queue) < 0 && queue == NULL);
    MUST(tidewire_queue_open_file(0, 0, &queue) == TIDEWIRE_QUEUE_ERROR_NOT_A_QUEUE);
    MUST(tidewire_queue_next(NULL, &event) == TIDEWIRE_QUEUE_ERROR_ARGUMENT && event == NULL);
    MUST(tidewire_queue_next(NULL, NULL) == TIDEWIRE_QUEUE_ERROR_ARGUMENT);
    MUST(tidewire_queue_next_timeout(NULL, 0, &event) == TIDEWIRE_QUEUE_ERROR_ARGUMENT);
    MUST(tidewire_queue_next_in_place(NULL, &event) == TIDEWIRE_QUEUE_ERROR_ARGUMENT);
    MUST(tidewire_queue_is_intact(NULL) == TIDEWIRE_QUEUE_ERROR_ARGUMENT);
    MUST(tidewire_queue_descriptor(NULL) == TIDEWIRE_QUEUE_ERROR_ARGUMENT);
    MUST(tidewire_queue_reattach(NULL, 0) == TIDEWIRE_QUEUE_ERROR_ARGUMENT);
    MUST(tidewire_queue_progress(NULL) == NULL);
    tidewire_queue_detach(NULL);
    MUST(tidewire_queue_endpoint(NULL, 0, text, sizeof text) == TIDEWIRE_QUEUE_ERROR_ARGUMENT);
    MUST(tidewire_queue_endpoint(&key, 0, NULL, 5) == TIDEWIRE_QUEUE_ERROR_ARGUMENT);
    MUST(tidewire_queue_endpoint(&key, 0, NULL, 0) > 7);
    MUST(tidewire_queue_endpoint(&key, 1, text, sizeof text) > 7 && strlen(text) == 7);
    MUST(tidewire_queue_kind_name(0) == NULL && tidewire_queue_kind_name(~0u) == NULL);
    MUST(strcmp(tidewire_queue_kind_name(TIDEWIRE_QUEUE_PACKET), "packet") == 0);
    MUST(strcmp(tidewire_queue_ended_name(TIDEWIRE_QUEUE_GONE), "gone") == 0);
    /* A right one: nothing is there, a wait ends, it has no successor. */
    MUST(tidewire_queue_attach(argv[1], argv[2], NULL, NULL, &queue) == 0 && queue != NULL);
    MUST(tidewire_queue_next(queue, &event) == TIDEWIRE_QUEUE_EMPTY && event == NULL);
    MUST(tidewire_queue_next(queue, NULL) == TIDEWIRE_QUEUE_ERROR_ARGUMENT);
    MUST(tidewire_queue_next_timeout(queue, 5, &event) == TIDEWIRE_QUEUE_EMPTY);
    MUST(tidewire_queue_is_intact(queue) == 1);
    MUST(tidewire_queue_descriptor(queue) >= 0);
    MUST(tidewire_queue_reattach(queue, 0) == 0);
    MUST(tidewire_queue_progress(queue)->read == 0);
    tidewire_queue_detach(queue);
    return 0;
}
