#!/usr/bin/env python3
"""Tells a sensor of a failed login, and ends when that is durable: event.py USER

A sensor that starts it says where by the environment; else it is /run/tidewire/events.sock.
"""

import ctypes
import sys

library = ctypes.CDLL("libtidewire_queue.so.0")
library.tidewire_event_error.restype = ctypes.c_char_p
MEDIUM = 2


def must(status):
    if status < 0:
        sys.exit("event: " + library.tidewire_event_error().decode())


events = ctypes.c_void_p()
must(library.tidewire_event_open(None, None, ctypes.byref(events)))
must(library.tidewire_event_begin(events, b"login.failed", MEDIUM))
must(library.tidewire_event_text(events, b"user", sys.argv[1].encode()))
must(library.tidewire_event_emit(events))
must(library.tidewire_event_flush(events, 10_000))
library.tidewire_event_close(events)
