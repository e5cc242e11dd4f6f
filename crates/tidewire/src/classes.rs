//! Classes of streams by filter expression.

use tidewire_core::{Class, Classify, Frame, wire::LinkType};

use crate::{Error, filter::Filter};

/// One class: what an expression matches, and what those streams get.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub expression: String,
    pub cutoff: Option<[u64; 2]>,
    pub priority: Option<u8>,
}

impl Rule {
    /// The port and the priority, where all that the expression says is a port: a program in the kernel can tell such
    /// streams from their first packet on.
    pub(crate) fn port_priority(&self) -> Option<(u16, u8)> {
        let words: Vec<&str> = self.expression.split_ascii_whitespace().collect();
        let words = match words.as_slice() {
            ["tcp" | "udp" | "sctp", rest @ ..] => rest,
            all => all,
        };
        let ["port", port] = words else { return None };
        Some((port.parse().ok()?, self.priority?))
    }
}

/// The classes in order; for each of cutoff and priority the first that matches and says something decides.
pub(crate) struct Rules {
    compiled: Vec<(Filter, Class)>,
}

impl Rules {
    pub(crate) fn compile(rules: &[Rule]) -> Result<Self, Error> {
        let compile = |rule: &Rule| {
            let class = Class { priority: rule.priority, cutoff: rule.cutoff, ..Class::NONE };
            Ok((whole_filter(&rule.expression)?, class))
        };
        Ok(Self { compiled: rules.iter().map(compile).collect::<Result<_, Error>>()? })
    }
}

/// An expression that is asked about frames of interfaces, and about rebuilt datagrams: compiled for both now, because it
/// may hold names, and nobody is asked for those once privileges are given up.
pub(crate) fn whole_filter(expression: &str) -> Result<Filter, Error> {
    let mut filter = Filter::new(expression)?;
    // Where it has no meaning for bare IP packets it matches none.
    let _ = filter.prepare(LinkType::RAW);
    Ok(filter)
}

impl Classify for Rules {
    fn classify(&mut self, frame: &Frame, bytes: &[u8]) -> Class {
        let mut class = Class::NONE;
        for (filter, rule) in &mut self.compiled {
            let news = rule.priority.is_some() && class.priority.is_none();
            let news = news || (rule.cutoff.is_some() && class.cutoff.is_none());
            // An expression that cannot be used on a frame's link type matches nothing there.
            if news && filter.matches(frame.link, bytes, frame.wire_bytes).unwrap_or(false) {
                class.priority = class.priority.or(rule.priority);
                class.cutoff = class.cutoff.or(rule.cutoff);
            }
        }
        class
    }
}
