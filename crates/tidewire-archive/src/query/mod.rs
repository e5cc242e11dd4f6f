//! Queries of an archive.

mod expression;
mod headers;
mod wanted;

use tidewire_filter::{Filter, Fragments};
use tidewire_wire::{Frame, LinkType};

use crate::{
    Error,
    index::{Row, Sidecar, Term},
};
use expression::Condition;
use headers::Headers;
pub use wanted::{Network, Query};

/// A query with its filter compiled, as it is applied to packets.
#[derive(Debug)]
pub(crate) struct Exact {
    pub query: Query,
    filter: Option<Filter>,
    headers: Headers,
    /// Datagrams whose first fragment was found: the later ones have no ports.
    fragments: Fragments,
    /// Link types for which the expression has no meaning: none of their packets is found.
    refused: Vec<LinkType>,
    /// Errors that report them.
    problems: Vec<Error>,
}

/// Link types without meaning that are reported.
const REFUSED_MAX: usize = 16;

impl Exact {
    pub fn new(query: &Query) -> Result<Self, Error> {
        query.check()?;
        let filter = query.filter.as_deref().map(Filter::new).transpose()?;
        let (headers, fragments) = (Headers::new(query), Fragments::default());
        Ok(Self { query: query.clone(), filter, headers, fragments, refused: Vec::new(), problems: Vec::new() })
    }

    /// Whether a packet is found: by itself, or as a later fragment of a datagram whose first one was. That the expression has no
    /// meaning for its link type is a problem, once.
    pub fn matches(&mut self, frame: &Frame, bytes: &[u8]) -> bool {
        if !self.query.wants_time(frame.timestamp.as_nanos()) {
            return false;
        }
        if self.filter.is_none() && !self.headers.has_conditions() {
            return true;
        }
        let by_itself = self.headers.matches(&self.query, frame, bytes) && self.has_expression(frame, bytes);
        self.fragments.accepts(frame.link, bytes, frame.wire_bytes, frame.timestamp.as_nanos(), by_itself)
    }

    fn has_expression(&mut self, frame: &Frame, bytes: &[u8]) -> bool {
        let Some(filter) = &mut self.filter else { return true };
        filter.matches(frame.link, bytes, frame.wire_bytes).unwrap_or_else(|error| {
            if self.refused.len() < REFUSED_MAX && !self.refused.contains(&frame.link) {
                self.refused.push(frame.link);
                self.problems.push(error.into());
            }
            false
        })
    }

    /// Problems that were not reported yet.
    pub fn take_problems(&mut self) -> Vec<Error> {
        std::mem::take(&mut self.problems)
    }
}

/// Ranks of the records that fulfil a condition, sorted; `None`: it says nothing.
pub(crate) fn candidates(sidecar: &mut Sidecar, condition: &Condition) -> Result<Option<Vec<u32>>, Error> {
    let Some(mut ranks) = fulfilling(sidecar, condition)? else { return Ok(None) };
    sidecar.find(Term::Unknown, Term::Unknown, &mut ranks)?;
    sort(&mut ranks);
    Ok(Some(ranks))
}

fn fulfilling(sidecar: &mut Sidecar, condition: &Condition) -> Result<Option<Vec<u32>>, Error> {
    match condition {
        Condition::Any => Ok(None),
        Condition::Terms(from, to) => {
            let mut ranks = Vec::new();
            sidecar.find(*from, *to, &mut ranks)?;
            sort(&mut ranks);
            Ok(Some(ranks))
        }
        Condition::All(conditions) => {
            let mut found: Option<Vec<u32>> = None;
            // A protocol has the most records: it is not looked up where other terms decide.
            let is_proto = |condition: &&Condition| matches!(condition, Condition::Terms(Term::Proto(_), _));
            let others = conditions.iter().filter(|condition| !is_proto(condition));
            let protos = conditions.iter().filter(is_proto);
            for condition in others.chain(protos) {
                if found.as_ref().is_some_and(Vec::is_empty) || found.is_some() && is_proto(&condition) {
                    break;
                }
                if let Some(ranks) = fulfilling(sidecar, condition)? {
                    found = Some(match found {
                        Some(mut found) => {
                            found.retain(|rank| ranks.binary_search(rank).is_ok());
                            found
                        }
                        None => ranks,
                    });
                }
            }
            Ok(found)
        }
        Condition::Either(conditions) => {
            let mut found = Vec::new();
            for condition in conditions {
                let Some(ranks) = fulfilling(sidecar, condition)? else { return Ok(None) };
                found.extend(ranks);
            }
            sort(&mut found);
            Ok(Some(found))
        }
    }
}

fn sort(ranks: &mut Vec<u32>) {
    ranks.sort_unstable();
    ranks.dedup();
}

/// Whether a row has packets in the time of a query.
pub(crate) fn is_in_time(query: &Query, row: &Row) -> bool {
    query.from_ns.is_none_or(|from| row.record.last_ns >= from) && query.to_ns.is_none_or(|to| row.record.first_ns < to)
}
