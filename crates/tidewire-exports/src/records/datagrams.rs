//! The fields of datagrams that arrived in fragments.

use tidewire_types::hex;

use crate::{
    model::DatagramRecord,
    records::{Absent, Csv, Description, Field, Form, Json, RecordKind, kind, writers},
    table::{
        Cell,
        Kind::{Int, Long, Text},
        Unit, protocol_cell,
    },
};

kind! {
    /// Records of datagrams.
    DatagramKind(DatagramRecord): DATAGRAM
}

type F = Field<DatagramKind>;

/// The fields, in the order of JSON.
#[rustfmt::skip]
const DATAGRAM: [F; 11] = [
    F::number("packet", Long, |of| of.packet,
        "number of the fragment that completed or ended it; of its last one where time, memory or the input ended it"),
    F::new("src", Text, |of| Cell::Address(of.source), "addresses").unit(Unit::Address),
    F::new("dst", Text, |of| Cell::Address(of.destination), "addresses").unit(Unit::Address),
    F::number("ip_id", Long, |of| of.ip_id.into(), "IP identification (16 bits in IPv4, 32 in IPv6)"),
    F::new("proto", Text, |of| protocol_cell(of.proto), "the protocol that it carries, as above").word(),
    F::number("fragments", Int, |of| of.fragments.into(), "how many came, repeated ones included").unit(Unit::Count),
    F::number("bytes", Long, |of| of.bytes, "length of the rebuilt IP payload; 0 where it was not rebuilt").unit(Unit::Bytes),
    F::new("sha256", Text, |of| if of.rejected.is_none() { Cell::Owned(hex::encode(&of.sha256)) } else { Cell::Null },
        "of the rebuilt IP payload; null where it was not rebuilt").absent(Absent::Null).word(),
    F::new("policy", Text, |of| Cell::Text(of.policy.name()), "the overlap policy that was applied").word(),
    F::number("overlaps", Int, |of| of.overlaps.into(), "how many fragments overlapped earlier ones").unit(Unit::Count),
    F::new("rejected", Text, |of| Cell::text(of.rejected.map(|reason| reason.name())), "why it was not rebuilt; null where it was").absent(Absent::Null).word(),
];

writers! {
    /// JSON of `datagrams`.
    datagram_json: Json<DatagramKind>(JSON);
    /// Comma-separated values of `datagrams`.
    datagram_csv: Csv<DatagramKind>(CSV);
}
