/* Emits events: event SOCKET NAME. Prints what each call returned that should not have been 0. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tidewire/event.h>

#define MUST(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #condition, tidewire_event_error()); \
            exit(1); \
        } \
    } while (0)

static void wrong(const char *socket, tidewire_events_t *events)
{
    tidewire_events_t *none = (tidewire_events_t *)&socket;
    char long_text[5000];
    memset(long_text, 'a', sizeof long_text);
    long_text[sizeof long_text - 1] = '\0';
    MUST(tidewire_event_open(socket, "x", NULL) == TIDEWIRE_EVENT_ERROR_ARGUMENT);
    MUST(tidewire_event_open(socket, "a b", &none) == TIDEWIRE_EVENT_ERROR_ARGUMENT && none == NULL);
    MUST(strstr(tidewire_event_error(), "a b") != NULL);
    MUST(tidewire_event_open("/nonexistent/socket", "x", &none) == TIDEWIRE_EVENT_ERROR_SERVER && none == NULL);
    MUST(strstr(tidewire_event_error(), "/nonexistent/socket") != NULL);
    MUST(tidewire_event_open(socket, "tidewire", &none) == TIDEWIRE_EVENT_ERROR_ARGUMENT);
    MUST(tidewire_event(NULL, "kind", 0, NULL) == TIDEWIRE_EVENT_ERROR_ARGUMENT);
    MUST(tidewire_event(events, NULL, 0, NULL) == TIDEWIRE_EVENT_ERROR_ARGUMENT);
    MUST(tidewire_event(events, "kind", 5, NULL) == TIDEWIRE_EVENT_ERROR_ARGUMENT);
    MUST(strstr(tidewire_event_error(), "5 is no severity") != NULL);
    MUST(tidewire_event(events, "a kind", 0, NULL) == TIDEWIRE_EVENT_ERROR_ARGUMENT);
    MUST(tidewire_event(events, "kind", 0, long_text) == TIDEWIRE_EVENT_ERROR_ARGUMENT);
    MUST(tidewire_event(events, "kind", 0, "\xff\xfe") == TIDEWIRE_EVENT_ERROR_ARGUMENT);
    MUST(tidewire_event_emit(events) == TIDEWIRE_EVENT_ERROR_ARGUMENT);
    MUST(strstr(tidewire_event_error(), "tidewire_event_begin") != NULL);
    MUST(tidewire_event_text(events, "a", "b") == TIDEWIRE_EVENT_ERROR_ARGUMENT);
    MUST(tidewire_event_begin(events, "kind", 0) == 0);
    MUST(tidewire_event_text(events, "a", NULL) == TIDEWIRE_EVENT_ERROR_ARGUMENT);
    MUST(tidewire_event_bytes(events, "a", NULL, 1) == TIDEWIRE_EVENT_ERROR_ARGUMENT);
    MUST(tidewire_event_address(events, "a", "192.0.2.300") == TIDEWIRE_EVENT_ERROR_ARGUMENT);
    MUST(tidewire_event_place(events, 2, 0) == TIDEWIRE_EVENT_ERROR_ARGUMENT);
    MUST(tidewire_event_key(events, 6, "192.0.2.1", 70000, "192.0.2.2", 1) == TIDEWIRE_EVENT_ERROR_ARGUMENT);
    MUST(tidewire_event_key(events, 256, "192.0.2.1", 1, "192.0.2.2", 1) == TIDEWIRE_EVENT_ERROR_ARGUMENT);
    MUST(tidewire_event_key(events, 6, "192.0.2.1", 1, "2001:db8::1", 1) == 0);
    MUST(tidewire_event_emit(events) == TIDEWIRE_EVENT_ERROR_ARGUMENT); /* two families */
    MUST(tidewire_event_json(events, "no json") == TIDEWIRE_EVENT_ERROR_ARGUMENT);
    MUST(tidewire_event_json(events, "{\"analyzer\":\"another\",\"kind\":\"k\"}") == TIDEWIRE_EVENT_ERROR_ARGUMENT);
    MUST(tidewire_event_flush(NULL, 0) == TIDEWIRE_EVENT_ERROR_ARGUMENT);
    tidewire_event_close(NULL);
}

int main(int argc, char **argv)
{
    tidewire_events_t *events;
    char json[200];
    MUST(argc == 3 && tidewire_event_version() == TIDEWIRE_EVENT_VERSION && strlen(tidewire_event_error()) == 0);
    MUST(tidewire_event_open(argv[1], argv[2], &events) == 0);
    wrong(argv[1], events);
    MUST(tidewire_event(events, "simple", TIDEWIRE_EVENT_INFO, "a text") == 0);
    MUST(tidewire_event(events, "bare", TIDEWIRE_EVENT_LOW, NULL) == 0);
    MUST(tidewire_event_begin(events, "dropped", TIDEWIRE_EVENT_LOW) == 0);
    MUST(tidewire_event_begin(events, "whole", TIDEWIRE_EVENT_CRITICAL) == 0);
    MUST(tidewire_event_time(events, 123456789) == 0);
    MUST(tidewire_event_key(events, 17, "2001:db8::1", 4000, "2001:db8::2", 53) == 0);
    MUST(tidewire_event_stream(events, 77) == 0);
    MUST(tidewire_event_place(events, TIDEWIRE_EVENT_FROM_SERVER, 1000) == 0);
    MUST(tidewire_event_excerpt(events, "a\0b", 3) == 0);
    MUST(tidewire_event_text(events, "text", "\xc3\xa4") == 0);
    MUST(tidewire_event_bytes(events, "bytes", "\0\1", 2) == 0);
    MUST(tidewire_event_unsigned(events, "unsigned", UINT64_MAX) == 0);
    MUST(tidewire_event_signed(events, "signed", INT64_MIN) == 0);
    MUST(tidewire_event_double(events, "double", 1.5) == 0);
    MUST(tidewire_event_bool(events, "bool", 7) == 0);
    MUST(tidewire_event_address(events, "address", "192.0.2.7") == 0);
    MUST(tidewire_event_when(events, "when", 42) == 0);
    MUST(tidewire_event_emit(events) == 0);
    snprintf(json, sizeof json, "{\"analyzer\":\"%s\",\"kind\":\"json\",\"fields\":{\"n\":1}}", argv[2]);
    MUST(tidewire_event_json(events, json) == 0);
    for (unsigned number = 0; number < 1000; number++) {
        MUST(tidewire_event_begin(events, "many", TIDEWIRE_EVENT_INFO) == 0);
        MUST(tidewire_event_unsigned(events, "number", number) == 0);
        MUST(tidewire_event_try_emit(events) >= 0);
    }
    MUST(tidewire_event_flush(events, -1) == 0);
    tidewire_event_close(events);
    return 0;
}
