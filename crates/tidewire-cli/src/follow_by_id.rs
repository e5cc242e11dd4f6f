//! Which stream a Community ID names: connections that reuse addresses and ports have the same one.

use tidewire::{EndReason, Handler, Mode, Stream};

use crate::{error::CliError, options::Common, session::Session};

/// A Community ID, and the time at which the stream is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    community_id: String,
    at_ns: Option<u64>,
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
        let at_ns = at.map(time).transpose().map_err(|error| CliError::Usage(format!("--at: {error}")))?;
        Ok(Self { community_id: community_id.to_owned(), at_ns })
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
        Ok(chosen(&found, self.at_ns).map_or(0, |candidate| candidate.id))
    }
}

/// A time, nanoseconds since the epoch.
#[cfg(feature = "live")]
fn time(text: &str) -> Result<u64, String> {
    crate::times::parse(text, crate::times::now_ns())
}

/// A time in seconds since 1970: this build reads no others.
#[cfg(not(feature = "live"))]
fn time(text: &str) -> Result<u64, String> {
    let seconds = text.parse::<u64>().ok().and_then(|seconds| seconds.checked_mul(1_000_000_000));
    seconds.ok_or_else(|| format!("invalid time '{text}': this build reads whole seconds since 1970"))
}

/// Whether a text is a Community ID of version 1: a SHA-1 in base64.
pub fn is_community_id(text: &str) -> bool {
    text.strip_prefix("1:").is_some_and(|digest| digest.len() == 28 && digest.ends_with('='))
}

/// The stream that is open at a time, or else the first one.
fn chosen(found: &[Candidate], at_ns: Option<u64>) -> Option<&Candidate> {
    match at_ns {
        Some(at_ns) => found.iter().find(|one| (one.start_ns..=one.end_ns).contains(&at_ns)),
        None => found.first(),
    }
}

struct Finder {
    wanted: String,
    found: Vec<Candidate>,
}

impl Handler for Finder {
    type Data = ();

    fn close(&mut self, stream: &mut Stream<'_, ()>, _: EndReason) {
        if tidewire::community_id(&stream.key(), 0) == self.wanted {
            self.found.push(Candidate { id: stream.id(), start_ns: stream.start_ns(), end_ns: stream.end_ns() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_that_is_open_at_a_time_is_chosen() {
        let found = [(1, 10, 20), (7, 30, 40)].map(|(id, start_ns, end_ns)| Candidate { id, start_ns, end_ns });
        let id = |at_ns| chosen(&found, at_ns).map(|candidate| candidate.id);
        assert_eq!([None, Some(10), Some(20), Some(25), Some(35)].map(id), [Some(1), Some(1), Some(1), None, Some(7)]);
    }

    #[test]
    fn community_ids_are_recognised() {
        assert!(is_community_id("1:LQU9qZlK+B5F3KDmev6m5PMibrg="));
        for text in ["", "17", "1:", "2:LQU9qZlK+B5F3KDmev6m5PMibrg=", "1:short="] {
            assert!(!is_community_id(text), "{text}");
        }
    }
}
