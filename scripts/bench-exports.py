#!/usr/bin/env python3
"""make FILE FLOWS: a capture of short connections. measure PROGRAM FOLDER FLOWS RUNS [CAPTURE...]: what formats cost (bench-exports.sh).
suricata PROGRAM FOLDER RUNS CAPTURE...: EVE against Suricata alone."""
import os, resource, shutil, statistics, struct, subprocess, sys

START = 1_795_329_000


def make(path, flows):
    """Five kinds of connections in turn, 50 of them overlapping."""
    out = open(path, "wb", buffering=1 << 20)
    out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101))
    clock = [START * 1_000_000]

    def checksum(data):
        """RFC 1071: the sum of 16-bit words in ones' complement is the number modulo 65,535."""
        number = int.from_bytes(data + b"\0" * (len(data) % 2), "big")
        return 0xFFFF ^ (number % 0xFFFF or (0xFFFF if number else 0))

    def packet(proto, src, dst, sport, dport, payload, seq=0, ack=0, flags=0):
        clock[0] += 7
        if proto == 6:
            head = struct.pack(">HHIIBBHHH", sport, dport, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, 80, flags, 65535, 0, 0)
        else:
            head = struct.pack(">HHHH", sport, dport, 8 + len(payload), 0)
        total = checksum(src + dst + struct.pack(">HH", proto, len(head) + len(payload)) + head + payload)
        # UDP's 0 says that there is none.
        at, total = (16, total) if proto == 6 else (6, total or 0xFFFF)
        head = head[:at] + struct.pack(">H", total) + head[at + 2 :]
        fields = [69, 0, 20 + len(head) + len(payload), 0, 0, 64, proto, 0, src, dst]
        fields[7] = checksum(struct.pack(">BBHHHBBH4s4s", *fields))
        ip = struct.pack(">BBHHHBBH4s4s", *fields)
        data = ip + head + payload
        out.write(struct.pack("<IIII", clock[0] // 1_000_000, clock[0] % 1_000_000, len(data), len(data)) + data)

    def name(index):
        return b"host%d.example.org" % (index % 5000)

    def connection(index, kind):
        src = struct.pack(">I", 0x0A000000 + index % 60000 + 1)
        dst = struct.pack(">I", 0xC6336400 + index % 200 + 1)
        sport = 1024 + index * 7 % 60000
        if kind == 0:
            label = b"".join(bytes([len(part)]) + part for part in name(index).split(b".")) + b"\0"
            ask = struct.pack(">HHHHHH", index & 0xFFFF, 0x100, 1, 0, 0, 0) + label + b"\0\1\0\1"
            packet(17, src, dst, sport, 53, ask)
            yield
            answer = struct.pack(">HHHHHH", index & 0xFFFF, 0x8180, 1, 1, 0, 0) + label + b"\0\1\0\1"
            packet(17, dst, src, 53, sport, answer + b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + dst)
            return
        port, ask, answer = 8000, b"", b""
        if kind in (1, 2):
            port = 80
            ask = b"GET /page/%d HTTP/1.1\r\nHost: %s\r\nUser-Agent: bench/1.0\r\nAccept: */*\r\n\r\n" % (index, name(index))
            answer = b"HTTP/1.1 200 OK\r\nServer: bench\r\nContent-Type: text/html\r\nContent-Length: 700\r\n\r\n" + b"x" * 700
        elif kind == 3:
            port = 443
            host = name(index)
            sni = struct.pack(">HHHBH", 0, len(host) + 5, len(host) + 3, 0, len(host)) + host
            rest = b"\x03\x03" + bytes(32) + b"\0" + b"\0\4\x13\1\x13\2" + b"\1\0" + struct.pack(">H", len(sni)) + sni
            hello = b"\1" + struct.pack(">I", len(rest))[1:] + rest
            ask = b"\x16\3\1" + struct.pack(">H", len(hello)) + hello
            answer = b"\x15\3\3\0\2\2\x28"
        c, s = index * 1000, index * 3000
        packet(6, src, dst, sport, port, b"", c, 0, 2)
        yield
        packet(6, dst, src, port, sport, b"", s, c + 1, 18)
        packet(6, src, dst, sport, port, b"", c + 1, s + 1, 16)
        yield
        if ask:
            packet(6, src, dst, sport, port, ask, c + 1, s + 1, 24)
            yield
            packet(6, dst, src, port, sport, answer, s + 1, c + 1 + len(ask), 24)
            yield
        packet(6, src, dst, sport, port, b"", c + 1 + len(ask), s + 1 + len(answer), 17)
        packet(6, dst, src, port, sport, b"", s + 1 + len(answer), c + 2 + len(ask), 17)
        packet(6, src, dst, sport, port, b"", c + 2 + len(ask), s + 2 + len(answer), 16)

    open_ones, begun = [], 0
    while begun < flows or open_ones:
        if begun < flows and len(open_ones) < 50:
            open_ones.append(connection(begun, begun % 5))
            begun += 1
        for one in list(open_ones[:10]):
            if next(one, one) is one:
                open_ones.remove(one)
        open_ones = open_ones[10:] + open_ones[:10]
    out.close()


def size(path):
    """Bytes of a file, or of all in a folder."""
    if not os.path.isdir(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(at, file)) for at, _, files in os.walk(path) for file in files)


def cpu(words):
    """CPU seconds, user and system, of a command and its threads."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode(errors="replace")[:300])
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


# Format, what it is given, and the goal against JSON. Alone: streams without records of transactions (those that --where selects have none).
FORMATS = [
    ("JSON", "json", [], None),
    ("EVE, streams alone", "eve", ["--eve-types", "flow"], 1.2),
    ("EVE", "eve", [], 1.2),
    ("Zeek, TSV, streams alone", "zeek", ["--where", "packets > 0"], 1.0),
    ("Zeek, TSV", "zeek", [], 1.0),
    ("Zeek, JSON", "zeek-json", [], None),
    ("CSV", "csv", [], None),
    ("SQLite", "sqlite", [], None),
    ("Parquet, streams alone", "parquet", ["--where", "packets > 0"], 0.8),
    ("Parquet", "parquet", [], 0.8),
    ("Arrow", "arrow", [], 0.6),
    ("IPFIX", "ipfix", [], None),
]


def measure(program, folder, flows, runs, captures):
    own = os.path.join(folder, "flows.pcap")
    base = [program, "flows"]
    track = base + ["--mode", "track"]
    rows = {
        "no fields": track + ["--limit", "0", own],
        # A condition that nothing fulfils: everything but writing.
        "fields": base + ["--to", f"json:{folder}/n", "--where", "packets > 1000000", own],
        "flows, fields": base + ["--json", own],
        "flows, no fields": track + ["--json", own],
    }
    for name, form, options, _ in FORMATS:
        rows[name] = base + options + ["--to", f"{form}:{folder}/out", own]
    times, failed, written = {name: [] for name in rows}, {}, {}
    # In turn, so that what else the machine does meets all.
    for _ in range(runs):
        for name, words in rows.items():
            if name in failed:
                continue
            try:
                times[name].append(cpu(words))
            except RuntimeError as error:
                failed[name] = str(error).strip()
            written[name] = 0
            for file in os.listdir(folder):
                path = os.path.join(folder, file)
                if path != own:
                    written[name] += size(path)
                    shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    median = {name: statistics.median(list_) for name, list_ in times.items() if list_}
    print(f"{flows} flows, {os.path.getsize(own) / 1e6:.0f} MB; CPU seconds, median of {runs} runs; "
          f"{subprocess.run([program, '--version'], capture_output=True, text=True).stdout.strip()}\n")
    print("| written | CPU s | × JSON | writing alone, s | × JSON | million flows/s of writing | MB | goal |\n|---|---|---|---|---|---|---|---|")
    if any(name in failed for name in ("fields", "JSON", "no fields")):
        sys.exit(f"bench-exports: {failed}")
    for name in ("no fields", "fields"):
        print(f"| nothing: {name if name == 'fields' else 'no fields, no reassembly'} | {median[name]:.3f} | {median[name] / median['JSON']:.2f} | | | | | |")
    for name, form, _, most in FORMATS:
        if name in failed:
            print(f"| {name} | – | – | – | – | – | – | {failed[name]} |")
            continue
        # Figures alone need neither fields nor reassembly.
        floor = median["no fields" if form == "ipfix" else "fields"]
        seconds, writing, json = median[name], median[name] - floor, median["JSON"] - median["fields"]
        rate = f"{flows / writing / 1e6:.2f}" if writing > 1e-3 else ""
        goal = f"≤ {most}" if most else "≥ 1 million/s" if form == "ipfix" else ""
        print(f"| {name} | {seconds:.3f} | {seconds / median['JSON']:.2f} | {writing:.3f} | {writing / max(json, 1e-3):.2f} "
              f"| {rate} | {written[name] / 1e6:.1f} | {goal} |")
    print("\nStreams and their transactions are twice as many records as JSON has: those of EVE, Zeek, SQLite and Parquet without \"alone\".")
    encoder = os.environ.get("ENCODER", "")
    if os.path.exists(encoder):
        print(f"\nThe encoders alone, of {flows} streams in memory (`encode_speed`):\n", flush=True)
        sys.stdout.flush()
        subprocess.run([encoder, str(flows)], check=True)
    print("\n| flows | with fields, CPU s | without | × | goal |\n|---|---|---|---|---|")
    print(f"| short connections | {median['flows, fields']:.3f} | {median['flows, no fields']:.3f} "
          f"| {median['flows, fields'] / median['flows, no fields']:.2f} | |")
    for capture in captures:
        both = [[cpu(base + extra + ["--json", capture]) for _ in range(runs)] for extra in ([], ["--mode", "track"])]
        a, b = map(statistics.median, both)
        print(f"| {os.path.basename(capture)} | {a:.3f} | {b:.3f} | {a / b:.2f} | ≤ 1.25 |")
    for capture in captures:
        print(f"\n| {os.path.basename(capture)} | CPU s | × JSON | goal |\n|---|---|---|---|")
        seconds = {name: [] for name, *_ in FORMATS}
        for _ in range(runs):
            for name, form, options, _ in FORMATS:
                seconds[name].append(cpu(base + options + ["--to", f"{form}:{folder}/out", capture]))
                for file in os.listdir(folder):
                    path = os.path.join(folder, file)
                    if path not in (own, capture):
                        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
        for name, _, _, most in FORMATS:
            median_ = statistics.median(seconds[name])
            print(f"| {name} | {median_:.3f} | {median_ / statistics.median(seconds['JSON']):.2f} | {f'≤ {most}' if most else ''} |")
    python = os.environ.get("NFSTREAM_PYTHON", sys.executable)
    streamer = f"import nfstream; print(sum(1 for _ in nfstream.NFStreamer(source={own!r}, n_meters=1)))"
    print("\n| peer | CPU s | × tidewire flows |\n|---|---|---|")
    try:
        seconds = statistics.median(cpu([python, "-c", streamer]) for _ in range(3))
        print(f"| nfstream | {seconds:.2f} | {seconds / median['flows, fields']:.1f} |")
    except (RuntimeError, FileNotFoundError) as error:
        why = str(error).strip().splitlines()
        print(f"| nfstream | not measured: {why[-1] if why else 'not installed'} | |")
    suricata_peer(program, folder, runs, [own] + captures)


# What is read of application layers; all others are off, as Tidewire's records of them are not written either.
SURICATA_READS = ["dns", "http", "quic", "tls"]
SURICATA_OFF = """bittorrent-dht dcerpc dhcp dnp3 doh2 enip ftp http2 ike imap krb5 ldap mdns modbus mqtt nfs ntp pgsql pop3 rdp rfb
sip smb smtp snmp ssh telnet tftp websocket""".split()


def suricata_settings():
    """A configuration of Suricata: no rules, no counters, EVE of flows, DNS, HTTP and TLS."""
    text = "%YAML 1.1\n---\nstats:\n  enabled: no\nlogging:\n  default-log-level: error\n  outputs:\n  - console:\n      enabled: yes\n"
    text += "outputs:\n  - eve-log:\n      enabled: yes\n      filetype: regular\n      filename: eve.json\n      community-id: yes\n"
    text += "      types:\n        - flow\n        - dns\n        - http:\n            extended: yes\n        - tls:\n            extended: yes\n"
    text += "app-layer:\n  protocols:\n"
    for name in SURICATA_OFF:
        text += f"    {name}:\n      enabled: no\n"
    for name in SURICATA_READS:
        text += f"    {name}:\n"
        if name == "dns":
            text += "".join(f"      {proto}:\n        enabled: yes\n        detection-ports:\n          dp: 53\n" for proto in ("tcp", "udp"))
        else:
            text += "      enabled: yes\n"
    return text


def instructions(words):
    """Instructions in user mode of a command and its threads; None without perf."""
    if not shutil.which("perf"):
        return None
    done = subprocess.run(["perf", "stat", "-x,", "-e", "instructions:u", "--"] + words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    counts = [line.split(b",")[0] for line in done.stderr.splitlines() if b"instructions" in line]
    return int(counts[0]) if done.returncode == 0 and counts and counts[0].isdigit() else None


def suricata_peer(program, folder, runs, captures):
    """`tidewire flows --to eve:` and Suricata in turn. SURICATA: its program, where it is not on the PATH."""
    suricata = shutil.which(os.environ.get("SURICATA", "suricata"))
    if not suricata:
        print("\nSuricata: not measured, as it is neither on the PATH nor named by SURICATA.")
        return
    version = subprocess.run([suricata, "-V"], capture_output=True, text=True).stdout.strip().removeprefix("This is ")
    place = os.path.join(folder, "suricata")
    os.mkdir(place)
    settings, empty = os.path.join(place, "suricata.yaml"), os.path.join(place, "empty.pcap")
    open(settings, "w").write(suricata_settings())
    # One packet: what programs need to begin and to end.
    start = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + struct.pack("<IIII", START, 0, 60, 60) + bytes(60)
    open(empty, "wb").write(start)
    eve, theirs = os.path.join(place, "own.json"), os.path.join(place, "eve.json")
    types = ["--eve-types", "flow,dns,http,tls"]
    print(f"\nEVE (flow, dns, http, tls) against {version}: no rules, one worker; CPU seconds, user and system, medians of {runs} runs in turn\n")
    print("| capture | MB | Tidewire, CPU s | Suricata | × | instructions, ×10⁹ | Suricata | × | records | Suricata | goal |\n" + "|---" * 11 + "|")
    for capture in [empty] + captures:
        both = {
            "own": [program, "flows", "--checksum", "ignore"] + types + ["--to", f"eve:{eve}", capture],
            "theirs": [suricata, "-c", settings, "-S", "/dev/null", "-k", "none", "--runmode", "single", "-l", place, "-r", capture],
        }
        times, records = {name: [] for name in both}, {}
        for _ in range(runs):
            for name, words in both.items():
                if os.path.exists(theirs):
                    os.remove(theirs)
                times[name].append(cpu(words))
                records[name] = sum(1 for _ in open(eve if name == "own" else theirs, "rb"))
        a, b = (statistics.median(times[name]) for name in both)
        counts = [instructions(words) for words in both.values()]
        cells = ["", "", ""] if None in counts else [f"{counts[0] / 1e9:.2f}", f"{counts[1] / 1e9:.2f}", f"{counts[1] / counts[0]:.1f}"]
        name = "one packet" if capture == empty else os.path.basename(capture)
        row = [name, f"{os.path.getsize(capture) / 1e6:.0f}", f"{a:.2f}", f"{b:.2f}", f"{b / a:.1f}"] + cells
        row += [f"{records['own']:,}", f"{records['theirs']:,}", "" if capture == empty else "≥ 5"]
        print("| " + " | ".join(row) + " |", flush=True)
    shutil.rmtree(place)


if sys.argv[1] == "make":
    make(sys.argv[2], int(sys.argv[3]))
elif sys.argv[1] == "suricata":
    suricata_peer(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5:])
else:
    measure(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]), sys.argv[6:])
