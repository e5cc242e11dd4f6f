"""What `tidewire transactions --json` finds, as the same facts: (conversation, kind, value)."""
import functools, ipaddress, json, re, subprocess

RCODES = {"NOERROR": 0, "FORMERR": 1, "SERVFAIL": 2, "NXDOMAIN": 3, "NOTIMP": 4, "REFUSED": 5, "YXDOMAIN": 6, "YXRRSET": 7, "NXRRSET": 8,
          "NOTAUTH": 9, "NOTZONE": 10, "DSOTYPENI": 11, "BADVERS": 16}
MESSAGES = {name: number for number, name in enumerate("DISCOVER OFFER REQUEST DECLINE ACK NAK RELEASE INFORM FORCERENEW LEASEQUERY "
            "LEASEUNASSIGNED LEASEUNKNOWN LEASEACTIVE BULKLEASEQUERY LEASEQUERYDONE".split(), 1)}
VERSIONS = {"SSL 2.0": 2, "SSL 3.0": 0x300, "TLS 1.0": 0x301, "TLS 1.1": 0x302, "TLS 1.2": 0x303, "TLS 1.3": 0x304}


@functools.cache
def numbers(field):
    """tshark's names of a field's values, and their numbers."""
    lines = subprocess.run(["tshark", "-G", "values"], capture_output=True).stdout.decode(errors="replace").splitlines()
    rows = [line.split("\t") for line in lines if line.startswith("V\t" + field + "\t")]
    return {row[3].split(" ")[0].upper(): int(row[2], 0) for row in rows}


def cipher(text):
    return int(text, 16) if text.startswith("0x") else numbers("tls.handshake.ciphersuite").get(text.upper(), text)


def dns_type(text):
    return int(text[4:]) if re.fullmatch(r"TYPE\d+", text) else numbers("dns.qry.type").get("*" if text == "ANY" else text, text)


def version(text):
    draft = re.fullmatch(r"TLS 1.3 draft (\d+)", text)
    return 0x7f00 + int(draft[1]) if draft else VERSIONS[text] if text in VERSIONS else int(text, 16)


def unescaped(name):
    """A name of DNS with the bytes that are escaped in presentation format, without its last dot."""
    plain = "" if name == "." else re.sub(r"\\(\d{3}|.)", lambda found: chr(int(found[1])) if len(found[1]) == 3 else found[1], name)
    try:
        # Names of mDNS are UTF-8 (RFC 6762 section 16).
        return plain.encode("latin-1").decode()
    except UnicodeError:
        return plain


def data(kind, text):
    """An answer's data as tshark's fields have it; None for types that are not compared."""
    if kind in (1, 28):
        return str(ipaddress.ip_address(text)) if not text.startswith("\\#") else None
    if kind in (2, 5, 12):
        return unescaped(text).lower()
    return unescaped(text.split(" ")[-1]).lower() if kind in (15, 33) else None


def tls(fields, add):
    for kind in ("sni", "ja3", "ja4", "alpn", "alert"):
        if kind in fields:
            add("tls." + kind, fields[kind])
    for value in fields.get("client_alpn", []):
        add("tls.client_alpn", value)
    if "version" in fields:
        add("tls.version", version(fields["version"]))
        if "cipher" in fields:
            add("tls.cipher", cipher(fields["cipher"]))
    certificate = fields.get("certificate", {})
    for kind, value in certificate.items():
        if kind == "san":
            for name in value:
                add("tls.certificate.san", name)
        elif kind == "serial":
            add("tls.certificate.serial", int.from_bytes(bytes.fromhex(value), "big", signed=True))
        else:
            add("tls.certificate." + kind, value)


def dns(service, fields, add):
    kind = dns_type(fields["type"]) if "type" in fields else None
    query = unescaped(fields.get("query", "")).lower()
    add(f"{service}.query", query)
    if fields["asked"] and kind is not None:
        add(f"{service}.question", (query, kind))
    if not fields["answered"]:
        return
    number = fields["id"]
    rcode = fields["rcode"]
    # The upper bits, which EDNS has, are not in tshark's field.
    add(f"{service}.rcode", (number, (RCODES[rcode] if rcode in RCODES else int(re.sub(r"\D", "", rcode) or 16)) & 15))
    for flag in ("aa", "tc", "ra"):
        add(f"{service}.{flag}", (number, fields[flag]))
    add(f"{service}.answer_count", (number, fields["answer_count"]))
    for answer in fields["answers"]:
        kind = dns_type(answer["type"])
        if kind == 33:
            continue
        add(f"{service}.answer", (unescaped(answer["name"]).lower(), kind, answer["ttl"], data(kind, answer["data"])))


def http(fields, add):
    if "method" in fields:
        add("http.request", f"{fields['method']} {fields['path']}")
    for kind in ("status", "host", "user_agent", "referrer", "request_type", "content_type", "server", "location", "reason"):
        if kind in fields:
            add("http." + kind, fields[kind])


def others(service, fields, add):
    if service == "ssh":
        for side in ("client", "server"):
            if side + "_version" in fields:
                software = fields.get(side + "_software")
                add("ssh.software", f"SSH-{fields[side + '_version']}" + ("" if software is None else "-" + software))
    lists = {"rcpt_to": "rcpt_to", "commands": "command", "client_alpn": "client_alpn"}
    for name, value in fields.items():
        if name in lists:
            for one in value:
                add(f"{service}.{lists[name]}", one)
        elif not (service == "ssh" and name.endswith(("_version", "_software"))):
            add(f"{service}.{name}", value)


def datagrams(service, fields, add):
    if service == "ntp":
        if fields["mode"] != 3:
            add("ntp.version", (fields["mode"], fields["version"]))
            add("ntp.stratum", (fields["mode"], fields["stratum"]))
        return
    kinds = MESSAGES
    message = fields.pop("message", None)
    add("dhcp.message", () if message is None else (int(message) if message.isdigit() else kinds.get(message, message),))
    for name, value in fields.items():
        add("dhcp." + name, str(value) if name == "lease" else value)


def facts(tidewire, path, options=()):
    found, count = set(), 0
    output = subprocess.run([tidewire, "transactions", "--json", *options, path], capture_output=True, timeout=300).stdout
    for line in output.decode(errors="replace").splitlines():
        one = json.loads(line)
        count += 1
        ends = (one["proto"], *sorted(f"{one[side]['addr']}|{one[side]['port']}" for side in ("client", "server")))
        def add(kind, value):
            found.add((ends, kind, value))
        service, fields = one["service"], one[one["service"]]
        add("service", service)
        if service == "tls":
            tls(fields, add)
        elif service == "quic":
            for kind in ("sni", "ja3", "ja4"):
                if kind in fields:
                    add("quic." + kind, fields[kind])
            for value in fields.get("client_alpn", []):
                add("quic.client_alpn", value)
            text = fields["version"]
            draft = re.fullmatch(r"draft (\d+)", text)
            number = 0xff000000 + int(draft[1]) if draft else {"2": 0x6b3343cf}.get(text) or int(text, 0)
            if "client_version" in fields:
                add("quic.version", f"0x{number:08x}")
        elif service in ("dns", "mdns", "llmnr"):
            dns(service, fields, add)
        elif service == "http":
            http(fields, add)
        elif service in ("ntp", "dhcp"):
            datagrams(service, fields, add)
        else:
            others(service, fields, add)
    return found, count
