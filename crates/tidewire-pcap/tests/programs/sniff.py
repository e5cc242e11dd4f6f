"""scapy through libpcap: prints each frame of a device as hexadecimal digits, until SIGTERM."""
import signal
import sys

from scapy.config import conf

conf.use_pcap = True
conf.verb = 0
from scapy.sendrecv import AsyncSniffer  # noqa: E402

if "pcap" not in conf.L2listen.__name__.lower():
    sys.exit(f"scapy does not use libpcap but {conf.L2listen.__name__}")


def listening():
    print("listening", file=sys.stderr, flush=True)


def show(frame):
    print(bytes(frame).hex(), flush=True)


signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
sniffer = AsyncSniffer(iface=sys.argv[1], prn=show, store=False, started_callback=listening)
sniffer.start()
signal.sigwait({signal.SIGTERM})
sniffer.stop()
