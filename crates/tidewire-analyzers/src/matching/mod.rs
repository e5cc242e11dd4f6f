//! `match`: byte patterns in streams, also across the borders of chunks.

mod set;

use std::{fmt, sync::Arc};

use tidewire::{Chunk, Gap, GapCause, Stream};
use tidewire_events::{Event, StreamPosition, Value, limits::EXCERPT_BYTES_MAX};
use tidewire_patterns::{Border, Hit};

pub(crate) use self::set::Set;
pub use self::set::patterns_of;
use crate::{describe, emit::Outlet, error::AnalyzersError, settings::MatchSettings};

/// State of a stream.
#[derive(Debug, Default)]
pub(crate) struct MatchState {
    borders: [Border; 2],
    events: u32,
}

/// The analyzer, for one worker.
pub(crate) struct Matching {
    set: Arc<Set>,
    outlet: Outlet,
    cutoff_bytes: u64,
    excerpt_bytes: usize,
    stream_events: u32,
    hits: Vec<Hit>,
    /// Of datagrams, which are separate: no match reaches from one into the next.
    datagram: Border,
}

impl fmt::Debug for Matching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Matching").field("set", &self.set).finish_non_exhaustive()
    }
}

/// Reads and prepares the patterns; `None`: there is nothing to search for.
pub(crate) fn prepare(settings: &MatchSettings) -> Result<Option<Arc<Set>>, AnalyzersError> {
    let list = set::load(settings)?;
    let path = settings.files.last().cloned().unwrap_or_default();
    let set = Set::new(&list).map_err(|mistake| AnalyzersError::Patterns { path, mistake })?;
    Ok(set.map(Arc::new))
}

impl Matching {
    pub(crate) fn new(settings: &MatchSettings, set: Arc<Set>, outlet: Outlet) -> Self {
        Self {
            set,
            outlet,
            cutoff_bytes: settings.cutoff_bytes,
            excerpt_bytes: settings.excerpt_bytes as usize,
            stream_events: settings.stream_events,
            hits: Vec::new(),
            datagram: Border::default(),
        }
    }

    /// Searches bytes of a stream.
    #[inline]
    pub(crate) fn data<D>(
        &mut self,
        stream: &mut Stream<'_, D>,
        chunk: &Chunk<'_>,
        state: impl Fn(&mut D) -> &mut MatchState,
    ) {
        let begin = chunk.offset + chunk.repeated_bytes as u64;
        if begin >= self.cutoff_bytes {
            return;
        }
        let bytes = chunk.fresh();
        let room = usize::try_from(self.cutoff_bytes - begin).unwrap_or(usize::MAX);
        let bytes = &bytes[..bytes.len().min(room)];
        let looking = state(stream.data());
        if looking.events >= self.stream_events {
            return;
        }
        let border = if chunk.is_datagram {
            self.datagram.reset();
            &mut self.datagram
        } else {
            &mut looking.borders[chunk.direction as usize]
        };
        let hits = &mut self.hits;
        self.set.patterns.find(border, bytes, &mut |hit| hits.push(hit));
        let is_over = bytes.len() == room;
        if is_over && !chunk.is_datagram {
            *border = Border::default();
        }
        if !self.hits.is_empty() {
            self.report(stream, chunk, (begin, bytes), state);
        }
    }

    #[cold]
    fn report<D>(
        &mut self,
        stream: &mut Stream<'_, D>,
        chunk: &Chunk<'_>,
        (begin, bytes): (u64, &[u8]),
        state: impl Fn(&mut D) -> &mut MatchState,
    ) {
        let mut hits = std::mem::take(&mut self.hits);
        hits.sort_unstable();
        let (id, key, start_ns) = (stream.id(), describe::key(&stream.key()), stream.start().as_nanos());
        let looking = state(stream.data());
        for hit in hits.drain(..) {
            if looking.events == self.stream_events {
                break;
            }
            looking.events += 1;
            let named = &self.set.named[hit.pattern as usize];
            let end = begin + hit.end as u64;
            let offset = end.saturating_sub(named.bytes.len() as u64);
            let mut event = Event {
                time_ns: chunk.timestamp.as_nanos(),
                kind: named.kind.clone(),
                severity: named.severity,
                key: Some(key),
                stream: Some(id),
                place: Some(StreamPosition { direction: chunk.direction, offset }),
                excerpt: Some(self.excerpt(bytes, &hit, &named.bytes)),
                ..Event::default()
            };
            event = event.with("first", Value::Time(start_ns)).with("pattern", Value::Text(named.name.clone()));
            event = event.with("length", Value::U64(named.bytes.len() as u64));
            if looking.events == self.stream_events {
                event = event.with("search_ends", Value::Bool(true));
            }
            self.outlet.emit(event);
        }
        if looking.events >= self.stream_events {
            looking.borders = Default::default();
        }
        self.hits = hits;
    }

    /// The match with bytes before and behind it, as far as they are in the same piece. What of the match itself came before the
    /// piece is as the pattern has it.
    fn excerpt(&self, bytes: &[u8], hit: &Hit, pattern: &[u8]) -> Vec<u8> {
        let most = EXCERPT_BYTES_MAX;
        let end = bytes.len().min(hit.end + self.excerpt_bytes);
        let mut excerpt = Vec::new();
        match hit.end.checked_sub(pattern.len()) {
            Some(begin) => excerpt.extend_from_slice(&bytes[begin.saturating_sub(self.excerpt_bytes)..end]),
            None => {
                excerpt.extend_from_slice(&pattern[..pattern.len() - hit.end]);
                excerpt.extend_from_slice(&bytes[..end]);
            }
        }
        excerpt.truncate(most);
        excerpt
    }

    /// Bytes are missing: no match reaches across them. (A removed urgent byte separates nothing.)
    pub(crate) fn gap<D>(&self, stream: &mut Stream<'_, D>, gap: &Gap, state: impl Fn(&mut D) -> &mut MatchState) {
        if gap.cause != GapCause::Urgent {
            state(stream.data()).borders[gap.direction as usize].reset();
        }
    }
}
