//! The header says the same as this library: constants, layouts, names, and what is exported.

use std::{
    collections::BTreeMap,
    ffi::CStr,
    fs,
    mem::{offset_of, size_of},
    path::Path,
    process::Command,
};

use tidewire_events::Severity;
use tidewire_queue::{
    QueueEnd,
    records::{
        self, Close, DirectionStats, Endpoint, Key, OFFSET_NONE, Open, PacketHeader, RecordType, VLAN_NONE, flags,
    },
};
use tidewire_testing::{InTime as _, missing, skip};

use crate::{
    error::code,
    exports,
    handle::{SOCKET, found},
    names::List,
    types::{CClose, CEvent, CFigures, CKey, CMissing, COpen, CPacket, CProgress},
};

const HEADER: &str = include_str!("../include/tidewire/queue.h");
const EVENT_HEADER: &str = include_str!("../include/tidewire/event.h");

/// Numbers that the header defines.
fn constants() -> Vec<(&'static str, i64)> {
    vec![
        ("VERSION", i64::from(exports::VERSION)),
        ("EMPTY", i64::from(found::EMPTY)),
        ("RECORD", i64::from(found::RECORD)),
        ("MISSED", i64::from(found::MISSED)),
        ("LOST", i64::from(found::LOST)),
        ("ENDED", i64::from(found::ENDED)),
        ("ERROR_ARGUMENT", i64::from(code::ARGUMENT)),
        ("ERROR_SYSTEM", i64::from(code::SYSTEM)),
        ("ERROR_SERVER", i64::from(code::SERVER)),
        ("ERROR_NO_QUEUE", i64::from(code::NO_QUEUE)),
        ("ERROR_FULL", i64::from(code::FULL)),
        ("ERROR_USER", i64::from(code::USER)),
        ("ERROR_REFUSED", i64::from(code::REFUSED)),
        ("ERROR_NOT_A_QUEUE", i64::from(code::NOT_A_QUEUE)),
        ("ERROR_CORRUPT", i64::from(code::CORRUPT)),
        ("ERROR_INTERNAL", i64::from(code::INTERNAL)),
        ("OPEN", RecordType::Open as i64),
        ("DATA", RecordType::Data as i64),
        ("GAP", RecordType::Gap as i64),
        ("CONFLICT", RecordType::Conflict as i64),
        ("CLOSE", RecordType::Close as i64),
        ("PACKET", RecordType::Packet as i64),
        ("FROM_SERVER", i64::from(flags::TO_CLIENT)),
        ("REPEATED", i64::from(flags::REPEATED)),
        ("DATAGRAM", i64::from(flags::DATAGRAM)),
        ("SHED_BY_QUEUE", i64::from(flags::SHED_BY_QUEUE)),
        ("FINISHED", QueueEnd::Finished.word() as i64),
        ("ABORTED", QueueEnd::Aborted.word() as i64),
        ("GONE", QueueEnd::Gone.word() as i64),
        ("NO_VLAN", i64::from(VLAN_NONE)),
        ("NO_OFFSET", i64::from(OFFSET_NONE)),
        ("ENDPOINT_BYTES", 64),
    ]
}

fn number(text: &str) -> i64 {
    let text = text.trim_matches(['(', ')']);
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).unwrap(),
        None => text.parse().unwrap(),
    }
}

#[test]
fn the_header_defines_these_constants() {
    let defined = HEADER.lines().filter_map(|line| line.strip_prefix("#define TIDEWIRE_QUEUE_"));
    let defined = defined.filter(|rest| !rest.contains("AT(event"));
    let defined: BTreeMap<&str, &str> = defined.filter_map(|rest| rest.split_once(' ')).collect();
    let defined: BTreeMap<&str, &str> =
        defined.iter().map(|(name, rest)| (*name, rest.split("/*").next().unwrap().trim())).collect();
    assert_eq!(defined["SOCKET"], format!("\"{SOCKET}\""));
    let numbers = defined.iter().filter(|(name, _)| **name != "SOCKET").map(|(name, text)| (*name, number(text)));
    assert_eq!(numbers.collect::<BTreeMap<_, _>>(), constants().into_iter().collect());
}

#[test]
fn the_header_of_events_defines_these_constants() {
    let defined = EVENT_HEADER.lines().filter_map(|line| line.strip_prefix("#define TIDEWIRE_EVENT_"));
    let defined: BTreeMap<&str, &str> = defined.filter_map(|rest| rest.split_once(' ')).collect();
    let defined: BTreeMap<&str, &str> =
        defined.iter().map(|(name, rest)| (*name, rest.split("/*").next().unwrap().trim())).collect();
    assert_eq!(defined["SOCKET"], format!("\"{}\"", crate::events::SOCKET));
    let numbers = defined.iter().filter(|(name, _)| **name != "SOCKET").map(|(name, text)| (*name, number(text)));
    let mut expected: BTreeMap<&str, i64> = BTreeMap::from([
        ("VERSION", 1),
        ("FROM_CLIENT", 0),
        ("FROM_SERVER", 1),
        ("ERROR_ARGUMENT", i64::from(code::ARGUMENT)),
        ("ERROR_SYSTEM", i64::from(code::SYSTEM)),
        ("ERROR_SERVER", i64::from(code::SERVER)),
        ("ERROR_REFUSED", i64::from(code::REFUSED)),
        ("ERROR_INTERNAL", i64::from(code::INTERNAL)),
        ("ERROR_TIMEOUT", i64::from(code::TIMEOUT)),
    ]);
    for (name, severity) in ["INFO", "LOW", "MEDIUM", "HIGH", "CRITICAL"].into_iter().zip(Severity::ALL) {
        expected.insert(name, i64::from(severity.number()));
    }
    assert_eq!(numbers.collect::<BTreeMap<_, _>>(), expected);
}

/// Structures: the name in the header, its size, and offset and size of each member.
macro_rules! layouts {
    ($($c:literal = $rust:ty { $($member:ident),* $(,)? })*) => {
        vec![$((
            $c,
            size_of::<$rust>(),
            vec![$((stringify!($member), offset_of!($rust, $member), size_of_member(|all: &$rust| &all.$member))),*],
        )),*]
    };
}

fn size_of_member<T, M>(_: impl Fn(&T) -> &M) -> usize {
    size_of::<M>()
}

type Layouts = Vec<(&'static str, usize, Vec<(&'static str, usize, usize)>)>;

fn layouts() -> Layouts {
    layouts! {
        "key" = CKey {
            client, server, client_port, server_port, protocol, ip_version, tunnel_kind, client_known, vlan, icmp_type, icmp_code,
            reserved, tunnel_id, reserved2,
        }
        "open" = COpen { key, start_ns, ordinal, next_offset, priority, reserved }
        "figures" = CFigures {
            packets, frames, frame_bytes, ip_bytes, payload_wire_bytes, reassembled_bytes, delivered_bytes, retransmitted_bytes,
            out_of_order_packets, missing_bytes, ignored_bytes, cutoff_bytes, shed_packets, shed_bytes, chunks, start_ns, end_ns,
            tcp_flags,
        }
        "close" = CClose { ordinal, anomalies, state, reason, reserved, end_offset, figures }
        "packet" = CPacket {
            number, anomalies, wire_bytes, link_type, network_at, transport_at, payload_at, payload_bytes, key,
        }
        "missing" = CMissing { stream, offset, bytes, flags, reserved }
        "event" = CEvent {
            sequence, records, stream, offset, time_ns, bytes, data, data_bytes, repeated_bytes, open, close, packet, kind, flags,
            code, reserved, missing, missing_count, missing_size,
        }
        "progress" = CProgress {
            first, sequence, published, read, missed, lost, missed_bytes, lost_bytes, others, epoch, streams_missed,
        }
    }
}

/// A program that prints the sizes and offsets of the header.
fn printer() -> String {
    let mut text = String::from("#include <stdio.h>\n#include <tidewire/queue.h>\nint main(void) {\n");
    for (name, _, members) in layouts() {
        let c = format!("tidewire_queue_{name}_t");
        text += &format!("printf(\"{name} %zu\\n\", sizeof({c}));\n");
        for (member, ..) in members {
            text += &format!(
                "printf(\"{name}.{member} %zu %zu\\n\", offsetof({c}, {member}), sizeof((({c} *)0)->{member}));\n"
            );
        }
    }
    text + "return 0; }\n"
}

/// Compiles a text with every warning an error; `None`: there is no compiler.
fn compile(compiler: &str, options: &[&str], text: &str) -> Option<tempfile::TempDir> {
    if let Some(reason) = missing(&[compiler]) {
        skip(reason);
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::write(&source, text).unwrap();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let mut command = Command::new(compiler);
    command.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"]).arg(include).args(options);
    let output = command.arg(&source).arg("-o").arg(folder.path().join("out")).run_in_time().unwrap();
    assert!(output.status.success(), "{compiler}: {}", String::from_utf8_lossy(&output.stderr));
    Some(folder)
}

#[test]
fn structures_of_the_header_are_these() {
    let Some(folder) = compile("cc", &["-std=c99", "-xc"], &printer()) else { return };
    let output = Command::new(folder.path().join("out")).run_in_time().unwrap();
    let mut expected = String::new();
    for (name, size, members) in layouts() {
        expected += &format!("{name} {size}\n");
        for (member, offset, size) in members {
            expected += &format!("{name}.{member} {offset} {size}\n");
        }
    }
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    // Every member that the header has is compared: the last one ends where the structure does.
    for (name, size, members) in layouts() {
        let (_, offset, bytes) = members[members.len() - 1];
        assert_eq!(offset + bytes, size, "{name}");
    }
}

#[test]
fn the_header_is_clean_c_and_cpp() {
    let text =
        "#include <tidewire/event.h>\n#include <tidewire/queue.h>\n#include <tidewire/event.h>\nint main(void) { return tidewire_queue_version; }\n"
            .replace("return tidewire_queue_version", "return 0");
    for standard in ["-std=c99", "-std=c17"] {
        compile("cc", &[standard, "-xc"], &text);
    }
    for standard in ["-std=c++11", "-std=c++20"] {
        compile("g++", &[standard, "-xc++"], &text);
    }
}

/// A structure's bytes.
fn bytes<T>(of: &T) -> &[u8] {
    // SAFETY: of integers without padding, as the sizes of members show.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(of).cast(), size_of::<T>()) }
}

fn key() -> Key {
    Key {
        client: Endpoint { address: "2001:db8::1".parse().unwrap(), port: 40_000 },
        server: Endpoint { address: "2001:db8::2".parse().unwrap(), port: 80 },
        protocol: 6,
        vlan: [5, VLAN_NONE],
        tunnel_kind: 3,
        tunnel_id: 0x0102_0304,
        icmp: [1, 2],
        is_client_known: true,
    }
}

/// Structures of payloads can be laid over what `--raw` prints.
#[test]
fn payloads_have_the_layout_of_the_structures() {
    let mut encoded = Vec::new();
    let open = Open { key: key(), start_ns: 11, ordinal: 12, next_offset: [13, 14], priority: 5 };
    open.encode(&mut encoded);
    assert_eq!(encoded, bytes(&COpen::from(&open)));
    encoded.clear();
    let figures = DirectionStats::from_words(std::array::from_fn(|at| 1 + at as u64));
    let close =
        Close { ordinal: 1, anomalies: 2, state: 3, reason: 4, end_offset: [5, 6], figures: [figures, figures] };
    close.encode(&mut encoded);
    assert_eq!(encoded, bytes(&CClose::from(&close)));
    encoded.clear();
    let packet =
        PacketHeader { number: 1, anomalies: 2, wire_bytes: 3, link_type: 4, key: key(), ..PacketHeader::default() };
    packet.encode(&mut encoded);
    assert_eq!(encoded, bytes(&CPacket::from(&packet)));
}

#[test]
fn names_are_those_of_the_queue() {
    let kinds = ["open", "data", "gap", "conflict", "close", "packet"];
    for (list, expected) in [
        (List::Kinds, &kinds[..]),
        (List::Ended, &["finished", "aborted", "gone"]),
        (List::GapCauses, records::GAP_CAUSES),
        (List::EndReasons, records::END_REASONS),
        (List::States, records::TCP_STATES),
        (List::Tunnels, records::TUNNELS),
        (List::Anomalies, records::ANOMALIES),
    ] {
        let (names, first) = list.names();
        assert_eq!(names.iter().map(|name| name.to_str().unwrap()).collect::<Vec<_>>(), expected);
        assert!(list.name(first + names.len() as u32).is_null());
        // SAFETY: a name of the list.
        assert_eq!(unsafe { CStr::from_ptr(list.name(first)) }.to_str().unwrap(), expected[0]);
    }
}
