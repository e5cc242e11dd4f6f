/* A program over libnids: each connection's ends, and how many bytes each way with a sum of them. `nids -i DEVICE` until
 * SIGTERM, or `nids -r FILE`. */
#include <arpa/inet.h>
#include <nids.h>
#include <pcap.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct side {
    unsigned long bytes, sum;
};

struct connection {
    struct side client, server;
};

static void add(struct side *side, const struct half_stream *half) {
    for (int index = 0; index < half->count_new; index++) side->sum = side->sum * 31 + (unsigned char)half->data[index];
    side->bytes += (unsigned long)half->count_new;
}

static void show(const struct tuple4 *ends, const struct connection *connection, const char *how) {
    struct in_addr from = {ends->saddr}, to = {ends->daddr};
    printf("%s:%u ", inet_ntoa(from), ends->source);
    printf("%s:%u %lu %lx %lu %lx %s\n", inet_ntoa(to), ends->dest, connection->client.bytes, connection->client.sum, connection->server.bytes, connection->server.sum, how);
}

static void on_tcp(struct tcp_stream *stream, void **kept) {
    struct connection *connection = *kept;
    if (stream->nids_state == NIDS_JUST_EST) {
        stream->client.collect = stream->server.collect = 1;
        *kept = calloc(1, sizeof *connection);
    } else if (stream->nids_state == NIDS_DATA) {
        add(&connection->server, &stream->client);
        add(&connection->client, &stream->server);
    } else if (connection) {
        show(&stream->addr, connection, stream->nids_state == NIDS_CLOSE ? "closed" : stream->nids_state == NIDS_RESET ? "reset" : "ended");
        free(connection);
    }
}

static void on_signal(int number) {
    (void)number;
    _exit(0);
}

int main(int count, char **words) {
    if (count != 3) return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGTERM, on_signal);
    if (strcmp(words[1], "-i") == 0)
        nids_params.device = words[2];
    else
        nids_params.filename = words[2];
    nids_params.scan_num_hosts = 0;
    nids_params.pcap_timeout = 20;
    if (!nids_init()) {
        fprintf(stderr, "nids: %s\n", nids_errbuf);
        return 1;
    }
    struct nids_chksum_ctl none = {0, 0, NIDS_DONT_CHKSUM, 0};
    nids_register_chksum_ctl(&none, 1);
    nids_register_tcp(on_tcp);
    nids_run();
    return 0;
}
