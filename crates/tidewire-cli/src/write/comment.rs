//! The comment on a stream's first packet.

use std::fmt::Write as _;

use tidewire::{Datagram, Stream, community_id};

use crate::record;

/// Facts that one comment has room for; others are counted.
const FACTS_MAX: usize = 16;

/// A comment: facts on one line, separated by semicolons.
#[derive(Debug, Default)]
pub struct Comment {
    text: String,
    facts: usize,
}

impl Comment {
    /// Describes a stream.
    pub fn of_stream<D>(stream: &Stream<'_, D>) -> Self {
        let key = stream.key();
        let (client, server) = (record::endpoint(key.client, key.proto), record::endpoint(key.server, key.proto));
        let proto = record::proto_name(key.proto);
        let text =
            format!("stream {}: {proto} {client} > {server}; community_id {}", stream.id(), community_id(&key, 0));
        Self { text, facts: 0 }
    }

    /// Describes a datagram, and its fate.
    pub fn of_datagram(datagram: &Datagram<'_>) -> Self {
        let proto = record::proto_name(datagram.proto);
        let (source, destination, id) = (datagram.source, datagram.destination, datagram.ip_id);
        let end = match datagram.rejected {
            None => format!("rebuilt, {} bytes", datagram.payload.len()),
            Some(reason) => format!("rejected: {}", reason.name()),
        };
        let (fragments, overlaps) = (datagram.fragments, datagram.overlaps);
        let text = format!(
            "datagram {id}: {proto} {source} > {destination}; {fragments} fragments, {overlaps} overlaps; {end}"
        );
        Self { text, facts: 0 }
    }

    /// Adds the anomalies of a stream from index `from` on; returns how many it has.
    pub fn anomalies<D>(&mut self, stream: &Stream<'_, D>, from: usize) -> usize {
        let all = stream.anomalies();
        for anomaly in all.iter().skip(from) {
            self.fact(format_args!("anomaly {} at packet {}", anomaly.kind.name(), anomaly.packet));
        }
        all.len()
    }

    /// Adds a fact.
    pub fn fact(&mut self, fact: std::fmt::Arguments<'_>) {
        self.facts += 1;
        if self.facts <= FACTS_MAX {
            let separator = if self.text.is_empty() { "" } else { "; " };
            let _ = write!(self.text, "{separator}{fact}");
        }
    }

    /// The text.
    pub fn finish(mut self) -> String {
        if let more @ 1.. = self.facts.saturating_sub(FACTS_MAX) {
            let _ = write!(self.text, "; and {more} more");
        }
        self.text
    }
}
