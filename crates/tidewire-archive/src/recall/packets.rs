//! The packets of a capture, whatever is looked for.

use std::ops::ControlFlow;

use tidewire_wire::Frame;

use super::{
    entry::Entry,
    plan::Plan,
    reader::{Piece, Reader},
};
use crate::{
    Error, Identities,
    query::{Exact, Query},
    remains::is_live,
};

/// Calls `each` with the packets of a capture and their numbers.
pub(super) fn each_packet(
    entry: &Entry,
    identities: &Identities,
    mut each: impl FnMut(u64, &Frame, &[u8]) -> ControlFlow<()>,
) -> Result<(), Error> {
    let whole = Plan { parts: None, descriptions: Vec::new(), chosen: None };
    let Some(mut reader) = Reader::open(entry, whole, identities)? else { return Ok(()) };
    let (mut exact, mut piece) = (Exact::new(&Query::default())?, Piece::default());
    while reader.fill(&mut exact, &mut piece)? {
        for frame in &piece.frames {
            if each(frame.number, frame, piece.bytes_of(frame)).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Packets of a segment without an index, if no more are written to it; `None`: that is not known.
pub(super) fn packets_of(entry: &Entry, entries: &[Entry], identities: &Identities) -> Option<u64> {
    let name = entry.name.as_ref()?;
    let is_later = |other: &Entry| {
        other.name.as_ref().is_some_and(|other| other.worker == name.worker && other.sequence > name.sequence)
    };
    if is_live(entry.folder(), name) && !entries.iter().any(is_later) {
        return None;
    }
    let mut packets = 0;
    let read = each_packet(entry, identities, |_, _, _| {
        packets += 1;
        ControlFlow::Continue(())
    });
    read.ok().map(|()| packets)
}
