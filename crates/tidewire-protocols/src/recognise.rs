//! Which protocol a stream speaks: by content first, by port where the content leaves a choice.

use crate::{
    dhcp, dns,
    input::{Input, Ports},
    leads::{self, Lead},
    ntp, socks,
    value::Service,
};

/// Bytes of a direction that are kept at most until its protocol is known.
pub(crate) const BYTES_MAX: usize = 512;

/// Ends of empty lines that may come before a message of HTTP.
const EMPTY_BYTES_MAX: usize = 4;

/// What the first bytes of a stream show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A protocol, and whether its client is the other side than the stream's.
    Is { service: Service, swapped: bool },
    /// What leads into TLS, likewise.
    Leads { lead: Lead, swapped: bool },
    /// More bytes may decide.
    Open,
    /// None that is known.
    Unknown,
}

/// What the first bytes of a stream are.
pub(crate) enum First {
    /// A datagram, of a known protocol or of a flow that is worth another look.
    Datagram(Option<Service>),
    Stream(Verdict),
}

/// The first bytes of a stream. `None`: they are none of a known protocol, and what follows is not worth a look.
pub(crate) fn first(input: &Input<'_>, ports: Ports) -> Option<First> {
    if input.is_datagram {
        let service = datagram(input.bytes, ports);
        return (service.is_some() || may_follow(input.bytes, ports)).then_some(First::Datagram(service));
    }
    let mut both: [&[u8]; 2] = [&[]; 2];
    both[input.side] = input.bytes;
    Some(stream(both, ports)).filter(|verdict| *verdict != Verdict::Unknown).map(First::Stream)
}

/// What one direction's bytes show.
enum Look {
    Client(Service),
    Server(Service),
    Either(Service),
    Open,
    Unknown,
}

/// The first bytes of both directions of a byte stream, client first. Both sides of every protocol here are known by their
/// beginning, so that one side that is not decides.
pub(crate) fn stream(bytes: [&[u8]; 2], ports: Ports) -> Verdict {
    match service(bytes, ports) {
        Verdict::Unknown => lead(bytes),
        verdict => verdict,
    }
}

/// What leads into TLS: one side decides, and the other one must not be something else.
fn lead(bytes: [&[u8]; 2]) -> Verdict {
    let looks = bytes.map(|bytes| leads::look(&bytes[..bytes.len().min(BYTES_MAX)]));
    for side in [0, 1] {
        let (lead, swapped) = match looks[side] {
            leads::Look::Client(lead) => (lead, side == 1),
            leads::Look::Server(lead) => (lead, side == 0),
            _ => continue,
        };
        return Verdict::Leads { lead, swapped };
    }
    if looks.contains(&leads::Look::Unknown) { Verdict::Unknown } else { Verdict::Open }
}

fn service(bytes: [&[u8]; 2], ports: Ports) -> Verdict {
    for side in [0, 1] {
        if ftp_session(bytes[side], bytes[1 - side]) {
            return Verdict::Is { service: Service::Ftp, swapped: side == 1 };
        }
    }
    for side in [0, 1] {
        // Later bytes change nothing, so that the verdict is the same however the stream was cut.
        let [one, other] = [side, 1 - side].map(|side| &bytes[side][..bytes[side].len().min(BYTES_MAX)]);
        let (service, swapped) = match look(one, ports) {
            Look::Client(service) => (service, side == 1),
            Look::Server(service) => (service, side == 0),
            Look::Either(service) => (service, false),
            Look::Unknown => return Verdict::Unknown,
            Look::Open => continue,
        };
        // What the other side began to say must be of the same protocol.
        let is_alike = other.is_empty() || !matches!(look_for(service, other, ports), Look::Unknown);
        return if is_alike { Verdict::Is { service, swapped } } else { Verdict::Unknown };
    }
    Verdict::Open
}

/// The payload of a datagram.
pub(crate) fn datagram(bytes: &[u8], ports: Ports) -> Option<Service> {
    #[cfg(feature = "quic")]
    if crate::quic::is_initial(bytes) {
        return Some(Service::Quic);
    }
    let by_port = [ports.server, ports.client].into_iter().find_map(|port| match port {
        53 => Some(Service::Dns),
        123 => Some(Service::Ntp),
        5353 => Some(Service::Mdns),
        5355 => Some(Service::Llmnr),
        _ => None,
    });
    match by_port {
        _ if dhcp::is_message(bytes) => Some(Service::Dhcp),
        Some(Service::Ntp) => ntp::is_message(bytes).then_some(Service::Ntp),
        Some(service) => dns::is_message(bytes).then_some(service),
        // NetBIOS names look like DNS, and are encoded.
        None if [ports.server, ports.client].contains(&137) => None,
        None => dns::is_whole_message(bytes).then_some(Service::Dns),
    }
}

/// Whether datagrams of a flow are worth a look though this one was not known.
fn may_follow(bytes: &[u8], ports: Ports) -> bool {
    #[cfg(feature = "quic")]
    if crate::quic::is_long(bytes) {
        return true;
    }
    #[cfg(not(feature = "quic"))]
    let _ = bytes;
    [ports.client, ports.server].iter().any(|port| matches!(port, 53 | 5353 | 5355))
}

fn look(bytes: &[u8], ports: Ports) -> Look {
    // What may still be one of the first ones is not one of the others, so that the verdict is the same however the bytes were cut.
    let is_all = bytes.len() >= BYTES_MAX;
    let decides = |look: &Look| match look {
        Look::Unknown => false,
        Look::Open => !is_all,
        _ => true,
    };
    let looks: [fn(&[u8], Ports) -> Look; 6] =
        [|bytes, _| tls(bytes), |bytes, _| http(bytes), |bytes, _| ssh(bytes), lines, proxy, dns_message];
    looks.into_iter().map(|look| look(bytes, ports)).find(decides).unwrap_or(Look::Unknown)
}

/// What bytes show of one protocol.
fn look_for(service: Service, bytes: &[u8], ports: Ports) -> Look {
    match service {
        Service::Tls => tls(bytes),
        Service::Http => http(bytes),
        Service::Ssh => ssh(bytes),
        Service::Smtp | Service::Ftp => lines(bytes, ports),
        // A proxy says nothing before its client.
        Service::Socks => Look::Unknown,
        _ => dns_message(bytes, ports),
    }
}

/// Whether `bytes` begin with `pattern`, or are its beginning.
fn begins(bytes: &[u8], pattern: &[u8]) -> Option<bool> {
    let common = bytes.len().min(pattern.len());
    (bytes[..common] == pattern[..common]).then_some(common == pattern.len())
}

/// The same for a word in capital or small letters.
fn begins_word(bytes: &[u8], pattern: &[u8]) -> Option<bool> {
    let common = bytes.len().min(pattern.len());
    bytes[..common].eq_ignore_ascii_case(&pattern[..common]).then_some(common == pattern.len())
}

/// A record of the handshake protocol with a hello in it (RFC 8446 sections 5.1 and 4), or a hello of SSL 2.0.
fn tls(bytes: &[u8]) -> Look {
    let [kind, rest @ ..] = bytes else { return Look::Open };
    if kind & 0x80 != 0 {
        return match crate::tls::old_hello(bytes) {
            Some(Some(1)) => Look::Client(Service::Tls),
            Some(Some(_)) => Look::Server(Service::Tls),
            Some(None) => Look::Open,
            None => Look::Unknown,
        };
    }
    if *kind != 22 || rest.first().is_some_and(|&major| major != 3) || rest.get(1).is_some_and(|&minor| minor > 4) {
        return Look::Unknown;
    }
    match rest.get(4) {
        Some(1) => Look::Client(Service::Tls),
        Some(2) => Look::Server(Service::Tls),
        Some(_) => Look::Unknown,
        None => Look::Open,
    }
}

/// Methods of RFC 9110, of WebDAV (RFC 4918, RFC 3253, RFC 3744) and of caches.
const METHODS: [&[u8]; 27] = [
    b"GET ",
    b"QUERY ",
    b"POST ",
    b"HEAD ",
    b"PUT ",
    b"DELETE ",
    b"OPTIONS ",
    b"PATCH ",
    b"CONNECT ",
    b"TRACE ",
    b"PROPFIND ",
    b"PROPPATCH ",
    b"MKCOL ",
    b"COPY ",
    b"MOVE ",
    b"LOCK ",
    b"UNLOCK ",
    b"REPORT ",
    b"SEARCH ",
    b"MKACTIVITY ",
    b"CHECKOUT ",
    b"MERGE ",
    b"ACL ",
    b"PURGE ",
    b"BCOPY ",
    b"NOTIFY ",
    b"SUBSCRIBE ",
];

/// Longest method that is recognised by its request line alone.
const METHOD_BYTES_MAX: usize = 32;

/// A request line or a status line (RFC 9112 sections 3 and 4), behind empty lines (section 2.2); the dissector looks at the rest of it.
fn http(bytes: &[u8]) -> Look {
    let empty = bytes.iter().take(EMPTY_BYTES_MAX).take_while(|byte| b"\r\n".contains(byte)).count();
    let bytes = &bytes[empty..];
    if !bytes.first().is_none_or(u8::is_ascii_uppercase) {
        return Look::Unknown;
    }
    if METHODS.iter().any(|method| bytes.starts_with(method)) {
        return Look::Client(Service::Http);
    }
    match begins(bytes, b"HTTP/") {
        Some(true) => return Look::Server(Service::Http),
        Some(false) => return Look::Open,
        None => {}
    }
    // Any other method: the whole line shows it.
    let method = bytes
        .iter()
        .take(METHOD_BYTES_MAX)
        .take_while(|&&byte| byte.is_ascii_uppercase() || b"-_".contains(&byte))
        .count();
    match (bytes.get(method), memchr::memchr(b'\n', bytes)) {
        (None, _) if method < METHOD_BYTES_MAX => Look::Open,
        (Some(b' '), None) => Look::Open,
        (Some(b' '), Some(end)) if is_request_line(&bytes[..end]) => Look::Client(Service::Http),
        _ => Look::Unknown,
    }
}

/// Whether a line ends with a version of HTTP/1.
fn is_request_line(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    line.len() > 9
        && matches!(&line[line.len() - 9..], [b' ', b'H', b'T', b'T', b'P', b'/', b'1', b'.', digit] if digit.is_ascii_digit())
}

/// The identification (RFC 4253 section 4.2).
fn ssh(bytes: &[u8]) -> Look {
    match begins(bytes, b"SSH-") {
        Some(true) => Look::Either(Service::Ssh),
        Some(false) => Look::Open,
        None => Look::Unknown,
    }
}

/// A greeting of SMTP or FTP, which differ by the port or by what the greeting says; or a client's first command.
fn lines(bytes: &[u8], ports: Ports) -> Look {
    let is_on = |wanted: &[u16]| [ports.server, ports.client].iter().any(|port| wanted.contains(port));
    let (is_smtp, is_ftp) = (is_on(&[25, 465, 587, 2525]), is_on(&[21]));
    let mut open = false;
    for command in [b"EHLO ", b"HELO "] {
        match begins_word(bytes, command) {
            Some(true) => return Look::Client(Service::Smtp),
            Some(false) => open = true,
            None => {}
        }
    }
    // Commands that other protocols have, too.
    for (command, service) in [(&b"AUTH "[..], Service::Ftp), (b"USER ", Service::Ftp), (b"STARTTLS", Service::Smtp)] {
        let is_known = if service == Service::Ftp { is_ftp } else { is_smtp };
        match begins_word(bytes, command) {
            Some(true) if is_known => return Look::Client(service),
            Some(false) if is_known => open = true,
            _ => {}
        }
    }
    match begins(bytes, b"220") {
        Some(true) => {}
        Some(false) => return Look::Open,
        None if open => return Look::Open,
        None => return Look::Unknown,
    }
    match bytes.get(3) {
        None => return Look::Open,
        Some(b' ' | b'-') => {}
        Some(_) => return Look::Unknown,
    }
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let says = |word: &[u8]| line.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word));
    match (is_smtp, is_ftp) {
        (true, _) => Look::Server(Service::Smtp),
        (_, true) => Look::Server(Service::Ftp),
        _ if line.len() == bytes.len() => Look::Open,
        _ if says(b"SMTP") => Look::Server(Service::Smtp),
        _ if says(b"FTP") => Look::Server(Service::Ftp),
        // The client's first command decides.
        _ => Look::Open,
    }
}

/// Whether a greeting `220` of one side and a command of the other show FTP, which nothing else does.
fn ftp_session(client: &[u8], server: &[u8]) -> bool {
    let is_greeting = matches!(server, [b'2', b'2', b'0', b' ' | b'-', ..]) && server.contains(&b'\n');
    is_greeting
        && [&b"USER "[..], b"AUTH TLS", b"AUTH SSL"]
            .into_iter()
            .any(|command| begins_word(client, command) == Some(true))
}

/// A client's first message to a SOCKS proxy.
fn proxy(bytes: &[u8], ports: Ports) -> Look {
    if ports.server == 53 || ports.client == 53 {
        return Look::Unknown;
    }
    match socks::begins(bytes) {
        Some(true) => Look::Client(Service::Socks),
        Some(false) => Look::Open,
        None => Look::Unknown,
    }
}

/// A message behind its length (RFC 1035 section 4.2.2). Elsewhere than on its port the whole question must be there.
fn dns_message(bytes: &[u8], ports: Ports) -> Look {
    let is_port = ports.server == 53 || ports.client == 53;
    let Some((length, message)) = bytes.split_first_chunk::<2>() else { return Look::Open };
    let length = usize::from(u16::from_be_bytes(*length));
    let is_lead = || matches!(leads::look(bytes), leads::Look::Client(_) | leads::Look::Server(_));
    if length < dns::HEADER_BYTES || !dns::may_be_header(message) || is_lead() {
        return Look::Unknown;
    }
    if message.len() < dns::HEADER_BYTES {
        return Look::Open;
    }
    if is_port {
        return Look::Either(Service::Dns);
    }
    match message.get(..length) {
        Some(message) if dns::is_whole_message(message) => Look::Either(Service::Dns),
        Some(_) => Look::Unknown,
        None => Look::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_PORTS: Ports = Ports { client: 0, server: 0 };

    #[test]
    fn first_bytes_decide() {
        let is = |service, swapped| Verdict::Is { service, swapped };
        assert_eq!(stream([b"\x16\x03\x01\x00\xc8\x01", b""], NO_PORTS), is(Service::Tls, false));
        assert_eq!(stream([b"\x16\x03\x01\x00\xc8\x02", b""], NO_PORTS), is(Service::Tls, true));
        assert_eq!(stream([b"", b"GET /"], NO_PORTS), is(Service::Http, true));
        assert_eq!(stream([b"", b"SSH-2.0-x"], NO_PORTS), is(Service::Ssh, false));
        assert_eq!(stream([b"", b"SS"], NO_PORTS), Verdict::Open);
        assert_eq!(stream([b"\x13BitTorrent protocol", b"\x13BitTorrent"], NO_PORTS), Verdict::Unknown);
    }

    #[test]
    fn a_decision_is_made_in_the_end() {
        let bytes = [b'x'; BYTES_MAX];
        for first in [b"OPTION".as_slice(), b"\x16\x03", b"\x00\x40\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"] {
            let mut both = bytes;
            both[..first.len()].copy_from_slice(first);
            // As much as is ever kept.
            assert_ne!(stream([&both, &both], NO_PORTS), Verdict::Open);
        }
    }
}
