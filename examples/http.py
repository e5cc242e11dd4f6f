#!/usr/bin/env python3
"""Prints the HTTP requests that begin streams, one a line.

    tidewire attach streams --json | python3 examples/http.py
    tidewire attach streams --exec 'python3 examples/http.py'     (started again should it crash)
"""

import json
import re
import sys

REQUEST = re.compile(rb"([A-Z]{1,15}) ([!-~]{1,399}) HTTP/1\.")
begun = {}  # of streams without a request so far: the ends, and what the client sent


def endpoint(end):
    address = f'[{end["addr"]}]' if ":" in end["addr"] else end["addr"]
    return f'{address}:{end["port"]}'


for line in sys.stdin:
    record = json.loads(line)
    kind, stream = record["kind"], record.get("stream")
    if kind == "open":
        client, server = (endpoint(record[end]) for end in ("client", "server"))
        begun.setdefault(stream, [f"{client} > {server}", b""])
    elif kind == "close":
        begun.pop(stream, None)
    elif kind == "data" and record["direction"] == "c2s" and stream in begun:
        ends, text = begun.pop(stream)
        if record["offset"] != len(text):
            continue  # its beginning is missing
        text += record["text"].encode() if "text" in record else bytes.fromhex(record["data"])
        if request := REQUEST.match(text):
            print(ends, *(part.decode() for part in request.groups()), flush=True)
        elif len(text) < 512:
            begun[stream] = [ends, text]
