//! Which protocol a stream speaks: by content first, by port where the content leaves a choice.

mod http;
mod lines;
mod ssh;
mod unanswered;

use crate::{
    dhcp, dns,
    input::{Input, Ports},
    leads::{self, Lead},
    look::{BYTES_MAX, Ends, Look, begins},
    ntp, socks,
    value::Service,
    work,
};

pub(crate) use unanswered::{Answer, Unanswered};

/// The verdict on the first bytes of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A protocol, and whether its client is the other side than the stream's.
    Is { service: Service, swapped: bool },
    /// A dialogue that leads into TLS, likewise.
    Leads { lead: Lead, swapped: bool },
    /// More bytes may decide.
    Open,
    /// The client's are of none that is known; the server may answer in HTTP.
    Unanswered(Unanswered),
    /// The client's are of none that is known, and the server answered in HTTP.
    Answered,
    /// None that is known.
    Unknown,
}

/// The finding about the first bytes of a stream.
pub(crate) enum First {
    /// A datagram, of a known protocol or of a flow that is worth another look.
    Datagram(Option<Service>),
    Stream(Verdict),
}

/// Looks at the first bytes of a stream. `None`: they are of no known protocol, and the stream is not worth another look.
pub(crate) fn first(input: &Input<'_>, ports: Ports) -> Option<First> {
    if input.is_datagram {
        let service = datagram(input.bytes, ports);
        return (service.is_some() || may_follow(input.bytes, ports)).then_some(First::Datagram(service));
    }
    let mut both: [&[u8]; 2] = [&[]; 2];
    both[input.side] = input.bytes;
    Some(stream(both, ports)).filter(|verdict| *verdict != Verdict::Unknown).map(First::Stream)
}

/// The first bytes of both directions of a byte stream, client first. Both sides of every protocol here are known by their
/// beginning, so that one side that is not decides; but servers of HTTP answer anything, and those of SSH may say anything first.
pub(crate) fn stream(bytes: [&[u8]; 2], ports: Ports) -> Verdict {
    bytes.iter().for_each(|bytes| work::add(bytes.len().min(BYTES_MAX)));
    let verdict = match service(bytes, ports) {
        Verdict::Unknown => lead(bytes),
        verdict => verdict,
    };
    let may_be_ftp = || [0, 1].into_iter().any(|side| lines::ftp_session(bytes[side], bytes[1 - side]).is_some());
    match verdict {
        Verdict::Unknown if may_be_ftp() => Verdict::Open,
        Verdict::Unknown if bytes[0].is_empty() || begins(bytes[0], b"SSH-").is_some() => {
            match ssh::behind_lines(bytes[1], false) {
                Look::Server(service) => Verdict::Is { service, swapped: false },
                Look::Open => Verdict::Open,
                _ => Verdict::Unknown,
            }
        }
        Verdict::Unknown => match Unanswered::of(bytes) {
            (unanswered, Answer::Open) => Verdict::Unanswered(unanswered),
            (_, Answer::Http(_)) => Verdict::Answered,
            (_, Answer::Unknown) => Verdict::Unknown,
        },
        verdict => verdict,
    }
}

/// Looks for a dialogue that leads into TLS: one side decides, and the other one must not contradict.
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
        if lines::ftp_session(bytes[side], bytes[1 - side]) == Some(true) {
            return Verdict::Is { service: Service::Ftp, swapped: side == 1 };
        }
    }
    for side in [0, 1] {
        // Later bytes change nothing, so that the verdict is the same however the stream was cut.
        let [one, other] = [side, 1 - side].map(|side| &bytes[side][..bytes[side].len().min(BYTES_MAX)]);
        let (service, swapped) = match look(one, Ends::of(side, ports)) {
            Look::Client(service) => (service, side == 1),
            Look::Server(service) => (service, side == 0),
            Look::Either(service) => (service, false),
            Look::Unknown => return Verdict::Unknown,
            Look::Open => continue,
        };
        // The first bytes of the other side must be of the same protocol.
        let is_alike =
            other.is_empty() || !matches!(look_for(service, other, Ends::of(1 - side, ports)), Look::Unknown);
        let is_answer = service == Service::Http && side == 1;
        return match (is_alike, begins(one, Unanswered::STATUS_LINE)) {
            (true, _) => Verdict::Is { service, swapped },
            // A status line decides where the client's bytes may be anything.
            (false, Some(true)) if is_answer => Verdict::Answered,
            (false, Some(false)) if is_answer => Verdict::Open,
            _ => Verdict::Unknown,
        };
    }
    Verdict::Open
}

/// The payload of a datagram.
pub(crate) fn datagram(bytes: &[u8], ports: Ports) -> Option<Service> {
    work::pass(bytes.len());
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

fn look(bytes: &[u8], ends: Ends) -> Look {
    // While a protocol at the front is possible, those behind it do not decide: so the verdict is the same however the bytes were cut.
    let is_all = bytes.len() >= BYTES_MAX;
    let decides = |look: &Look| match look {
        Look::Unknown => false,
        Look::Open => !is_all,
        _ => true,
    };
    let looks: [fn(&[u8], Ends) -> Look; 6] = [
        |bytes, _| tls(bytes),
        |bytes, _| http::look(bytes),
        |bytes, _| ssh::look(bytes),
        lines::look,
        proxy,
        dns_message,
    ];
    looks.into_iter().map(|look| look(bytes, ends)).find(decides).unwrap_or(Look::Unknown)
}

/// Looks at a side that speaks behind the other one, in a stream that was joined within a message: a finding needs bytes that cannot be
/// the rest of a message by chance. Beginnings of streams are not looked for.
pub(crate) fn turn(bytes: &[u8], side: usize, ports: Ports) -> Look {
    work::add(bytes.len());
    let ends = Ends::of(side, ports);
    let looks: [fn(&[u8], Ends) -> Look; 4] =
        [|bytes, _| tls(bytes), |bytes, _| http::look(bytes), lines::look, whole_dns_message];
    let is_all = bytes.len() >= BYTES_MAX;
    let decides = |look: &Look| match look {
        Look::Unknown => false,
        Look::Open => !is_all,
        _ => true,
    };
    looks.into_iter().map(|look| look(bytes, ends)).find(decides).unwrap_or(Look::Unknown)
}

/// A whole message with its question, on any port: a header alone says too little.
fn whole_dns_message(bytes: &[u8], ends: Ends) -> Look {
    match dns_message(bytes, ends) {
        Look::Either(service) => {
            let message = bytes
                .split_first_chunk::<2>()
                .and_then(|(length, message)| message.get(..usize::from(u16::from_be_bytes(*length))));
            match message {
                Some(message) if dns::is_whole_message(message) => Look::Either(service),
                Some(_) => Look::Unknown,
                None => Look::Open,
            }
        }
        other => other,
    }
}

/// Looks for one protocol.
fn look_for(service: Service, bytes: &[u8], ends: Ends) -> Look {
    match service {
        Service::Tls => tls(bytes),
        Service::Http => http::look(bytes),
        Service::Ssh => ssh::behind_lines(bytes, true),
        Service::Smtp | Service::Ftp => lines::look(bytes, ends),
        // A proxy says nothing before its client.
        Service::Socks => Look::Unknown,
        _ => dns_message(bytes, ends),
    }
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

/// A client's first message to a SOCKS proxy.
fn proxy(bytes: &[u8], ends: Ends) -> Look {
    if ends.have(53) {
        return Look::Unknown;
    }
    match socks::begins(bytes) {
        Some(true) => Look::Client(Service::Socks),
        Some(false) => Look::Open,
        None => Look::Unknown,
    }
}

/// A message behind its length (RFC 1035 section 4.2.2), of LLMNR on its port (RFC 4795 section 2.5). Elsewhere than on its port the whole
/// question must be there.
fn dns_message(bytes: &[u8], ends: Ends) -> Look {
    let is_port = ends.have(53);
    let service = if ends.have(5355) { Service::Llmnr } else { Service::Dns };
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
        Some(message) if dns::is_whole_message(message) => Look::Either(service),
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
