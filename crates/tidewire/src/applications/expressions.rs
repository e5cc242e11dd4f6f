use tidewire_core::wire::LinkType;

use crate::{Error, SettingError, classes::whole_filter, filter::Filter};

/// Most different expressions of all applications together: each is a bit of a stream's marks.
const EXPRESSIONS_MAX: usize = 64;

/// Every expression once, however many applications use it.
#[derive(Default)]
pub(super) struct Expressions {
    filters: Vec<Filter>,
}

impl Expressions {
    /// The mark of streams that `expression` matches.
    pub(super) fn mark(&mut self, expression: &str) -> Result<u64, Error> {
        let known = self.filters.iter().position(|filter| filter.expression() == expression);
        let at = match known {
            Some(at) => at,
            None if self.filters.len() == EXPRESSIONS_MAX => {
                return Err(SettingError::Expressions { limit: EXPRESSIONS_MAX }.into());
            }
            None => {
                self.filters.push(whole_filter(expression)?);
                self.filters.len() - 1
            }
        };
        Ok(1 << at)
    }

    /// The marks of a stream by its first packet. An expression that has no meaning for its link type does not match.
    pub(super) fn matching(&mut self, link: LinkType, bytes: &[u8], wire_bytes: u32) -> u64 {
        let matching = self
            .filters
            .iter_mut()
            .enumerate()
            .map(|(at, filter)| u64::from(filter.matches(link, bytes, wire_bytes).unwrap_or(false)) << at);
        matching.fold(0, |marks, mark| marks | mark)
    }
}
