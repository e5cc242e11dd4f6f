//! Forms of packets that hosts treat differently: IP options, extension headers, fragments and frames. Each is sent as a datagram
//! and within a TCP connection; the engine must deliver what the applications received, or report a doubt.

use tidewire_types::ip_protocol::{DESTINATION_OPTIONS, FRAGMENT, HOP_BY_HOP, ROUTING};

use crate::craft::{Ip, Piece, fold, frame, sum};

/// Ethernet's header.
const ETHERNET_BYTES: usize = 14;

/// Wraps a transport packet into frames.
pub type Wrap = Box<dyn Fn(&Ip, u8, &[u8]) -> Vec<Vec<u8>> + Send + Sync>;

/// A form, with a name for reports.
pub struct Form {
    /// Its special property.
    pub name: String,
    /// Makes its frames.
    pub wrap: Wrap,
}

fn form(name: &str, wrap: impl Fn(&Ip, u8, &[u8]) -> Vec<Vec<u8>> + Send + Sync + 'static) -> Form {
    Form { name: name.to_owned(), wrap: Box::new(wrap) }
}

/// Every form of a version of IP.
#[must_use]
pub fn forms(is_ipv6: bool) -> Vec<Form> {
    let mut forms = if is_ipv6 { ipv6() } else { ipv4() };
    forms.extend(links(is_ipv6));
    forms.extend(ecn(is_ipv6));
    forms
}

fn ipv4() -> Vec<Form> {
    let options: [(&str, &[u8]); 34] = [
        ("none", &[]),
        ("NOP", &[1, 1, 1, 1]),
        ("end, then garbage", &[0, 7, 1, 0]),
        ("record route", &[7, 7, 4, 0, 0, 0, 0, 0]),
        ("record route, full", &[7, 7, 8, 9, 9, 9, 9, 0]),
        ("record route, pointer 3", &[7, 7, 3, 0, 0, 0, 0, 0]),
        ("record route, pointer 0", &[7, 7, 0, 0, 0, 0, 0, 0]),
        ("record route, pointer 5 without room", &[7, 7, 5, 0, 0, 0, 0, 0]),
        ("record route of length 2", &[7, 2, 0, 0]),
        ("record route of length 3", &[7, 3, 4, 0]),
        ("record route twice", &[7, 3, 4, 7, 3, 4, 0, 0]),
        ("timestamp", &[68, 8, 5, 0, 0, 0, 0, 0]),
        ("timestamp, pointer 4", &[68, 8, 4, 0, 0, 0, 0, 0]),
        ("timestamp, pointer 6 without room", &[68, 8, 6, 0, 0, 0, 0, 0]),
        ("timestamp of length 3", &[68, 3, 5, 0]),
        ("timestamp of length 4", &[68, 4, 5, 0]),
        ("timestamp of length 4, overflown", &[68, 4, 5, 0xf0]),
        ("timestamp, full, overflown", &[68, 8, 9, 0xf0, 0, 0, 0, 0]),
        ("timestamp, full, overflown, given addresses", &[68, 8, 9, 0xf3, 0, 0, 0, 0]),
        ("timestamp, with an address", &[68, 12, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0]),
        ("timestamp, with an address, without room", &[68, 8, 5, 1, 0, 0, 0, 0]),
        ("timestamp, given addresses, without room", &[68, 8, 5, 3, 0, 0, 0, 0]),
        ("timestamp, unknown flag", &[68, 8, 5, 2, 0, 0, 0, 0]),
        ("timestamp twice", &[68, 4, 5, 0, 68, 4, 5, 0]),
        ("router alert", &[148, 4, 0, 0]),
        ("router alert of length 3", &[148, 3, 0, 0]),
        ("router alert with a value", &[148, 4, 0, 1]),
        ("CIPSO", &[134, 10, 0, 0, 0, 1, 1, 4, 0, 0, 0, 0]),
        ("CIPSO of length 7", &[134, 7, 0, 0, 0, 1, 0, 0]),
        ("loose source route", &[131, 7, 4, 10, 0, 0, 9, 0]),
        ("strict source route, used up", &[137, 7, 8, 10, 0, 0, 9, 0]),
        ("source route of length 2", &[131, 2, 0, 0]),
        ("security", &[130, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ("unknown option", &[222, 4, 1, 2]),
    ];
    let with = |(name, options): (&str, &[u8])| {
        let options = options.to_vec();
        form(&format!("IPv4 options: {name}"), move |ip, proto, payload| {
            vec![frame(&Ip { options: options.clone(), ..ip.clone() }, proto, payload, None)]
        })
    };
    options.into_iter().map(with).collect()
}

/// A header of options of the stated kind: next header and length first.
fn header(next: u8, options: &[u8]) -> Vec<u8> {
    [&[next, (options.len() / 8) as u8], options].concat()
}

fn ipv6() -> Vec<Form> {
    let mut forms = Vec::new();
    let home = [&[0xc9, 16][..], &[0xfd; 16], &[1, 2, 0, 0]].concat();
    let unknown = |action: u8| vec![action, 4, 1, 2, 3, 4];
    let options: Vec<(&str, Vec<u8>)> = vec![
        ("PadN", vec![1, 4, 0, 0, 0, 0]),
        ("PadN not zero", vec![1, 4, 0, 0, 7, 0]),
        ("PadN of 14 bytes", [&[1, 12][..], &[0; 12]].concat()),
        ("PadN and Pad1, 7 bytes, and an option", vec![1, 4, 0, 0, 0, 0, 0, 0x1e, 4, 0, 0, 0, 0, 0]),
        ("seven Pad1", [&[0; 7][..], &[0x1e, 5, 0, 0, 0, 0, 0]].concat()),
        ("eight Pad1", [&[0; 8][..], &[0x1e, 4, 0, 0, 0, 0]].concat()),
        ("unknown, skip", unknown(0x1e)),
        ("unknown, discard", unknown(0x5e)),
        ("unknown, ICMP", unknown(0x9e)),
        ("unknown, ICMP unless multicast", unknown(0xde)),
        ("eight options", [0x1e, 0].repeat(8).into_iter().chain([1, 4, 0, 0, 0, 0]).collect()),
        ("nine options", [0x1e, 0].repeat(9).into_iter().chain([1, 2, 0, 0]).collect()),
        ("option beyond the header", vec![0x1e, 5, 0, 0, 0, 0]),
        ("option without a length", vec![1, 3, 0, 0, 0, 0x1e]),
        ("router alert", vec![5, 2, 0, 0, 1, 0]),
        ("router alert of length 4", vec![5, 4, 0, 0, 0, 0]),
        ("CALIPSO", vec![7, 8, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 0, 0]),
        ("CALIPSO of length 4", vec![7, 4, 0, 0, 0, 1]),
        ("IOAM not aligned", vec![0x31, 2, 0, 0, 1, 0]),
        ("jumbo payload of a small packet", vec![0xc2, 4, 0, 0, 0, 20]),
        ("home address", home),
        ("encapsulation limit", vec![4, 1, 3, 1, 1, 0]),
    ];
    for (name, options) in options {
        for (place, kind) in [("destination", DESTINATION_OPTIONS), ("hop-by-hop", HOP_BY_HOP)] {
            let options = options.clone();
            forms.push(form(&format!("{place} options: {name}"), move |ip, proto, payload| {
                vec![frame(ip, kind, &[&header(proto, &options)[..], payload].concat(), None)]
            }));
        }
    }
    for (kind, left, bytes) in [
        (0, 0, 0),
        (0, 1, 16),
        (1, 0, 0),
        (2, 0, 16),
        (2, 1, 16),
        (3, 0, 0),
        (4, 0, 16),
        (4, 1, 16),
        (99, 0, 0),
        (99, 1, 0),
    ] {
        forms.push(form(&format!("routing header of type {kind}, {left} left"), move |ip, proto, payload| {
            let routing =
                [&[proto, bytes / 8, kind, left, 0, 0, 0, 0][..], &vec![0xfd; bytes.into()], payload].concat();
            vec![frame(ip, ROUTING, &routing, None)]
        }));
    }
    let others: [(&str, u8, &[u8]); 8] = [
        ("authentication header", 51, &[0, 4, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ("mobility header", 135, &[0, 0, 0, 0, 0, 0, 0, 0]),
        ("host identity", 139, &[0, 0, 0, 0, 0, 0, 0, 0]),
        ("shim6", 140, &[0, 0, 0, 0, 0, 0, 0, 0]),
        ("atomic fragment", FRAGMENT, &[0, 0, 0, 0, 1, 2, 3, 4]),
        ("atomic fragment, reserved bits", FRAGMENT, &[0, 9, 0, 6, 1, 2, 3, 4]),
        ("two atomic fragments", FRAGMENT, &[44, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 1, 2, 3, 5]),
        (
            "hop-by-hop options behind destination options",
            DESTINATION_OPTIONS,
            &[0, 0, 1, 4, 0, 0, 0, 0, 0, 0, 1, 4, 0, 0, 0, 0],
        ),
    ];
    for (name, kind, bytes) in others {
        let bytes = bytes.to_vec();
        forms.push(form(name, move |ip, proto, payload| {
            let mut headers = bytes.clone();
            // The last header names the transport.
            let last = match kind {
                FRAGMENT | DESTINATION_OPTIONS if headers.len() == 16 => 8,
                _ => 0,
            };
            headers[last] = proto;
            vec![frame(ip, kind, &[&headers[..], payload].concat(), None)]
        }));
    }
    forms.extend(ipv6_fragments());
    forms
}

/// The frames of a datagram of these bytes in fragments that end at these offsets.
fn pieces(ip: &Ip, proto: u8, bytes: &[u8], ends: &[usize]) -> Vec<Vec<u8>> {
    let mut from = 0;
    let ends = ends.iter().copied().filter(|end| *end < bytes.len()).chain([bytes.len()]);
    ends.map(|to| {
        let piece = Piece { offset: from as u32, more: to < bytes.len() };
        let made = frame(ip, proto, &bytes[from..to], Some(piece));
        from = to;
        made
    })
    .collect()
}

fn ipv6_fragments() -> Vec<Form> {
    let long = [&[1, 4, 0, 0, 0, 0][..], &[0x1e, 6, 0, 0, 0, 0, 0, 0]].concat();
    let mut forms = Vec::new();
    for end in [8, 16, 24, 32, 40] {
        let long = long.clone();
        forms.push(form(
            &format!("fragments that split at byte {end} behind an options header"),
            move |ip, proto, payload| {
                pieces(ip, DESTINATION_OPTIONS, &[&header(proto, &long)[..], payload].concat(), &[end])
            },
        ));
        forms.push(form(&format!("fragments that split at byte {end}"), move |ip, proto, payload| {
            pieces(ip, proto, payload, &[end])
        }));
        // Options before the fragment header, in each fragment.
        forms.push(form(&format!("fragments that split at byte {end}, options before"), move |ip, proto, payload| {
            let frames = pieces(ip, proto, payload, &[end]).into_iter();
            frames
                .map(|fragment| insert(&fragment, DESTINATION_OPTIONS, &header(FRAGMENT, &[1, 4, 0, 0, 0, 0])))
                .collect()
        }));
    }
    forms.push(form("fragments, bad options before one of them", |ip, proto, payload| {
        let frames = pieces(ip, proto, payload, &[24]).into_iter().enumerate();
        let options = |first| header(FRAGMENT, &[1, 4, 0, 0, u8::from(first), 0]);
        frames.map(|(at, fragment)| insert(&fragment, DESTINATION_OPTIONS, &options(at == 0))).collect()
    }));
    forms.push(form("a fragment in a fragment", |ip, proto, payload| {
        let inner = [&[proto, 0, 0, 1, 0, 0, 0, 7][..], &payload[..24]].concat();
        let rest = [&[proto, 0, 0, 24, 0, 0, 0, 7][..], &payload[24..]].concat();
        let mut frames = pieces(ip, FRAGMENT, &inner, &[16]);
        frames.extend(pieces(&Ip { id: ip.id + 1, ..ip.clone() }, FRAGMENT, &rest, &[16]));
        frames
    }));
    forms.push(form("an atomic fragment in a fragment", |ip, proto, payload| {
        pieces(ip, FRAGMENT, &[&[proto, 0, 0, 0, 0, 0, 0, 7][..], payload].concat(), &[24])
    }));
    forms
}

/// Inserts an extension header before the first header of an IPv6 frame.
fn insert(frame: &[u8], kind: u8, header: &[u8]) -> Vec<u8> {
    let (fixed, rest) = frame.split_at(ETHERNET_BYTES + 40);
    let mut made = [fixed, header, rest].concat();
    let bytes = (header.len() + rest.len()) as u16;
    made[ETHERNET_BYTES + 4..ETHERNET_BYTES + 6].copy_from_slice(&bytes.to_be_bytes());
    made[ETHERNET_BYTES + 6] = kind;
    made
}

/// Sets the ECN bits of a frame.
fn with_ecn(mut frame: Vec<u8>, ecn: u8) -> Vec<u8> {
    let ip = ETHERNET_BYTES;
    if frame[ip] >> 4 == 6 {
        frame[ip + 1] = frame[ip + 1] & 0x0f | ecn << 4;
        return frame;
    }
    frame[ip + 1] = ecn;
    frame[ip + 10..ip + 12].fill(0);
    let header_bytes = usize::from(frame[ip] & 0x0f) * 4;
    let checksum = fold(sum(&frame[ip..ip + header_bytes], 0)).to_be_bytes();
    frame[ip + 10..ip + 12].copy_from_slice(&checksum);
    frame
}

/// Fragments with every pair of ECN values, and three with a repetition.
fn ecn(is_ipv6: bool) -> Vec<Form> {
    let mut forms = Vec::new();
    for values in (0..16).map(|pair| [pair & 3, pair >> 2]) {
        forms.push(form(
            &format!("IPv{} fragments with ECN {values:?}", if is_ipv6 { 6 } else { 4 }),
            move |ip, proto, payload| {
                let frames = pieces(ip, proto, payload, &[24]);
                frames.into_iter().zip(values).map(|(frame, ecn)| with_ecn(frame, ecn)).collect()
            },
        ));
    }
    forms.push(form("a repeated fragment with other ECN", |ip, proto, payload| {
        let mut frames = pieces(ip, proto, payload, &[24]);
        frames.insert(1, with_ecn(frames[0].clone(), 2));
        frames
    }));
    forms
}

fn links(is_ipv6: bool) -> Vec<Form> {
    let to = |name: &str, address: [u8; 6]| {
        form(&format!("a frame to {name}"), move |ip, proto, payload| {
            let mut made = frame(ip, proto, payload, None);
            made[..6].copy_from_slice(&address);
            vec![made]
        })
    };
    let behind = |name: &str, kind: [u8; 2], before: Vec<u8>| {
        form(name, move |ip, proto, payload| {
            let made = frame(ip, proto, payload, None);
            vec![[&made[..12], &kind, &before, &made[ETHERNET_BYTES..]].concat()]
        })
    };
    let ether_type = if is_ipv6 { [0x86, 0xdd] } else { [8, 0] };
    let mut forms = vec![
        to("another host", [2, 0, 0, 0, 0, 3]),
        to("all", [0xff; 6]),
        to("a group", [1, 0, 0x5e, 0, 0, 1]),
        behind("a priority tag", [0x81, 0], [&[0xe0, 0][..], &ether_type].concat()),
        behind("a VLAN", [0x81, 0], [&[0, 7][..], &ether_type].concat()),
        behind("MPLS", [0x88, 0x47], vec![0, 1, 1, 64]),
        form("LLC and SNAP", move |ip, proto, payload| {
            let made = frame(ip, proto, payload, None);
            let packet = &made[ETHERNET_BYTES..];
            let length = (packet.len() + 8) as u16;
            vec![[&made[..12], &length.to_be_bytes(), &[0xaa, 0xaa, 3, 0, 0, 0], &ether_type, packet].concat()]
        }),
        form("PPPoE", move |ip, proto, payload| {
            let made = frame(ip, proto, payload, None);
            let packet = &made[ETHERNET_BYTES..];
            let length = ((packet.len() + 2) as u16).to_be_bytes();
            let next = if is_ipv6 { [0, 0x57] } else { [0, 0x21] };
            vec![[&made[..12], &[0x88, 0x64, 0x11, 0, 0, 1], &length, &next, packet].concat()]
        }),
    ];
    forms.push(form("fragments, one of them to another host and again", |ip, proto, payload| {
        let mut frames = pieces(ip, proto, payload, &[24]);
        let mut astray = frames[0].clone();
        astray[5] = 3;
        // Different bytes: together with the original ones they would be an overlap.
        let last = astray.len() - 1;
        astray[last] ^= 0xff;
        frames.insert(0, astray);
        frames
    }));
    forms.push(form("fragments, one of them to another host", |ip, proto, payload| {
        let mut frames = pieces(ip, proto, payload, &[24]);
        frames[1][5] = 3;
        frames
    }));
    forms
}
