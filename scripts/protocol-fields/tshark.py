"""What tshark finds: its fields, frame by frame, as facts of conversations."""
import gzip, hashlib, os, subprocess

FRAME = ["frame.protocols", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "tcp.srcport", "tcp.dstport", "udp.srcport", "udp.dstport"]
TLS = ["tls.handshake.type", "tls.handshake.version", "tls.handshake.extensions_server_name", "tls.handshake.extensions_alpn_str",
       "tls.handshake.extensions.supported_version", "tls.handshake.ciphersuite", "tls.handshake.ja3", "tls.handshake.certificate",
       "tls.alert_message.desc", "quic.version", "quic.long.packet_type"]
DNS = ["dns.id", "dns.flags.response", "dns.flags.opcode", "dns.flags.authoritative", "dns.flags.truncated", "dns.flags.recdesired",
       "dns.flags.recavail", "dns.flags.rcode", "dns.count.answers", "dns.qry.name", "dns.qry.type", "dns.resp.name", "dns.resp.type",
       "dns.resp.ttl", "dns.a", "dns.aaaa", "dns.cname", "dns.ns", "dns.ptr.domain_name", "dns.mx.preference",
       "dns.mx.mail_exchange", "dns.txt", "dns.srv.priority", "dns.srv.weight", "dns.srv.port", "dns.srv.target"]
HTTP = ["http.request.method", "http.request.uri", "http.request.version", "http.response.code", "http.response.phrase", "http.host",
        "http.user_agent", "http.referer", "http.content_type", "http.server", "http.location", "http.content_length_header"]
OTHERS = ["ssh.protocol", "ssh.kex.hassh", "ssh.kex.hasshserver", "smtp.req.command", "smtp.req.parameter", "ftp.request.command",
          "ftp.request.arg", "dhcp.type", "dhcp.option.dhcp", "dhcp.id", "dhcp.hw.mac_addr", "dhcp.option.hostname",
          "dhcp.option.vendor_class_id", "dhcp.option.requested_ip_address", "dhcp.ip.your", "dhcp.option.dhcp_server_id",
          "dhcp.option.domain_name", "dhcp.option.ip_address_lease_time", "ntp.flags.vn", "ntp.flags.mode", "ntp.stratum",
          "ntp.refid", "socks.version", "socks.command", "socks.remote_name", "socks.dst", "socks.port", "socks.dstport", "socks.username"]
FIELDS = FRAME + TLS + DNS + HTTP + OTHERS
FILTER = ("tls.handshake || tls.alert_message || http.request || http.response || dns || mdns || llmnr || ssh.protocol || ssh.kex.hassh || "
          "ssh.kex.hasshserver || smtp.req || ftp.request || dhcp || ntp || socks || quic.long.packet_type == 0")
# Reassembly as for files; nothing is checked that a sniffer cannot know.
OPTIONS = ["tcp.reassemble_out_of_order:TRUE", "tcp.check_checksum:FALSE", "udp.check_checksum:FALSE", "ip.defragment:TRUE",
           "http.decompress_body:FALSE"]


def rows(path, cache):
    """Each frame's values by field. The output of tshark is kept in `cache`, by the file's SHA-256."""
    with open(path, "rb") as file:
        kept = os.path.join(cache, hashlib.sha256(file.read()).hexdigest() + ".gz")
    if not os.path.exists(kept):
        command = ["tshark", "-n", "-r", path, "-Y", FILTER, "-T", "fields", "-E", "occurrence=a", "-E", "separator=\x01", "-E", "aggregator=\x02"]
        for option in OPTIONS:
            command += ["-o", option]
        for field in FIELDS:
            command += ["-e", field]
        try:
            output = subprocess.run(command, capture_output=True, timeout=600).stdout
        except subprocess.TimeoutExpired as error:
            output = error.stdout or b""
        with gzip.open(kept + ".tmp", "wb") as file:
            file.write(output)
        os.rename(kept + ".tmp", kept)
    with gzip.open(kept, "rb") as file:
        for line in file.read().decode(errors="replace").split("\n"):
            columns = line.split("\x01")
            if len(columns) == len(FIELDS):
                yield {name: [value for value in column.split("\x02") if value != ""] for name, column in zip(FIELDS, columns)}
