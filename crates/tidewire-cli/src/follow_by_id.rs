//! Which stream a Community ID names: connections that reuse addresses and ports have the same one.

use std::ops::RangeInclusive;

use tidewire::{EndReason, Handler, Mode, Stream};

use crate::{
    error::{self, CliError},
    options::Common,
    session::Session,
    times,
};

/// A Community ID, and the time in which the stream is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    community_id: String,
    at: Option<RangeInclusive<u64>>,
}

/// A stream with the Community ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Candidate {
    id: u64,
    start_ns: u64,
    end_ns: u64,
}

impl Named {
    /// Reads the options; the time may be how long ago.
    pub fn new(community_id: &str, at: Option<&str>) -> Result<Self, CliError> {
        if !is_community_id(community_id) {
            return Err(CliError::Usage(format!(
                "invalid Community ID '{community_id}': expected version 1, as in 1:LQU9qZlK+B5F3KDmev6m5PMibrg="
            )));
        }
        let at = at.map(|text| times::span(text, times::now_ns())).transpose();
        let at = at.map_err(|error| CliError::Usage(format!("--at: {error}")))?;
        Ok(Self { community_id: community_id.to_owned(), at })
    }

    /// Restricts an archive to the streams with the ID, so that no others are read.
    #[cfg(feature = "live")]
    pub fn restrict(&self, common: &mut Common) {
        use std::sync::Arc;

        use tidewire_archive::Query;

        use crate::archive::{ArchiveOptions, Search};

        if ArchiveOptions::are(&common.files) {
            let query = Query { community_id: Some(self.community_id.clone()), ..Query::default() };
            common.archive.search = Some(Arc::new(Search { query, ..Search::default() }));
        }
    }

    /// This build reads no archives.
    #[cfg(not(feature = "live"))]
    pub fn restrict(&self, _: &mut Common) {}

    /// The id of the stream: reads the input once. 0: there is none.
    pub fn find(&self, common: &Common, session: &Session<'_>) -> Result<u64, CliError> {
        if !common.is_rereadable() {
            return Err(CliError::Usage(
                "--community-id reads the input twice: name files or an archive, or the stream's id".into(),
            ));
        }
        let make = |_| Finder { wanted: self.community_id.clone(), found: Vec::new() };
        let (finders, _) = session.run(Mode::Track, &[], make)?;
        let mut found: Vec<Candidate> = finders.into_iter().flat_map(|finder| finder.found).collect();
        found.sort_by_key(|candidate| (candidate.start_ns, candidate.id));
        let chosen = chosen(&found, self.at.as_ref());
        if let ([first, _, ..], Some(_)) = (&chosen[..], &self.at) {
            let (count, start_ns) = (chosen.len(), first.start_ns);
            error::notify(format_args!(
                "{count} streams with this Community ID are open at that time; this is the first, which began at {start_ns} ns since 1970"
            ));
        }
        Ok(chosen.first().map_or(0, |candidate| candidate.id))
    }
}

/// Whether a text is a Community ID of version 1: a SHA-1 in base64.
pub fn is_community_id(text: &str) -> bool {
    text.strip_prefix("1:").is_some_and(|digest| digest.len() == 28 && digest.ends_with('='))
}

/// The streams that are open at a time, which is a range where it has few digits.
fn chosen<'a>(found: &'a [Candidate], at: Option<&RangeInclusive<u64>>) -> Vec<&'a Candidate> {
    let is_open = |one: &&Candidate| at.is_none_or(|at| one.start_ns <= *at.end() && one.end_ns >= *at.start());
    found.iter().filter(is_open).collect()
}

struct Finder {
    wanted: String,
    found: Vec<Candidate>,
}

impl Handler for Finder {
    type Data = ();

    fn close(&mut self, stream: &mut Stream<'_, ()>, _: EndReason) {
        if tidewire::community_id(&stream.key(), 0) == self.wanted {
            self.found.push(Candidate {
                id: stream.id(),
                start_ns: stream.start().as_nanos(),
                end_ns: stream.end().as_nanos(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_that_is_open_at_a_time_is_chosen() {
        let found = [(1, 10, 20), (7, 30, 40)].map(|(id, start_ns, end_ns)| Candidate { id, start_ns, end_ns });
        let id = |at: Option<RangeInclusive<u64>>| chosen(&found, at.as_ref()).first().map(|candidate| candidate.id);
        let at = [None, Some(10..=10), Some(20..=20), Some(25..=25), Some(35..=35)];
        assert_eq!(at.map(id), [Some(1), Some(1), Some(1), None, Some(7)]);
        let ranges = [0..=9, 0..=10, 21..=29, 21..=30, 31..=39, 20..=30].map(Some);
        assert_eq!(ranges.map(id), [None, Some(1), None, Some(7), Some(7), Some(1)]);
    }

    #[test]
    fn community_ids_are_recognised() {
        assert!(is_community_id("1:LQU9qZlK+B5F3KDmev6m5PMibrg="));
        for text in ["", "17", "1:", "2:LQU9qZlK+B5F3KDmev6m5PMibrg=", "1:short="] {
            assert!(!is_community_id(text), "{text}");
        }
    }
}
