//! Selects the parts of a capture to read: pieces by its index, and in them the packets of streams.

use super::plan::{Chosen, Own, Part, Plan};
use crate::{
    Error,
    index::{Extent, Mark, Sidecar},
    query::{Query, candidates, is_in_time},
};

/// Pieces with less between them are read as one: what a disk reads in the time of a seek.
const COALESCED_BYTES: u64 = 64 << 10;
/// Extents of a plan at most; with more, all of the capture is read.
const EXTENTS_MAX: usize = 4 << 20;

/// Plans the reading of a capture by its index. `stream`: the id in the index of the one that is looked for. `None`: there is nothing in
/// it.
pub(crate) fn plan(sidecar: &mut Sidecar, query: &Query, stream: Option<u64>) -> Result<Option<Plan>, Error> {
    let summary = sidecar.summary().clone();
    if !query.may_be_in(&summary) {
        return Ok(None);
    }
    let whole = Extent { offset: 0, bytes: summary.bytes, packets: summary.packets, first: 0 };
    let mut extents: Vec<Extent> = Vec::new();
    let mut own = None;
    if query.is_of_streams() {
        let mut selected = Own::default();
        sidecar.streams(
            stream,
            |row| is_in_time(query, row) && query.wants_stream(&row.record, stream),
            |row, gaps| {
                extents.extend(&row.extents);
                selected.add(&row, gaps);
            },
        )?;
        selected.sort();
        own = Some(selected);
    } else {
        let condition = query.condition(&summary);
        let found = candidates(sidecar, &condition)?;
        match &found {
            // All of it, or the part that has the time.
            None => extents.push(whole),
            Some(ranks) => sidecar.rows(ranks, |_, row| {
                if is_in_time(query, &row) && extents.len() < EXTENTS_MAX {
                    extents.extend(&row.extents);
                }
            })?,
        }
        if extents.len() >= EXTENTS_MAX {
            extents = vec![whole];
        }
    }
    let mut parts = coalesced(extents, summary.bytes);
    // Packets of streams are counted from the beginning of an extent on.
    if own.is_none() && (query.from_ns.is_some() || query.to_ns.is_some()) {
        parts = in_time(&parts, &sidecar.marks()?, summary.bytes, query);
    }
    if let Some(first) = parts.first_mut()
        && first.range.start == 0
        && summary.format == "pcap"
    {
        // The header is no record.
        first.range.start = summary.descriptions.first().map_or(24, |header| header.0 + u64::from(header.1));
    }
    if parts.is_empty() {
        return Ok(None);
    }
    let descriptions = if summary.format == "pcap" { Vec::new() } else { summary.descriptions };
    Ok(Some(Plan { parts: Some(parts), descriptions, chosen: own.map(Chosen::Placed) }))
}

/// Extents as pieces to read, in order.
fn coalesced(mut extents: Vec<Extent>, bytes: u64) -> Vec<Part> {
    extents.sort_unstable_by_key(|extent| extent.offset);
    let mut parts: Vec<Part> = Vec::new();
    for extent in extents {
        let (start, end) = (extent.offset, extent.end().min(bytes));
        match parts.last_mut().map(|part| &mut part.range) {
            Some(last) if start <= last.end.saturating_add(COALESCED_BYTES) => last.end = last.end.max(end),
            _ if start < end => parts.push(Part { range: start..end, first: extent.first }),
            _ => {}
        }
    }
    parts
}

/// The parts of pieces that have packets of the query's time. Marks are where records begin.
fn in_time(parts: &[Part], marks: &[Mark], bytes: u64, query: &Query) -> Vec<Part> {
    let mut wanted: Vec<Part> = Vec::new();
    for (place, mark) in marks.iter().enumerate() {
        let end = marks.get(place + 1).map_or(bytes, |next| next.offset);
        let is_wanted =
            query.from_ns.is_none_or(|from| mark.last_ns >= from) && query.to_ns.is_none_or(|to| mark.first_ns < to);
        if !is_wanted {
            continue;
        }
        match wanted.last_mut().map(|part| &mut part.range) {
            Some(last) if last.end == mark.offset => last.end = end,
            _ => wanted.push(Part { range: mark.offset..end, first: mark.first }),
        }
    }
    let mut both = Vec::new();
    let mut wanted = wanted.into_iter().peekable();
    for part in parts {
        while let Some(timely) = wanted.peek() {
            // Both begin with a packet: the later one says which.
            let later = if part.range.start >= timely.range.start { part } else { timely };
            let (start, end) = (later.range.start, part.range.end.min(timely.range.end));
            if start < end {
                both.push(Part { range: start..end, first: later.first });
            }
            if timely.range.end > part.range.end {
                break;
            }
            wanted.next();
        }
    }
    both
}
