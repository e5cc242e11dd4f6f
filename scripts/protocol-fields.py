#!/usr/bin/env python3
"""Compares protocol fields with tshark's over captures, value by value.

    scripts/protocol-fields.py [--cache FOLDER] [--jobs N] [--differences FILE] [--tidewire PROGRAM] CAPTURE_OR_FOLDER...

A value is one of a conversation: the same text at other ends is another one. The table has, for each field, the captures that have it,
the values of tshark, how many are equal, and how many only one of both found; --differences writes these, a line each.
tshark needs about half a second a capture; --cache keeps what it printed.
"""
import argparse, collections, concurrent.futures, os, shutil, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "protocol-fields"))
import ours, tshark, tshark_facts

# What tshark has as a list of values, and we have as one text.
TEXTS = ("tls.certificate.subject", "tls.certificate.issuer")
# Fields of ours that have no field of tshark's to compare with here.
ONLY_OURS = {"service", "smtp.server", "smtp.starttls", "ftp.server", "ftp.starttls", "socks.version", "socks.port", "socks.reply", "socks.user",
             "tls.ja4", "tls.established", "tls.resumed", "quic.ja4", "dns.query", "mdns.query", "llmnr.query"}


# Files beside captures.
NO_CAPTURES = (".md", ".json", ".jsonl", ".tsv", ".txt", ".yaml", ".py")


def captures(paths):
    for path in paths:
        if os.path.isfile(path):
            yield path
        for folder, _, files in sorted(os.walk(path)):
            yield from (os.path.join(folder, file) for file in sorted(files) if not file.endswith(NO_CAPTURES))


def paired(theirs, found):
    """Replaces lists of values by the text of the same conversation that has all of them."""
    texts = collections.defaultdict(list)
    for ends, kind, value in found:
        texts[ends, kind].append(value)
    for ends, kind, value in theirs:
        same = [text for text in texts[ends, kind] if all(part in text.replace("\\", "") for part in value)] if kind in TEXTS else []
        yield (ends, kind, same[0] if same else value)


def compare(path, options):
    try:
        theirs = tshark_facts.facts(tshark.rows(path, options.cache))
        found, count = ours.facts(options.tidewire, path)
    except Exception as error:
        return path, None, None, f"{type(error).__name__}: {error}"
    return path, set(paired(theirs, found)), {one for one in found if one[1] not in ONLY_OURS}, count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", default=os.path.join(tempfile.gettempdir(), "tidewire-tshark-fields"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--differences", default=os.devnull)
    parser.add_argument("--tidewire", default="target/release/tidewire")
    parser.add_argument("paths", nargs="+")
    options = parser.parse_args()
    for program in (options.tidewire, "tshark"):
        if not shutil.which(program):
            parser.error(f"{program} is not there: cargo build --release -p tidewire-cli, or --tidewire PROGRAM; tshark is a package")
    os.makedirs(options.cache, exist_ok=True)
    table = collections.defaultdict(lambda: [set(), 0, 0, 0, 0])
    records = all_captures = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool, open(options.differences, "w") as differences:
        for path, theirs, found, count in pool.map(lambda path: compare(path, options), captures(options.paths)):
            if theirs is None:
                print(f"{path}: {count}", file=sys.stderr)
                continue
            records += count
            all_captures += bool(theirs or found)
            for whose, values, column in (("=", theirs & found, 2), ("<", theirs - found, 3), (">", found - theirs, 4)):
                for ends, kind, value in sorted(values, key=repr):
                    row = table[kind]
                    row[0].add(path)
                    row[1] += whose != ">"
                    row[column] += 1
                    if whose != "=":
                        print(whose, path, *ends, kind, repr(value), sep="\t", file=differences)
    print(f"{all_captures} captures with protocols, {records} transactions")
    print("| field | captures | values of tshark | equal | only tshark's | only here |\n|---|---|---|---|---|---|")
    for kind, (paths, *numbers) in sorted(table.items()):
        print(f"| `{kind}` | {len(paths)} | " + " | ".join(str(number) for number in numbers) + " |")


main()
