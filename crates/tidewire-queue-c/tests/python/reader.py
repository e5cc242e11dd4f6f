#!/usr/bin/env python3
"""A reader of queues that shares no code with the others: written from docs/queues.md, with the standard library only.

    reader.py attach SOCKET QUEUE [GROUP]     reads to the end
    reader.py file PATH FIRST                 reads a queue's file from record FIRST on, without a server

Prints a line for each event, as tests/c/reader.c does, and its figures at the end.
"""

import fcntl
import ipaddress
import mmap
import os
import select
import socket
import struct
import sys

F_GET_SEALS = 1034
F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_WRITE, F_SEAL_FUTURE_WRITE = 1, 2, 4, 8, 16
HEADER_BYTES = 65536
PAGE_BYTES = 65536
SLOTS, PAYLOAD_BYTES, EPOCH, SLOT_INTENT, PAYLOAD_INTENT, PUBLISHED, STATE = 2, 3, 4, 16, 17, 32, 48
KINDS = {1: "open", 2: "data", 3: "gap", 4: "conflict", 5: "close", 6: "packet"}
OPEN, DATA, GAP, CONFLICT, CLOSE, PACKET = KINDS
MASK = (1 << 64) - 1


class Corrupt(Exception):
    """What no publisher writes."""


class Queue:
    """A queue's memory."""

    def __init__(self, descriptor):
        seals = fcntl.fcntl(descriptor, F_GET_SEALS)
        wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL
        if seals & wanted != wanted or not seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE):
            raise Corrupt("its size is not sealed")
        status = os.fstat(descriptor)
        if status.st_size < HEADER_BYTES or status.st_blocks * 512 < status.st_size:
            raise Corrupt("it is not all there")
        if os.lseek(descriptor, 0, os.SEEK_HOLE) < status.st_size:
            raise Corrupt("it is not all there")
        self.memory = mmap.mmap(descriptor, status.st_size, mmap.MAP_SHARED, mmap.PROT_READ)
        self.words = memoryview(self.memory).cast("Q")
        if self.memory[:8] != b"TWqueue\x01" or self.words[1] != 1:
            raise Corrupt("it is no queue of version 1")
        self.slots, self.payload_bytes = self.words[SLOTS], self.words[PAYLOAD_BYTES]
        for value, least, most in ((self.slots, 10, 26), (self.payload_bytes, 16, 36)):
            if value & (value - 1) or not 1 << least <= value <= 1 << most:
                raise Corrupt("its header states impossible sizes")
        self.payload_at = HEADER_BYTES + self.slots * 64
        if self.payload_at + self.payload_bytes != status.st_size:
            raise Corrupt("its size is not what its header states")

    def slot(self, sequence):
        at = (HEADER_BYTES + sequence % self.slots * 64) // 8
        return tuple(self.words[at : at + 8])

    def payload(self, position, count):
        """In two parts where it goes on at the beginning: the payload is mapped once here."""
        begin = position % self.payload_bytes
        first = min(count, self.payload_bytes - begin)
        at = self.payload_at + begin
        return self.memory[at : at + first] + self.memory[self.payload_at : self.payload_at + count - first]


class Record:
    def __init__(self, words):
        self.sequence, self.position, packed, self.stream, self.offset, self.time_ns, self.owners, self.detail = words
        self.count, self.kind = packed & 0xFFFFFFFF, packed >> 32 & 0xFFFF
        self.flags, self.code = packed >> 48 & 0xFF, packed >> 56


class Reader:
    def __init__(self, queue, first, position=None, member=None, page=None, connection=None):
        self.queue, self.first, self.sequence, self.position = queue, first, first, position
        self.member, self.connection = member, connection
        self.page = page and memoryview(mmap.mmap(page, PAGE_BYTES)).cast("Q")
        self.read = self.passed = self.missed = self.lost = 0
        self.missed_bytes = self.lost_bytes = 0
        self.since_written = 0
        self.is_gone = False
        self.has_missed = False

    def next(self):
        """("record", record, payload), ("missed", record), ("lost", first, records, bytes), ("empty",) or ("ended", why)."""
        found = self.step()
        while found is None:
            found = self.step()
        self.since_written += 1
        if found[0] in ("empty", "ended") or self.since_written >= 32:
            self.write_page()
        return found

    def step(self):
        words, queue = self.queue.words, self.queue
        state, published = words[STATE], words[PUBLISHED]
        if published < self.sequence:
            raise Corrupt(f"{published} published after {self.sequence}")
        if published == self.sequence:
            if state or self.is_gone:
                return ("ended", state or 3)
            return ("empty",)
        record = self.slot(self.sequence)
        if record is None:
            return self.skip()
        if self.member and not self.is_mine(record):
            self.passed += 1
            self.advance(record)
            return None
        self.advance(record)
        margin = queue.payload_bytes // 8 if self.has_missed else 0
        if self.is_overwritten(record, margin):
            return self.miss(record)
        payload = queue.payload(record.position, record.count)
        if self.is_overwritten(record):
            return self.miss(record)
        self.has_missed = False
        self.read += 1
        return ("record", record, payload)

    def slot(self, sequence):
        """The slot's record; None: it was overwritten."""
        words = self.queue.slot(sequence)
        if (self.queue.words[SLOT_INTENT] - sequence) & MASK > self.queue.slots:
            return None
        record = Record(words)
        if record.sequence != sequence:
            raise Corrupt(f"the slot of record {sequence} names {record.sequence}")
        if record.count > self.queue.payload_bytes // 8 or record.position % 8:
            raise Corrupt(f"record {sequence} has {record.count} bytes at {record.position}")
        return record

    def is_overwritten(self, record, margin=0):
        ahead = (self.queue.words[PAYLOAD_INTENT] - record.position) & MASK
        return record.count and ahead > self.queue.payload_bytes - margin

    def is_mine(self, record):
        place, generation = self.member
        high = record.owners >> 32
        return record.owners == 0 or (record.owners >> place & 1 and (high - generation) % (1 << 32) < 1 << 31)

    def advance(self, record):
        self.sequence += 1
        self.position = record.position + (record.count + 7) // 8 * 8

    def miss(self, record):
        self.has_missed = True
        self.missed += 1
        self.missed_bytes += record.count
        return ("missed", record)

    def skip(self):
        """Goes on with a record that is not about to be overwritten too."""
        first, slots = self.sequence, self.queue.slots
        while True:
            published = self.queue.words[PUBLISHED]
            self.sequence = max(published - slots * 7 // 8, first + 1)
            if self.sequence >= published:
                return self.lose(first, 0)
            record = self.slot(self.sequence)
            if record is not None:
                count = 0 if self.position is None else record.position - self.position
                self.position = record.position
                return self.lose(first, count)

    def lose(self, first, count):
        self.lost += self.sequence - first
        self.lost_bytes += count
        return ("lost", first, self.sequence - first, count)

    def write_page(self):
        self.since_written = 0
        if self.page:
            self.page[0] |= 1
            figures = (self.sequence, self.read, self.passed, self.missed, self.missed_bytes, self.lost, self.lost_bytes)
            for word, figure in enumerate(figures, 1):
                self.page[word] = figure
            self.page[0] += 1

    def wait(self, seconds):
        self.page[16] = 2
        words = self.queue.words
        if words[PUBLISHED] == self.sequence and not words[STATE]:
            select.select([self.connection], [], [], seconds)
        self.page[16] = 0
        try:
            while not self.is_gone:
                self.is_gone = self.connection.recv(8, socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            pass


def attach(path, queue, group):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(path)
    request = f"tidewire-queue 1\nqueue {queue}\nname second\n" + (f"group {group}\n" if group else "")
    connection.send(request.encode())
    answer, descriptors, _, _ = socket.recv_fds(connection, 1024, 2)
    lines = answer.decode().splitlines()
    values = dict(line.split(" ", 1) for line in lines[1:])
    if lines[0] != "attached":
        sys.exit(f"refused: {lines[0]} {values}")
    memory, page = descriptors
    reader = Queue(memory)
    if reader.words[EPOCH] != int(values["epoch"]):
        sys.exit("another epoch")
    member = (int(values["place"]), int(values["generation"])) if group else None
    return Reader(reader, int(values["first"]), int(values["position"]), member, page, connection)


def checksum(data):
    """FNV-1a."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & MASK
    return value


def endpoint(key):
    """The client of a key."""
    size, address = (4, ipaddress.IPv4Address) if key[37] == 4 else (16, ipaddress.IPv6Address)
    (port,) = struct.unpack_from("=H", key, 32)
    text = str(address(key[:size]))
    if key[36] not in (6, 17, 132, 136):
        return text
    return f"{text}:{port}" if size == 4 else f"[{text}]:{port}"


def show(found):
    what = found[0]
    if what == "ended":
        return f"ended - 0 0 0 0 0 0 {found[1]} 0 {checksum(b''):016x} -"
    if what == "lost":
        _, first, _, count = found
        return f"lost - {first} 0 0 0 {count} 0 0 0 {checksum(b''):016x} -"
    record, payload = found[1], found[2] if what == "record" else b""
    data, count, client = b"", 0, "-"
    if what == "missed":
        count = record.count
    elif record.kind == DATA:
        data, count = payload, len(payload)
    elif record.kind == PACKET:
        data = payload[96:]
        count = len(data)
    elif record.kind in (GAP, CONFLICT):
        count = record.detail
    elif record.kind == OPEN:
        client = endpoint(payload)
    return (
        f"{what} {KINDS.get(record.kind, '-')} {record.sequence} {record.stream} {record.offset} {record.time_ns} {count} "
        f"{record.flags} {record.code} {len(data)} {checksum(data):016x} {client}"
    )


def main():
    if sys.argv[1] == "file":
        reader = Reader(Queue(os.open(sys.argv[2], os.O_RDONLY)), int(sys.argv[3]))
    else:
        reader = attach(sys.argv[2], sys.argv[3], sys.argv[4] if len(sys.argv) > 4 else None)
        print("attached", flush=True)
    while True:
        found = reader.next()
        if found[0] == "empty":
            reader.wait(1.0)
            continue
        print(show(found))
        if found[0] == "ended":
            break
    published = reader.queue.words[PUBLISHED]
    print("figures", reader.first, reader.sequence, published, reader.read, reader.missed, reader.lost, reader.passed)


if __name__ == "__main__":
    main()
