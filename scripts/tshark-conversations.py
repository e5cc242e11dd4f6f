#!/usr/bin/env python3
"""Writes tests/corpus/tshark-conversations.json.zst: what tshark counts in each TCP and UDP conversation of a corpus.

    scripts/tshark-conversations.py ../shared/corpus tests/corpus/tshark-conversations.json.zst

One entry a capture, keyed by the SHA-256 of the file as it lies there:

    {"file": NAME, "tcp": [CONVERSATION...], "udp": [CONVERSATION...]}

A conversation is [a, b, first, frames_ab, bytes_ab, frames_ba, bytes_ba] and, where a frame of it was the last of
several IP fragments, four numbers more: [..., fragments_ab, fragment_bytes_ab, fragments_ba, fragment_bytes_ba],
the other fragments' frames, which tshark itself counts nowhere. Addresses are "ADDRESS|PORT", `a` sent the first
frame, `first` is that frame's number.

`tshark -z conv,tcp` rounds bytes to kB and counts a tunnelled frame in the outer conversation and in the inner one.
So the figures are added up from tshark's fields, frame by frame: each frame counts in the conversation of its
innermost IP header and nowhere else, headers inside ICMP errors do not count, and TCP conversations are split as
tshark splits them (tcp.stream). For captures without tunnels the frame counts are compared with what
`-z conv` prints in the same run; a difference ends the script.
"""
import csv, json, os, re, subprocess, sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

FIELDS = ["frame.number", "frame.len", "frame.protocols", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "tcp.stream",
          "tcp.srcport", "tcp.dstport", "udp.stream", "udp.srcport", "udp.dstport",
          "ip.fragment", "ipv6.fragment", "tcp.flags"]
NETWORK, TRANSPORT = ("ip", "ipv6"), ("tcp", "udp", "udplite")


def innermost(protocols):
    """The position of the innermost transport header that counts, and of its network header; None where there is none."""
    for stop in ("icmp", "icmpv6"):
        if stop in protocols:
            protocols = protocols[:protocols.index(stop)]
            # What an ICMP message quotes does not count, and the message itself is neither TCP nor UDP.
            return None
    network = [at for at, name in enumerate(protocols) if name in NETWORK]
    if not network:
        return None
    transport = [at for at, name in enumerate(protocols) if name in TRANSPORT and at > network[-1]]
    # A transport header between the innermost network header and the end; the first one, as DTLS over UDP over TCP is no tunnel.
    return (transport[0], network[-1], protocols) if transport else None


def occurrence(row, name, index):
    values = row[name].split(",")
    return values[index] if index < len(values) else None


class Conversations:
    def __init__(self):
        self.by_stream, self.tunnels = {}, False
        self.sizes = {}

    def frame(self, row):
        number, size = int(row["frame.number"]), int(row["frame.len"])
        protocols = row["frame.protocols"].split(":")
        self.sizes[number] = size
        # The frame that completes a datagram names all of its fragments' frames, itself among them.
        fragments = {int(n) for name in ("ip.fragment", "ipv6.fragment") for n in row[name].split(",") if n} - {number}
        self.tunnels |= sum(name in NETWORK for name in protocols) > 1
        found = innermost(protocols)
        if not found:
            return
        transport_at, network_at, protocols = found
        kind, network = protocols[transport_at], protocols[network_at]
        nth = protocols[:network_at].count(network)
        source, destination = occurrence(row, network + ".src", nth), occurrence(row, network + ".dst", nth)
        family = "tcp" if kind == "tcp" else "udp"
        nth = sum(name in (("tcp",) if family == "tcp" else ("udp", "udplite")) for name in protocols[:transport_at])
        ports = occurrence(row, family + ".srcport", nth), occurrence(row, family + ".dstport", nth)
        stream = occurrence(row, family + ".stream", nth)
        if not (source and destination and stream and ports[0] and ports[1]):
            return  # Cut inside the transport header.
        if family == "tcp" and not row["tcp.flags"]:
            return
        source, destination = f"{source}|{ports[0]}", f"{destination}|{ports[1]}"
        # UDP conversations are what has the same ends: tshark's udp.stream begins anew where a dissector asks for it.
        stream = int(stream) if family == "tcp" else frozenset((source, destination))
        entry = self.by_stream.setdefault((family, stream), [source, destination, number] + [0] * 8)
        back = 0 if entry[0] == source and entry[1] == destination else 2
        entry[3 + back] += 1
        entry[4 + back] += size
        for fragment in fragments:
            entry[7 + back] += 1
            entry[8 + back] += self.sizes.get(fragment, 0)

    def lists(self):
        result = {"tcp": [], "udp": []}
        for (family, _), entry in sorted(self.by_stream.items(), key=lambda item: item[1][2]):
            result[family].append(entry if any(entry[7:]) else entry[:7])
        return result


def tables(lines):
    """Frames of each conversation that -z conv printed, as a multiset by family."""
    result, family = {"tcp": Counter(), "udp": Counter()}, None
    for line in lines:
        if line.startswith(("TCP Conv", "UDP Conv")):
            family = line[:3].lower()
        found = re.match(r"(\S+):(\S+)\s+<-> (\S+):(\S+)\s+(\d+) .*", line)
        if found and family:
            total = re.findall(r"(\d+) [\d,.]+ ?k?M?B?(?: bytes|B)?", line)
            result[family][frozenset((found[1] + "|" + found[2], found[3] + "|" + found[4]))] += int(total[2]) if len(total) > 2 else 0
    return result


def capture(path):
    command = ["tshark", "-n", "-r", path, "-T", "fields", "-E", "occurrence=a", "-E", "separator=/t"]
    for field in FIELDS:
        command += ["-e", field]
    command += ["-z", "conv,tcp", "-z", "conv,udp"]
    run = subprocess.run(command, capture_output=True, timeout=600)
    if not run.stdout and run.returncode:
        print(f"{path}: {run.stderr.decode(errors='replace').strip()}", file=sys.stderr)
    rows, _, printed = run.stdout.decode(errors="replace").partition("=" * 80)
    found = Conversations()
    parsed = [dict(zip(FIELDS, line.split("\t"))) for line in rows.splitlines() if line.count("\t") == len(FIELDS) - 1]
    for row in parsed:
        found.frame(row)
    lists = found.lists()
    if not found.tunnels:
        for family, table in tables(printed.splitlines()).items():
            ours = Counter()
            for entry in lists[family]:
                ours[frozenset(entry[:2])] += entry[3] + entry[5]
            if ours != table:
                print(f"{path}: {family}: the fields and -z conv differ: {dict((ours - table) + (table - ours))}", file=sys.stderr)
    return lists


def main():
    corpus, output = sys.argv[1:3]
    with open(os.path.join(corpus, "MANIFEST.tsv")) as manifest:
        rows = list(csv.DictReader(manifest, delimiter="\t"))

    def entry(row):
        lists = capture(os.path.join(corpus, row["file"]))
        return row["sha256"], {"file": row["file"], **lists} if lists["tcp"] or lists["udp"] else None

    with ThreadPoolExecutor(int(os.environ.get("JOBS", "1"))) as pool:
        entries = {key: value for key, value in pool.map(entry, rows) if value}
    text = json.dumps(entries, separators=(",", ":"), sort_keys=True)
    subprocess.run(["zstd", "-19", "-q", "-f", "-o", output], input=text.encode(), check=True)
    print(f"{len(entries)} captures, {sum(len(e['tcp']) for e in entries.values())} TCP and {sum(len(e['udp']) for e in entries.values())} UDP conversations, {os.path.getsize(output)} bytes")


main()
