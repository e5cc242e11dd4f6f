"""Facts of conversations out of tshark's rows: (conversation, kind, value)."""
import hashlib, ipaddress, re

from certificates import certificate_facts

TRANSPORTS = ("tcp", "udp", "udplite")
QUERY_SERVICES = ("dns", "mdns", "llmnr")
DATA = {1: "dns.a", 28: "dns.aaaa", 5: "dns.cname", 2: "dns.ns", 12: "dns.ptr.domain_name", 15: "dns.mx.mail_exchange", 33: "dns.srv.target"}
FTP = {"RETR", "STOR", "APPE", "DELE", "RNFR", "RNTO", "MKD", "RMD"}


def conversation(row):
    """The ends of the innermost transport header; None within ICMP errors and where there is none."""
    protocols = row["frame.protocols"][0].split(":") if row["frame.protocols"] else []
    if {"icmp", "icmpv6", "sflow"} & set(protocols):
        return None, protocols
    network = [at for at, name in enumerate(protocols) if name in ("ip", "ipv6")]
    transport = [at for at, name in enumerate(protocols) if name in TRANSPORTS and network and at > network[-1]]
    if not transport:
        return None, protocols
    name, kind = protocols[network[-1]], "tcp" if protocols[transport[0]] == "tcp" else "udp"
    nth = protocols[:network[-1]].count(name)
    nth_port = sum((one == "tcp") == (kind == "tcp") for one in protocols[:transport[0]] if one in TRANSPORTS)
    try:
        ends = [row[f"{name}.{way}"][nth] + "|" + row[f"{kind}.{way}port"][nth_port] for way in ("src", "dst")]
    except IndexError:
        return None, protocols
    return (kind, *sorted(ends)), protocols


def name(text):
    """A name of DNS as both write it: no last dot, lower case."""
    return "" if text == "<Root>" else text.lower().rstrip(".")


def tls(row, protocols, add):
    service = "quic" if "quic" in protocols else "tls"
    if "dtls" in protocols or "eap" in protocols and service == "tls":
        return
    kinds = set(row["tls.handshake.type"])
    if service == "quic":
        if "1" not in kinds:
            return
        for version in row["quic.version"][:1]:
            add("quic.version", version.lower())
    if "1" in kinds:
        for value in row["tls.handshake.extensions_server_name"]:
            add(f"{service}.sni", value)
        for value in row["tls.handshake.ja3"]:
            add(f"{service}.ja3", value)
        if "2" not in kinds and "8" not in kinds:
            for value in row["tls.handshake.extensions_alpn_str"]:
                add(f"{service}.client_alpn", value)
    if service == "quic":
        return
    if "2" in kinds and "1" not in kinds:
        versions = row["tls.handshake.extensions.supported_version"] or row["tls.handshake.version"]
        for value in versions[:1]:
            add("tls.version", int(value, 16))
        for value in row["tls.handshake.ciphersuite"][:1]:
            add("tls.cipher", int(value, 0))
        for value in row["tls.handshake.extensions_alpn_str"]:
            add("tls.alpn", value)
    for value in row["tls.alert_message.desc"]:
        add("tls.alert", int(value))
    # A client's certificate comes with its key exchange (16) or a proof (15).
    if "11" in kinds and not kinds & {"15", "16"} and row["tls.handshake.certificate"]:
        der = bytes.fromhex(row["tls.handshake.certificate"][0].replace(":", ""))
        add("tls.certificate.sha256", hashlib.sha256(der).hexdigest())
        for kind, value in certificate_facts(der):
            add("tls.certificate." + kind, value)


def dns(row, protocols, add):
    ids, responses = row["dns.id"], row["dns.flags.response"]
    service = next((one for one in reversed(protocols) if one in QUERY_SERVICES), None)
    if service is None or len(ids) != 1 or "http2" in protocols:
        return
    number = int(ids[0], 16)
    is_response = responses[:1] == ["1"] or responses[:1] == ["True"]
    for asked, kind in list(zip(row["dns.qry.name"], row["dns.qry.type"]))[:1]:
        if not is_response:
            add(f"{service}.question", (name(asked), int(kind)))
    if not is_response:
        return
    add(f"{service}.rcode", (number, int(row["dns.flags.rcode"][0]))) if row["dns.flags.rcode"] else None
    for field, short in (("authoritative", "aa"), ("truncated", "tc"), ("recavail", "ra")):
        for value in row[f"dns.flags.{field}"][:1]:
            add(f"{service}.{short}", (number, value in ("1", "True")))
    count = int(row["dns.count.answers"][0]) if row["dns.count.answers"] else 0
    add(f"{service}.answer_count", (number, count))
    left = {field: list(row[field]) for field in DATA.values()}
    left["dns.txt"] = list(row["dns.txt"])
    # Records of SRV have their name elsewhere, and are left out.
    owners, kinds = iter(row["dns.resp.name"]), row["dns.resp.type"]
    owners = [next(owners, "") if kind != "33" else None for kind in kinds]
    for owner, kind, ttl in list(zip(owners, kinds, row["dns.resp.ttl"]))[:min(count, 32)]:
        kind, value = int(kind), None
        if owner is None:
            continue
        if kind in DATA and left[DATA[kind]]:
            value = left[DATA[kind]].pop(0)
            value = str(ipaddress.ip_address(value)) if kind in (1, 28) else name(value)
        add(f"{service}.answer", (name(owner), kind, int(ttl), value))


def http(row, protocols, add):
    if "ssdp" in protocols or "tls" in protocols or "udp" in protocols[-3:]:
        # HTTP over UDP, and what tshark decrypts with keys in the capture.
        return
    if not row["http.request.method"] and not row["http.response.code"]:
        return
    for method, target in zip(row["http.request.method"], row["http.request.uri"]):
        add("http.request", f"{method} {target}")
    for value in row["http.response.code"]:
        if value != "100":
            add("http.status", int(value))
    if row["http.response.code"] == ["100"]:
        # Responses before the last one are no transactions.
        return
    sole = "request" if not row["http.response.code"] else "response" if not row["http.request.method"] else None
    of_request = {"http.host": "host", "http.user_agent": "user_agent", "http.referer": "referrer", "http.content_type": "request_type"}
    of_response = {"http.server": "server", "http.location": "location", "http.content_type": "content_type", "http.response.phrase": "reason"}
    for field, kind in {"request": of_request, "response": of_response}.get(sole, {}).items():
        for value in row[field]:
            add("http." + kind, re.sub(r":\d*$", "", value.strip()) if kind == "host" else value.strip())


def lines(row, add):
    for command, argument in zip(row["smtp.req.command"], row["smtp.req.parameter"]):
        command = command.upper()
        if command in ("EHLO", "HELO"):
            add("smtp.client", argument)
        elif command in ("MAIL", "RCPT"):
            found = re.search(r"<([^>]*)>", argument)
            add("smtp.mail_from" if command == "MAIL" else "smtp.rcpt_to", found[1] if found else argument.partition(":")[2].strip())
    if len(row["ftp.request.command"]) == 1:
        command, argument = row["ftp.request.command"][0].upper(), "".join(row["ftp.request.arg"][:1])
        if command == "USER":
            add("ftp.user", argument)
        elif command in FTP:
            add("ftp.command", f"{command} {argument}")
    for value in row["ssh.protocol"]:
        add("ssh.software", value.strip())
    for value in row["ssh.kex.hassh"]:
        add("ssh.hassh", value)
    for value in row["ssh.kex.hasshserver"]:
        add("ssh.hassh_server", value)


def datagrams(row, add):
    if row["dhcp.option.dhcp"] or row["dhcp.id"]:
        add("dhcp.message", tuple(int(value) for value in row["dhcp.option.dhcp"][:1]))
        fields = {"dhcp.hw.mac_addr": "client_mac", "dhcp.option.hostname": "host_name", "dhcp.option.vendor_class_id": "vendor_class",
                  "dhcp.option.requested_ip_address": "requested", "dhcp.ip.your": "assigned", "dhcp.option.dhcp_server_id": "server",
                  "dhcp.option.domain_name": "domain", "dhcp.option.ip_address_lease_time": "lease"}
        for field, kind in fields.items():
            for value in row[field][:1]:
                if (kind, value) != ("assigned", "0.0.0.0"):
                    add("dhcp." + kind, value)
        for value in row["dhcp.id"][:1]:
            add("dhcp.id", int(value, 16))
    for mode, version in zip(row["ntp.flags.mode"], row["ntp.flags.vn"]):
        if mode in "1245":
            add("ntp.version", (int(mode), int(version)))
            for value in row["ntp.stratum"]:
                add("ntp.stratum", (int(mode), int(value, 0)))
    for value in row["socks.remote_name"]:
        add("socks.host", value)
    for value in row["socks.command"]:
        add("socks.command", int(value))


def facts(rows):
    found = set()
    for row in rows:
        ends, protocols = conversation(row)
        if ends is None:
            continue
        def add(kind, value):
            found.add((ends, kind, value))
        tls(row, protocols, add)
        dns(row, protocols, add)
        http(row, protocols, add)
        lines(row, add)
        datagrams(row, add)
    return found
