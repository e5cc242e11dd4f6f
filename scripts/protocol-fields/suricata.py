"""Values of fields that the checks of Suricata's test suite expect of some record: facts of a capture."""
import json, re

# Members of EVE with one value, and the same here.
MEMBERS = {
    "http.hostname": "http.host", "http.status": "http.status", "http.http_user_agent": "http.user_agent",
    "http.http_content_type": "http.content_type", "http.http_refer": "http.referrer", "http.redirect": "http.location",
    "tls.sni": "tls.sni", "tls.ja3.hash": "tls.ja3", "tls.ja4": "tls.ja4", "tls.subject": "tls.certificate.subject",
    "tls.version": "tls.version", "quic.ja4": "quic.ja4", "quic.sni": "quic.sni", "quic.ja3.hash": "quic.ja3",
    "smtp.helo": "smtp.client", "smtp.mail_from": "smtp.mail_from", "smtp.rcpt_to": "smtp.rcpt_to",
    "dhcp.client_mac": "dhcp.client_mac", "dhcp.hostname": "dhcp.host_name", "dhcp.id": "dhcp.id", "dhcp.assigned_ip": "dhcp.assigned",
    "dns.rrname": "dns.query", "dns.queries.rrname": "dns.query",
}
VERSIONS = {"SSLv3": 0x300, "TLSv1": 0x301, "TLS 1.1": 0x302, "TLS 1.2": 0x303, "TLS 1.3": 0x304}


def name(path):
    """The test that a file belongs to."""
    return path.split("/suricata-verify/")[-1].split("suricata-verify/tests/")[-1].rsplit("/", 1)[0]


def checks(path):
    """The facts that each test expects; tests whose options change what Suricata looks at are left out."""
    found = {}
    for test in json.load(open(path)):
        if re.search("--set|--simulate-ips|exception-policy", f"{test['args']} {test['test']}"):
            continue
        facts = found.setdefault(test["test"], set())
        for check in test["checks"] or []:
            wanted = check.get("filter", {})
            match = wanted.get("match") or {}
            # What must not be there says nothing, nor do versions of HTTP that are not read here.
            if wanted.get("count") == 0 or str(match.get("http.version", "")).startswith("2") or any("http2" in key for key in match):
                continue
            if match.get("event_type") not in ("http", "tls", "quic", "smtp", "dhcp", "dns", "ssh"):
                continue
            for key, value in match.items():
                field = MEMBERS.get(re.sub(r"\[\d+\]", "", key))
                if field is None:
                    continue
                if field == "tls.version":
                    draft = re.fullmatch(r"TLS 1.3 draft-(\d+)", value)
                    value = 0x7f00 + int(draft[1]) if draft else VERSIONS.get(value, value)
                if field.startswith("smtp."):
                    value = value.strip("<>")
                facts.add((None, field, int(value) if field == "http.status" else value))
    return found
