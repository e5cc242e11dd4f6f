#!/usr/bin/env python3
"""PROGRAM ASK.LUA SECONDS RUNS: runs `wrk` beside each command on the interface `tap`, and prints CPU and losses (bench-exports-live.sh)."""
import json, os, signal, statistics, subprocess, sys, threading, time

INTERFACE, SERVER = "tap", "http://10.99.1.2/"
ROWS = {
    "`flows`: 16 KiB of each direction, fields": ["flows", "--json"],
    "`flows --mode track`: nothing delivered, no fields": ["flows", "--json", "--mode", "track"],
    "`transactions --cutoff 16K`": ["transactions", "--json", "--cutoff", "16K"],
    "`transactions`: all delivered": ["transactions", "--json"],
    "`streams`: all delivered, fields": ["streams", "--json"],
}
FULL = "`streams`: all delivered, fields"


def counter(name):
    with open(f"/sys/class/net/{INTERFACE}/statistics/{name}") as file:
        return int(file.read())


def on_cpu(process):
    """Nanoseconds that the threads of a process ran so far, user and system."""
    total = 0
    for task in os.listdir(f"/proc/{process}/task"):
        with open(f"/proc/{process}/task/{task}/schedstat") as file:
            total += int(file.read().split()[0])
    return total


def measure(program, words, ask, seconds):
    """CPU seconds, gigabytes on the cable, packets lost, records."""
    command = [program, *words, "--stats=json", "-i", INTERFACE]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said, records, last, listening = [], [0], [""], threading.Event()

    def read_said():
        for line in process.stderr:
            said.append(line)
            if "packet socket" in line:
                listening.set()
        listening.set()

    def read_records():
        for line in process.stdout:
            records[0] += '"service":"http"' in line
            last[0] = line

    threads = [threading.Thread(target=one, daemon=True) for one in (read_said, read_records)]
    for thread in threads:
        thread.start()
    if not listening.wait(20):
        sys.exit(f"bench-exports-live: {command} does not listen: {''.join(said)}")
    # The kernel verifies the programs that cut off while they are loaded, once: 0.4 s that no traffic causes.
    cpu, before = on_cpu(process.pid), counter("rx_bytes") + counter("tx_bytes")
    subprocess.run(["wrk", "-t", "1", "-c", "16", "-d", str(seconds), "-s", ask, SERVER], stdout=subprocess.DEVNULL, check=True)
    gigabytes = (counter("rx_bytes") + counter("tx_bytes") - before) / 1e9
    time.sleep(0.5)
    cpu = (on_cpu(process.pid) - cpu) / 1e9
    process.send_signal(signal.SIGINT)
    for thread in threads:
        thread.join(60)
    process.wait(60)
    ledger = json.loads(last[0]) if last[0].startswith("{") else {}
    if process.returncode not in (0, 1) or "detail" not in ledger:
        sys.exit(f"bench-exports-live: {command} ended with {process.returncode}: {''.join(said)[-2000:]}")
    # What the kernel had no room for.
    lost = ledger["detail"]["live"]["rings"]["no_room"]
    return cpu, gigabytes, lost, records[0]


def main():
    program, ask, seconds, runs = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    results = {name: [] for name in ROWS}
    for _ in range(runs):
        for name, words in ROWS.items():
            results[name].append(measure(program, words, ask, seconds))
    per_gigabyte = {name: statistics.median(cpu / gigabytes for cpu, gigabytes, *_ in list_) for name, list_ in results.items()}
    print(f"\nLive, nginx to wrk, files of 1 to 10 MB, {seconds} s each, median of {runs} runs, {os.cpu_count()} cores for all of it\n")
    print("| live | Gbit/s offered | CPU s for each GB | × all delivered | packets lost | HTTP records | goal |\n|---|---|---|---|---|---|---|")
    for name, list_ in results.items():
        rate = statistics.median(gigabytes * 8 / seconds for _, gigabytes, *_ in list_)
        goal = "≤ 0.3, none lost" if name == next(iter(ROWS)) else ""
        print(f"| {name} | {rate:.2f} | {per_gigabyte[name]:.4f} | {per_gigabyte[name] / per_gigabyte[FULL]:.2f} "
              f"| {sum(one[2] for one in list_)} | {sum(one[3] for one in list_)} | {goal} |")


main()
