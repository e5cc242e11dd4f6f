// floor FILE: the cost of reading. Reads a pcap file 256 KiB at a time, walks the records, and reads of each packet
// what a tracker needs at least: addresses, ports, sequence number and flags. Prints packets and bytes.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_HEADER = 24, RECORD_HEADER = 16, ETHERNET = 14, PIECE = 256 << 10, FRAME_MAX = 256 << 10 };

static uint64_t touched;

static inline uint32_t word(const uint8_t *at) {
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline void touch(const uint8_t *frame, uint32_t bytes) {
    if (bytes < ETHERNET + 20)
        return;
    unsigned kind = frame[12] << 8 | frame[13];
    if (kind == 0x0800) {
        unsigned transport = ETHERNET + (frame[ETHERNET] & 15) * 4;
        if (transport + 14 <= bytes)
            touched += word(frame + 26) ^ word(frame + 30) ^ word(frame + transport) ^ word(frame + transport + 4) ^
                       frame[23] ^ frame[transport + 13];
    } else if (kind == 0x86dd && bytes >= ETHERNET + 60) {
        uint64_t addresses[4];
        memcpy(addresses, frame + 22, sizeof addresses);
        touched += addresses[0] ^ addresses[1] ^ addresses[2] ^ addresses[3] ^ word(frame + 54);
    }
}

int main(int count, char **words) {
    int file = count == 2 ? open(words[1], O_RDONLY) : -1;
    uint8_t *memory = malloc(PIECE + FRAME_MAX + RECORD_HEADER);
    if (file < 0 || !memory) {
        fprintf(stderr, "floor FILE\n");
        return 1;
    }
    uint64_t packets = 0, bytes = 0;
    size_t have = 0, skip = FILE_HEADER;
    ssize_t got;
    while ((got = read(file, memory + have, PIECE)) > 0) {
        have += (size_t)got;
        size_t at = skip;
        skip = 0;
        while (at + RECORD_HEADER <= have) {
            uint32_t captured = word(memory + at + 8);
            if (captured > FRAME_MAX)
                return 1;
            if (at + RECORD_HEADER + captured > have)
                break;
            touch(memory + at + RECORD_HEADER, captured);
            packets++;
            bytes += captured;
            at += RECORD_HEADER + captured;
        }
        memmove(memory, memory + at, have - at);
        have -= at;
    }
    printf("{\"packets\":%lu,\"bytes\":%lu,\"touched\":%lu}\n", packets, bytes, touched);
}
