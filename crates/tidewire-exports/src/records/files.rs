//! The fields of extracted files: lines of the index of `extract`.

use tidewire_types::hex;

use crate::{
    json::{push_number, push_plain},
    model::FileRecord,
    records::{
        Absent, Description, Field, Form, Json, RecordKind, count, joined,
        key::{ends, tunnel_id, tunnel_kind, vlans},
        kind, writers,
    },
    table::{
        Cell,
        Kind::{Int, List, Long, Text},
        Unit, protocol_cell,
    },
};

kind! {
    /// Records of files.
    FileKind(FileRecord<'r>): FILE
}

type F = Field<FileKind>;

const STREAM: &str = "as for `match`";
const ABOVE: &str = "as above, of the stream";

#[rustfmt::skip]
const BEGIN: &[F] = &[
    F::new("name", Text, |of| Cell::text(of.name), "of the file in the same directory; null where nothing was delivered")
        .absent(Absent::Null).word(),
    F::number("stream", Long, |of| of.stream, STREAM),
    F::new("direction", Text, |of| Cell::Text(of.direction.name()), STREAM).word(),
];

#[rustfmt::skip]
const END: &[F] = &[
    F::new("vlan", List(&Int), |of| vlans(&of.key), ABOVE).absent(Absent::EmptyArray),
    F::new("tunnel_kind", Text, |of| tunnel_kind(&of.key), ABOVE).absent(Absent::Null).word().within("tunnel", "kind"),
    F::new("tunnel_id", Long, |of| tunnel_id(&of.key), ABOVE).absent(Absent::Null).within("tunnel", "id"),
    F::number("start_ns", Long, |of| of.start.as_nanos(), ABOVE).unit(Unit::Time),
    F::number("end_ns", Long, |of| of.last.as_nanos(), ABOVE).unit(Unit::Time),
    F::new("end_reason", Text, |of| Cell::Text(of.end.name()), ABOVE).word(),
    F::number("bytes", Long, |of| of.bytes, "length of the file, filling included").unit(Unit::Bytes),
    F::new("sha256", Text, |of| of.sha256.map_or(Cell::Null, |digest| Cell::Owned(hex::encode(&digest))),
        "of the file, filling included; null with `--digest none`").absent(Absent::Null).word(),
    F::raw("gaps", Form::JSON, push_gaps, "each `[offset in the stream, length, cause]`").array(),
];

const PARTS: &[&[F]] = &[BEGIN, &ends!(ABOVE, ABOVE), END];

/// The fields, in the order of JSON.
const FILE: [F; count(PARTS)] = joined(PARTS);

writers! {
    /// JSON of the index of `extract`.
    file_json: Json<FileKind>(JSON);
}

fn push_gaps(of: &FileRecord<'_>, out: &mut Vec<u8>) -> bool {
    out.push(b'[');
    for (index, gap) in of.gaps.iter().enumerate() {
        out.extend_from_slice(if index > 0 { &b",["[..] } else { b"[" });
        push_number(out, gap.offset);
        out.push(b',');
        push_number(out, gap.bytes);
        out.push(b',');
        push_plain(out, gap.cause.name());
        out.push(b']');
    }
    out.push(b']');
    true
}
