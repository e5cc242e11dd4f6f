"""Fields that test suites of other programs expect, as facts of conversations: nDPI's flow lists, Arkime's sessions, Zeek's logs."""
import ipaddress, json, os, re

ZEEK_LOGS = ("conn", "dns", "http", "ssl", "ssh", "quic", "smtp", "ftp", "ntp", "socks")
SERVICES = {"TLS": "tls", "HTTP": "http", "DNS": "dns", "MDNS": "mdns", "LLMNR": "llmnr", "QUIC": "quic", "SSH": "ssh", "NTP": "ntp",
            "DHCP": "dhcp", "SMTP": "smtp", "FTP_CONTROL": "ftp", "SOCKS": "socks"}
ZEEK_SERVICES = {"ssl": "tls", "http": "http", "dns": "dns", "quic": "quic", "ssh": "ssh", "ntp": "ntp", "dhcp": "dhcp", "smtp": "smtp",
                 "ftp": "ftp", "socks": "socks"}
ZEEK_VERSIONS = {"SSLv3": 0x300, "TLSv10": 0x301, "TLSv11": 0x302, "TLSv12": 0x303, "TLSv13": 0x304}


def ends(kind, *addresses):
    return (kind, *sorted(f"{ipaddress.ip_address(address)}|{port}" for address, port in addresses))


def ndpi(path):
    """Names and fingerprints in nDPI's list of flows."""
    found = set()
    for line in open(path, errors="replace"):
        flow = re.match(r"\s+\d+\s+(TCP|UDP) (?:\[)?([0-9a-fA-F.:]+?)\]?:(\d+) <?-> \[?([0-9a-fA-F.:]+?)\]?:(\d+) \[", line)
        if not flow:
            continue
        try:
            where = ends(flow[1].lower(), (flow[2], flow[3]), (flow[4], flow[5]))
        except ValueError:
            continue
        # The last of the names within each other is an application's; the first ones are protocols.
        named = set(re.search(r"\[proto: ([^\]]*)\]", line)[1].split("/")[-1].split("."))
        service = next((SERVICES[name] for name in SERVICES if name in named), None)
        if service:
            found.add((where, "service", service))
        for name, pattern in {"ja3": r"\[JA3C: ([0-9a-f]{32})\]", "ja4": r"\[JA4: (\w+)\]"}.items():
            for value in re.findall(pattern, line):
                found.add((where, ("quic" if service == "quic" else "tls") + "." + name, value))
        fields = {"tls": {"Hostname/SNI": "sni"}, "quic": {"Hostname/SNI": "sni"},
                  "http": {"StatusCode": "status", "Content-Type": "content_type", "Server": "server", "User-Agent": "user_agent"}}
        for title, name in fields.get(service, {}).items():
            value = re.search(rf"\[{title}: ([^\]]*)\]", line)
            if value and value[1]:
                found.add((where, f"{service}.{name}", int(value[1]) if name == "status" else value[1]))
    return found


def arkime(path):
    """Sessions of Arkime: what they list without an order."""
    found = set()
    for session in json.load(open(path)).get("sessions3", []):
        body = session["body"]
        kind = {6: "tcp", 17: "udp"}.get(body.get("ipProtocol"))
        if kind is None or "source" not in body:
            continue
        where = ends(kind, *((body[side]["ip"], body[side]["port"]) for side in ("source", "destination")))
        lists = {"tls.ja3": ("tls", "ja3"), "tls.ja4": ("tls", "ja4"), "ssh.hassh": ("ssh", "hassh"), "ssh.hassh_server": ("ssh", "hasshServer"),
                 "http.status": ("http", "statuscode"), "http.user_agent": ("http", "useragent"), "smtp.client": ("email", "smtpHello")}
        for name, (group, field) in lists.items():
            for value in body.get(group, {}).get(field, []):
                if value not in (100, ""):
                    found.add((where, name, value))
        for protocol in body.get("protocol", []):
            if protocol in ZEEK_SERVICES.values():
                found.add((where, "service", protocol))
        # Several have no order.
        certificates = body.get("cert", [])
        for certificate in certificates if len(certificates) == 1 else []:
            found.add((where, "tls.certificate.not_after", certificate["notAfter"] // 1000))
            found.add((where, "tls.certificate.not_before", certificate["notBefore"] // 1000))
            found.add((where, "tls.certificate.serial", int.from_bytes(bytes.fromhex(certificate["serial"]), "big", signed=True)))
        for query in body.get("dns", []):
            if isinstance(query, dict) and query.get("queryHost"):
                # They have multicast among the others.
                service = "mdns" if any(end.endswith("|5353") for end in where[1:]) else "dns"
                found.add((where, service + ".query", query["queryHost"].lower()))
    return found


def rows(path):
    """The records of a log of Zeek in tab-separated values."""
    names = []
    for line in open(path, errors="surrogateescape"):
        line = line.rstrip("\n")
        if line.startswith("#fields"):
            names = line.split("\t")[1:]
        elif not line.startswith("#") and names:
            values = [re.sub(r"\\x([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), value) for value in line.split("\t")]
            yield {name: value for name, value in zip(names, values) if value not in ("-", "(empty)")}


def zeek(folder):
    """Zeek's logs in a folder."""
    found = set()
    for log in ZEEK_LOGS:
        path = os.path.join(folder, log + ".log")
        for row in rows(path) if os.path.exists(path) else ():
            if "id.orig_h" not in row or "id.resp_p" not in row:
                continue
            if row.get("proto", "tcp") not in ("tcp", "udp"):
                continue
            kind = row.get("proto") or {"quic": "udp", "ntp": "udp"}.get(log, "tcp")
            where = ends(kind, (row["id.orig_h"], row["id.orig_p"]), (row["id.resp_h"], row["id.resp_p"]))
            zeek_row(log, row, lambda name, value: found.add((where, name, value)))
    return found


def zeek_row(log, row, add):
    if log == "conn":
        for service in row.get("service", "").split(","):
            if service in ZEEK_SERVICES:
                add("service", {"5353": "mdns", "5355": "llmnr"}.get(row["id.resp_p"], "dns") if service == "dns" else ZEEK_SERVICES[service])
    elif log == "http":
        if "method" in row and "uri" in row:
            add("http.request", f"{row['method']} {row['uri']}")
        for field, name in {"status_code": "status", "status_msg": "reason", "user_agent": "user_agent", "referrer": "referrer", "host": "host"}.items():
            if field in row:
                add("http." + name, int(row[field]) if name == "status" else re.sub(r":\d+$", "", row[field]) if name == "host" else row[field])
    elif log == "dns":
        port = row["id.resp_p"]
        service = {"5353": "mdns", "5355": "llmnr"}.get(port, "dns")
        if port == "137":
            return
        if "query" in row and "qtype" in row:
            add(f"{service}.query", row["query"].lower())
            if "rcode" in row and "trans_id" in row:
                add(f"{service}.rcode", (int(row["trans_id"]), int(row["rcode"])))
    elif log == "ssl":
        if row.get("version") in ZEEK_VERSIONS and "cipher" in row:
            add("tls.version", ZEEK_VERSIONS[row["version"]])
        for field, name in {"server_name": "sni", "next_protocol": "alpn"}.items():
            if field in row:
                add("tls." + name, row[field])
    elif log == "ssh":
        for side in ("client", "server"):
            if side in row:
                add("ssh.software", row[side])
    elif log == "quic":
        if "server_name" in row:
            add("quic.sni", row["server_name"])
    elif log == "smtp":
        if "helo" in row:
            add("smtp.client", row["helo"])
    elif log == "ftp":
        if row.get("user", "<unknown>") not in ("<unknown>", "anonymous"):
            add("ftp.user", row["user"])
    elif log == "ntp":
        if row.get("mode") in ("1", "2", "4", "5"):
            add("ntp.stratum", (int(row["mode"]), int(row["stratum"])))
    elif log == "socks":
        if "request.name" in row or "request.host" in row:
            add("socks.host", row.get("request.name") or row["request.host"])
