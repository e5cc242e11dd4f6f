//! What readers and server say to each other over the socket: one packet each way, lines of `key value` (docs/queues.md).

use std::fmt::Write as _;

/// Bytes of a message at most; what is longer is no message.
pub(crate) const MESSAGE_BYTES_MAX: usize = 1024;
/// Bytes of a queue's or a reader's name at most.
pub const NAME_BYTES_MAX: usize = 64;
/// The first line of a request.
const REQUEST: &str = "tidewire-queue 1";

/// What a reader asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The queue.
    pub queue: String,
    /// What the reader calls itself.
    pub name: String,
}

/// Why a reader was turned away.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The queue has as many readers as it may have.
    #[error("the queue has {max} readers, which is as many as it may have; detach one")]
    Full {
        /// Readers of a queue, at most.
        max: usize,
    },
    /// There is no such queue.
    #[error("no queue is called '{asked}'; there are: {known}")]
    NoQueue {
        /// The name.
        asked: String,
        /// The names there are, separated by commas.
        known: String,
    },
    /// The server does not understand the request, or another version than this.
    #[error("the server does not understand the request: {0}")]
    Request(String),
    /// The server had no memory or descriptors for another reader.
    #[error("the server cannot serve another reader: {0}")]
    Resources(String),
}

/// What the server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// With the queue's file and the reader's page.
    Attached {
        /// The queue's random number.
        epoch: u64,
        /// The first record that the reader will find.
        first: u64,
    },
    Refused(Refusal),
}

/// Whether it can be a name: 1 to [`NAME_BYTES_MAX`] letters, digits, `.`, `-` and `_`.
#[must_use]
pub fn is_name(text: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
}

/// A text on one line, cut where it is too long.
fn line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(400).collect()
}

fn text(message: &[u8]) -> Option<&str> {
    if message.len() > MESSAGE_BYTES_MAX { None } else { std::str::from_utf8(message).ok() }
}

/// The values of exactly these keys, in this order.
fn values<'a, const N: usize>(lines: std::str::Lines<'a>, keys: [&str; N]) -> Option<[&'a str; N]> {
    let mut found = [""; N];
    let mut lines = lines;
    for (value, key) in found.iter_mut().zip(keys) {
        *value = lines.next()?.strip_prefix(key)?.strip_prefix(' ')?;
    }
    lines.next().is_none().then_some(found)
}

impl Request {
    pub(crate) fn write(&self) -> Vec<u8> {
        format!("{REQUEST}\nqueue {}\nname {}\n", self.queue, self.name).into_bytes()
    }

    pub(crate) fn parse(message: &[u8]) -> Result<Self, Refusal> {
        let wrong = |what: &str| Refusal::Request(what.to_owned());
        let text = text(message).ok_or_else(|| wrong("no text of at most 1024 bytes"))?;
        let mut lines = text.lines();
        if lines.next() != Some(REQUEST) {
            return Err(wrong("its first line must be 'tidewire-queue 1'"));
        }
        let [queue, name] =
            values(lines, ["queue", "name"]).ok_or_else(|| wrong("expected the lines 'queue NAME' and 'name NAME'"))?;
        if !is_name(queue) || !is_name(name) {
            return Err(wrong("names are 1 to 64 letters, digits, '.', '-' and '_'"));
        }
        Ok(Self { queue: queue.to_owned(), name: name.to_owned() })
    }
}

impl Answer {
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = String::new();
        let _ = match self {
            Self::Attached { epoch, first } => write!(out, "attached\nepoch {epoch}\nfirst {first}\n"),
            Self::Refused(Refusal::Full { max }) => write!(out, "full\nmax {max}\n"),
            Self::Refused(Refusal::NoQueue { asked, known }) => {
                write!(out, "no-queue\nasked {}\nknown {}\n", line(asked), line(known))
            }
            Self::Refused(Refusal::Request(what)) => write!(out, "request\nwhat {}\n", line(what)),
            Self::Refused(Refusal::Resources(what)) => write!(out, "resources\nwhat {}\n", line(what)),
        };
        out.into_bytes()
    }

    /// `None`: it is no answer of this version.
    pub(crate) fn parse(message: &[u8]) -> Option<Self> {
        let mut lines = text(message)?.lines();
        Some(match lines.next()? {
            "attached" => {
                let [epoch, first] = values(lines, ["epoch", "first"])?;
                Self::Attached { epoch: epoch.parse().ok()?, first: first.parse().ok()? }
            }
            "full" => {
                let [max] = values(lines, ["max"])?;
                Self::Refused(Refusal::Full { max: max.parse().ok()? })
            }
            "no-queue" => {
                let [asked, known] = values(lines, ["asked", "known"])?;
                Self::Refused(Refusal::NoQueue { asked: asked.to_owned(), known: known.to_owned() })
            }
            "request" => Self::Refused(Refusal::Request(values(lines, ["what"])?[0].to_owned())),
            "resources" => Self::Refused(Refusal::Resources(values(lines, ["what"])?[0].to_owned())),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn answers() -> impl Strategy<Value = Answer> {
        prop_oneof![
            (any::<u64>(), any::<u64>()).prop_map(|(epoch, first)| Answer::Attached { epoch, first }),
            any::<usize>().prop_map(|max| Answer::Refused(Refusal::Full { max })),
            ("[a-z ,]{0,300}", "[a-z ,]{0,300}")
                .prop_map(|(asked, known)| Answer::Refused(Refusal::NoQueue { asked, known })),
            "[a-z ,]{0,300}".prop_map(|what| Answer::Refused(Refusal::Resources(what))),
        ]
    }

    proptest! {
        #[test]
        fn messages_are_read_back(queue in "[a-z0-9._-]{1,64}", name in "[A-Z0-9._-]{1,64}", answer in answers()) {
            let request = Request { queue, name };
            prop_assert_eq!(Request::parse(&request.write()), Ok(request));
            prop_assert_eq!(Answer::parse(&answer.write()), Some(answer));
        }

        #[test]
        fn any_bytes_are_an_error_at_most(
            message in prop::collection::vec(any::<u8>(), 0..2000),
            line in "(tidewire-queue 1|attached|full|no-queue)\n(.{0,40}\n){0,3}",
        ) {
            for message in [message.as_slice(), line.as_bytes()] {
                let _ = Request::parse(message);
                let _ = Answer::parse(message);
            }
        }
    }

    #[test]
    fn mistakes_are_named() {
        let said = |message: &str| Request::parse(message.as_bytes()).unwrap_err().to_string();
        assert!(said("tidewire-queue 2\n").ends_with("must be 'tidewire-queue 1'"));
        assert!(said("tidewire-queue 1\nqueue main\n").ends_with("and 'name NAME'"));
        assert!(said("tidewire-queue 1\nqueue ../x\nname y\n").ends_with("'.', '-' and '_'"));
    }
}
