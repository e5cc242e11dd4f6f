#!/usr/bin/env python3
"""Compares protocol fields with what the test suites of other programs expect: Zeek's logs, nDPI's flows, Arkime's sessions, Suricata's checks.

    scripts/protocol-expectations.py [--differences FILE] [--tidewire PROGRAM] CORPUS

CORPUS is a folder with MANIFEST.tsv, whose column `expected` names these files. A value is one of a conversation; of Suricata, whose
checks have none, one of a capture. What only we have counts where the other one has that field of that conversation at all, as its files
list parts only. --differences writes what differs, a line each.
"""
import argparse, collections, csv, json, os, subprocess, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "protocol-fields"))
import expected, ours, suricata


# Longest text that nDPI and Suricata write of those that are compared here.
TEXT_CHARS = 120


def readers(corpus):
    """How the files of each kind are read."""
    checks = suricata.checks(os.path.join(corpus, "suricata_verify_index.json"))
    return {
        "zeek-baseline": ("Zeek", lambda path: expected.zeek(path if os.path.isdir(path) else os.path.dirname(path))),
        "ndpi-flow-list": ("nDPI", expected.ndpi),
        "arkime-sessions-json": ("Arkime", expected.arkime),
        "suricata-verify-checks": ("Suricata", lambda path: checks.get(suricata.name(path), set())),
    }


def compared(theirs, found):
    """Equal values, theirs alone, and ours alone where they have that field of that conversation."""
    asked = {one[:2] for one in theirs}
    return theirs & found, theirs - found, {one for one in found - theirs if one[:2] in asked}


def plain(fact):
    """Facts as all of them have them: names in small letters, ciphers and data as text."""
    ends, kind, value = fact
    # Arkime and Suricata write names in small letters, nDPI cuts long texts.
    if kind.endswith((".sni", ".host", ".query")) or kind == "smtp.client":
        value = value.lower().rstrip(".")
    elif isinstance(value, str):
        value = value[:TEXT_CHARS]
    if kind in ("dns.rcode", "mdns.rcode", "llmnr.rcode"):
        value = (value[0], value[1] & 15)
    return ends, kind, value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--differences", default=os.devnull)
    parser.add_argument("--tidewire", default="target/release/tidewire")
    parser.add_argument("corpus")
    options = parser.parse_args()
    programs, table, seen = readers(options.corpus), collections.defaultdict(lambda: [set(), 0, 0, 0]), set()
    with open(os.path.join(options.corpus, "MANIFEST.tsv"), newline="") as manifest, open(options.differences, "w") as differences:
        for row in csv.DictReader(manifest, delimiter="\t"):
            found = None
            for entry in filter(None, row["expected"].split(";")):
                kind, _, name = entry.partition("=")
                program, read = programs.get(kind, (None, None))
                path = os.path.join(options.corpus, name)
                place = os.path.dirname(path) if program == "Zeek" and not os.path.isdir(path) else path
                if program is None or (row["file"], place) in seen or program == "Suricata" and not name.endswith(".yaml"):
                    continue
                seen.add((row["file"], place))
                try:
                    theirs = {plain(one) for one in read(path)}
                except (OSError, ValueError, KeyError, StopIteration) as error:
                    print(f"{path}: {type(error).__name__}: {error}", file=sys.stderr)
                    continue
                if not theirs:
                    continue
                if found is None:
                    found = {plain(one) for one in ours.facts(options.tidewire, os.path.join(options.corpus, row["file"]), ["--checksum", "ignore"])[0]}
                mine = {(None, kind, value) for _, kind, value in found} if program == "Suricata" else found
                for whose, values, column in zip("=<>", compared(theirs, mine), (1, 2, 3)):
                    for ends, field, value in sorted(values, key=repr):
                        line = table[program, field]
                        line[0].add(row["file"])
                        line[column] += 1
                        if whose != "=":
                            words = (whose, program, row["file"], os.path.basename(place), *(ends or ()), field, repr(value))
                            print(*words, sep="\t", file=differences)
    print("| program | field | captures | equal | only theirs | only here |\n|---|---|---|---|---|---|")
    for (program, field), (files, *counts) in sorted(table.items()):
        print(f"| {program} | `{field}` | {len(files)} | " + " | ".join(map(str, counts)) + " |")
    print("\n| program | captures | equal | only theirs | only here |\n|---|---|---|---|---|")
    for program in sorted({program for program, _ in table}):
        rows = [row for (other, _), row in table.items() if other == program]
        counts = [sum(row[column] for row in rows) for column in (1, 2, 3)]
        print(f"| {program} | {len(set().union(*(row[0] for row in rows)))} | " + " | ".join(map(str, counts)) + " |")


main()
