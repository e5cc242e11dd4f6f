#!/usr/bin/env python3
"""PROGRAM FOLDER SECONDS RUNS: records the interface `tap` while `wrk` asks for files, with and without a cutoff (bench-record-web.sh)."""
import json, os, shutil, signal, statistics, subprocess, sys, time

SERVER = "http://10.99.1.2/"
LOADS = {"files of 1 to 10 MB": "large.lua", "pages, 32 KB in the mean": "mixed.lua"}
ROWS = {"everything": [], "cutoff 10 KB": ["--cutoff", "10K"]}


def on_cpu(process):
    """Seconds that a process and all threads it had ran so far, user and system."""
    with open(f"/proc/{process}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(program, folder, options, load, seconds):
    """GB received, bytes written for each of them, CPU seconds for each GB, packets lost."""
    archive, output = os.path.join(folder, "archive"), os.path.join(folder, "output")
    shutil.rmtree(archive, ignore_errors=True)
    command = [program, "record", "-i", "tap", "-q", "--json", "-o", archive, "--ring", "64M", *options]
    with open(output, "w") as out, open(os.path.join(folder, "errors-of-record"), "w") as errors:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=errors)
        # The kernel verifies the programs that cut off while they are loaded, once: 0.4 s that no traffic causes.
        time.sleep(2)
        cpu = on_cpu(process.pid)
        subprocess.run(["wrk", "-t", "1", "-c", "64", "-d", str(seconds), "-s", os.path.join(folder, load), SERVER],
                       stdout=subprocess.DEVNULL, check=True)
        time.sleep(1)
        cpu = on_cpu(process.pid) - cpu
        process.send_signal(signal.SIGINT)
        process.wait(60)
    with open(output) as file:
        said = json.load(file)
    if said["received_packets"] != said["written_packets"] + said["cut_off_packets"] + said["shed_packets"] + said["filtered_packets"]:
        sys.exit(f"bench-record-web: {command}: the account does not add up: {said}")
    received = said["received_bytes"]
    written = sum(os.path.getsize(os.path.join(at, file)) for at, _, files in os.walk(archive) for file in files if file.endswith(".pcapng"))
    shutil.rmtree(archive, ignore_errors=True)
    return received / 1e9, written / received, cpu / (received / 1e9), said["dropped_packets"] + said["shed_packets"]


def main():
    program, folder, seconds, runs = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    results = {(load, name): [] for load in LOADS for name in ROWS}
    for _ in range(runs):
        for (load, name), list_ in results.items():
            list_.append(measure(program, folder, ROWS[name], LOADS[load], seconds))
    print(f"\nRecording web traffic, nginx to wrk, {seconds} s each, median of {runs} runs, {os.cpu_count()} cores for all of it\n")
    print("| load | recorded | Gbit/s received | bytes written for each received | CPU s for each GB received | × everything | packets lost |\n|---|---|---|---|---|---|---|")
    for (load, name), list_ in results.items():
        received, written, cpu = (statistics.median(one[at] for one in list_) for at in range(3))
        full = statistics.median(one[2] for one in results[load, "everything"])
        print(f"| {load} | {name} | {received * 8 / seconds:.2f} | {written:.3f} | {cpu:.3f} | {cpu / full:.2f} | {sum(one[3] for one in list_)} |")
    print("\nGoal of the cutoff: at most 0.1 of the bytes, 0.5 × of the CPU.")


main()
