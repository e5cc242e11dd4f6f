//! Fields of a stream's key.

use tidewire::{FlowKey, TunnelKind};

use crate::table::Cell;

/// Protocol, addresses and ports of the stream that a record is about.
macro_rules! ends {
    ($proto:expr, $ends:expr) => {
        [
            F::new("proto", Text, |of| protocol_cell(of.key.proto), $proto).word(),
            F::new("client_addr", Text, |of| Cell::Address(of.key.client.address), $ends)
                .unit(Unit::Address)
                .within("client", "addr"),
            F::number("client_port", Int, |of| of.key.client.port.into(), $ends)
                .unit(Unit::Port)
                .within("client", "port"),
            F::new("server_addr", Text, |of| Cell::Address(of.key.server.address), $ends)
                .unit(Unit::Address)
                .within("server", "addr"),
            F::number("server_port", Int, |of| of.key.server.port.into(), $ends)
                .unit(Unit::Port)
                .within("server", "port"),
        ]
    };
}
pub(super) use ends;

/// The VLAN ids, from the outside in.
#[inline]
pub(super) fn vlans(key: &FlowKey) -> Cell<'static> {
    list(key.vlans.iter().map(|id| Cell::Number(id.into())))
}

/// The kind of the tunnel, if there is one.
#[inline]
pub(super) fn tunnel_kind(key: &FlowKey) -> Cell<'static> {
    Cell::text((key.tunnel.kind != TunnelKind::None).then(|| key.tunnel.kind.name()))
}

/// The id of the tunnel, if there is one.
#[inline]
pub(super) fn tunnel_id(key: &FlowKey) -> Cell<'static> {
    Cell::number((key.tunnel.kind != TunnelKind::None).then_some(key.tunnel.id.into()))
}

/// A list, or nothing if it is empty.
#[inline]
pub(super) fn list<'a>(items: impl Iterator<Item = Cell<'a>>) -> Cell<'a> {
    let mut items = items.peekable();
    match items.peek() {
        None => Cell::Null,
        Some(_) => Cell::List(items.collect()),
    }
}
