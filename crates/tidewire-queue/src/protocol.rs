//! Messages of readers and server over the socket: one packet each way, lines of `key value` (docs/queues.md).

use std::fmt::Write as _;

/// Bytes of a message at most; what is longer is no message.
pub(crate) const MESSAGE_BYTES_MAX: usize = 1024;
/// Bytes of a queue's or a reader's name at most.
pub const NAME_BYTES_MAX: usize = 64;
/// Rule of names, for errors.
pub(crate) const NAME_RULE: &str = "names are 1 to 64 letters, digits, '.', '-' and '_'";
/// The first line of a request.
const REQUEST: &str = "tidewire-queue 1";

/// Request of a reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The queue.
    pub queue: String,
    /// Name that the reader chose.
    pub name: String,
    /// Its group.
    pub group: Option<String>,
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
    #[error("no queue is called '{requested}'; there are: {known}")]
    NoQueue {
        /// The name.
        requested: String,
        /// The names there are, separated by commas.
        known: String,
    },
    /// The user may not attach.
    #[error("user {user} may not attach to this queue; its owner can allow it (the sensor's setting 'users')")]
    User {
        /// The user.
        user: u32,
    },
    /// The server does not understand the request, or another version than this.
    #[error("the server does not understand the request: {0}")]
    Request(String),
    /// The server had no memory or descriptors for another reader.
    #[error("the server cannot serve another reader: {0}")]
    Resources(String),
}

/// Answer of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// With the queue's file and the reader's page.
    Attached {
        /// The queue's random number.
        epoch: u64,
        /// The first record that the reader will find.
        first: u64,
        /// The position of its payload.
        position: u64,
        /// The reader's place, 0 to 31.
        place: u32,
        /// The generation under which it was attached.
        generation: u32,
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

/// The value of a key, in the lines behind the first. Lines with other keys are of later versions.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().skip(1).find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))
}

fn number<T: std::str::FromStr>(text: &str, key: &str) -> Option<T> {
    value(text, key)?.parse().ok()
}

impl Request {
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = format!("{REQUEST}\nqueue {}\nname {}\n", self.queue, self.name);
        if let Some(group) = &self.group {
            let _ = writeln!(out, "group {group}");
        }
        out.into_bytes()
    }

    pub(crate) fn parse(message: &[u8]) -> Result<Self, Refusal> {
        let wrong = |what: &str| Refusal::Request(what.to_owned());
        let text = text(message).ok_or_else(|| wrong("no text of at most 1024 bytes"))?;
        if text.lines().next() != Some(REQUEST) {
            return Err(wrong("its first line must be 'tidewire-queue 1'"));
        }
        let (Some(queue), Some(name)) = (value(text, "queue"), value(text, "name")) else {
            return Err(wrong("expected the lines 'queue NAME' and 'name NAME'"));
        };
        let group = value(text, "group");
        if ![Some(queue), Some(name), group].into_iter().flatten().all(is_name) {
            return Err(wrong(NAME_RULE));
        }
        Ok(Self { queue: queue.to_owned(), name: name.to_owned(), group: group.map(str::to_owned) })
    }
}

impl Answer {
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = String::new();
        let _ = match self {
            Self::Attached { epoch, first, position, place, generation } => write!(
                out,
                "attached\nepoch {epoch}\nfirst {first}\nposition {position}\nplace {place}\ngeneration {generation}\n"
            ),
            Self::Refused(Refusal::Full { max }) => write!(out, "full\nmax {max}\n"),
            Self::Refused(Refusal::NoQueue { requested, known }) => {
                write!(out, "no-queue\nasked {}\nknown {}\n", line(requested), line(known))
            }
            Self::Refused(Refusal::User { user }) => write!(out, "user\nuser {user}\n"),
            Self::Refused(Refusal::Request(what)) => write!(out, "request\nwhat {}\n", line(what)),
            Self::Refused(Refusal::Resources(what)) => write!(out, "resources\nwhat {}\n", line(what)),
        };
        out.into_bytes()
    }

    /// `None`: it is no answer of this version.
    pub(crate) fn parse(message: &[u8]) -> Option<Self> {
        let text = text(message)?;
        Some(match text.lines().next()? {
            "attached" => Self::Attached {
                epoch: number(text, "epoch")?,
                first: number(text, "first")?,
                position: number(text, "position")?,
                place: number(text, "place").filter(|place| *place < 32)?,
                generation: number(text, "generation")?,
            },
            "full" => Self::Refused(Refusal::Full { max: number(text, "max")? }),
            "no-queue" => {
                let (requested, known) = (value(text, "asked")?.to_owned(), value(text, "known")?.to_owned());
                Self::Refused(Refusal::NoQueue { requested, known })
            }
            "user" => Self::Refused(Refusal::User { user: number(text, "user")? }),
            "request" => Self::Refused(Refusal::Request(value(text, "what")?.to_owned())),
            "resources" => Self::Refused(Refusal::Resources(value(text, "what")?.to_owned())),
            _ => return None,
        })
    }
}

/// For fuzz targets: any bytes as a message of either side; what is understood is read back after it was written.
#[doc(hidden)]
pub fn check_messages(message: &[u8]) {
    match Request::parse(message) {
        Ok(request) => assert_eq!(Request::parse(&request.write()), Ok(request)),
        Err(why) => assert!(Answer::parse(&Answer::Refused(why).write()).is_some(), "a refusal that cannot be read"),
    }
    if let Some(answer) = Answer::parse(message) {
        // Texts may have been cut, once.
        let again = Answer::parse(&answer.write()).expect("an answer that was written");
        assert_eq!(Answer::parse(&again.write()), Some(again));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn answers() -> impl Strategy<Value = Answer> {
        prop_oneof![
            (any::<u64>(), any::<u64>(), any::<u64>(), 0..32_u32, any::<u32>()).prop_map(
                |(epoch, first, position, place, generation)| Answer::Attached {
                    epoch,
                    first,
                    position,
                    place,
                    generation
                }
            ),
            any::<u32>().prop_map(|user| Answer::Refused(Refusal::User { user })),
            any::<usize>().prop_map(|max| Answer::Refused(Refusal::Full { max })),
            ("[a-z ,]{0,300}", "[a-z ,]{0,300}")
                .prop_map(|(requested, known)| Answer::Refused(Refusal::NoQueue { requested, known })),
            "[a-z ,]{0,300}".prop_map(|what| Answer::Refused(Refusal::Resources(what))),
        ]
    }

    proptest! {
        #[test]
        fn messages_are_read_back(queue in "[a-z0-9._-]{1,64}", name in "[A-Z0-9._-]{1,64}", group in proptest::option::of("[a-z]{1,64}"), answer in answers()) {
            let request = Request { queue, name, group };
            prop_assert_eq!(Request::parse(&request.write()), Ok(request));
            prop_assert_eq!(Answer::parse(&answer.write()), Some(answer));
        }

        #[test]
        fn any_bytes_are_an_error_at_most(
            message in prop::collection::vec(any::<u8>(), 0..2000),
            line in "(tidewire-queue 1|attached|full|no-queue|user)\n(.{0,40}\n){0,3}",
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
