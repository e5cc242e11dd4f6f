//! Classes of streams by filter expression.

use tidewire_core::{Class, Classify, DirectionCutoff, Frame, wire::LinkType};

use crate::{Error, filter::Filter};

/// A class of streams: those whose first packet matches an expression. It sets their cutoff, priority, or both.
///
#[cfg_attr(feature = "filter", doc = "```")]
#[cfg_attr(not(feature = "filter"), doc = "```ignore")]
/// use tidewire::StreamClass;
///
/// let web = StreamClass::matching("tcp port 80 or tcp port 443").cutoff(16 << 10).priority(1);
/// ```
#[derive(Clone, Debug)]
#[must_use = "a class is for `Capture::class` or `Application::class`"]
pub struct StreamClass {
    pub(crate) expression: String,
    pub(crate) cutoff: Option<DirectionCutoff>,
    pub(crate) priority: Option<u8>,
}

impl StreamClass {
    /// A class by an expression in libpcap's language, without a cutoff or priority yet.
    #[cfg(feature = "filter")]
    pub fn matching(expression: impl Into<String>) -> Self {
        Self { expression: expression.into(), cutoff: None, priority: None }
    }

    /// Delivers at most `bytes` of each direction.
    pub fn cutoff(mut self, bytes: impl Into<Option<u64>>) -> Self {
        self.cutoff = Some(DirectionCutoff::of(bytes));
        self
    }

    /// The priority, 0 (the lowest) to 7.
    pub fn priority(mut self, level: u8) -> Self {
        self.priority = Some(level);
        self
    }

    /// The port and the priority, if the expression is a single port: a program in the kernel can classify such streams from
    /// their first packet.
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

/// The classes in order. The first matching class that sets a cutoff decides the cutoff, and likewise the priority.
pub(crate) struct Classes {
    compiled: Vec<(Filter, Class)>,
}

impl Classes {
    pub(crate) fn compile(classes: &[StreamClass]) -> Result<Self, Error> {
        let compile = |rule: &StreamClass| {
            let class = Class::NONE.with_priority(rule.priority).with_cutoff(rule.cutoff);
            Ok((whole_filter(&rule.expression)?, class))
        };
        Ok(Self { compiled: classes.iter().map(compile).collect::<Result<_, Error>>()? })
    }
}

/// An expression that is applied to frames of interfaces, and to rebuilt datagrams: compiled for both now, because it may
/// hold host names, which cannot be resolved once privileges are given up.
pub(crate) fn whole_filter(expression: &str) -> Result<Filter, Error> {
    let mut filter = Filter::new(expression)?;
    // Where it has no meaning for bare IP packets it matches none.
    let _ = filter.prepare(LinkType::RAW);
    Ok(filter)
}

impl Classify for Classes {
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
