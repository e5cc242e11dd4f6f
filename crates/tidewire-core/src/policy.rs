use std::{fmt, str::FromStr};

/// Whose bytes win where TCP segments overlap.
///
/// The policies beside `First` and `Last` are named after the host whose behaviour they describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum TcpPolicy {
    /// What came first stays.
    First,
    /// What comes later replaces it.
    Last,
    /// BSD (Novak and Sturges): the old byte stays unless the new segment begins before the old one.
    Bsd,
    /// Linux as it is now (checked against a running kernel: its out-of-order queue, coalescing included).
    #[default]
    Linux,
    /// Linux 2.4 and 2.6 after Novak and Sturges ("linux" of Snort and Suricata).
    Linux26,
    /// Linux 2.2 and earlier after Novak and Sturges ("old-linux").
    Linux22,
    /// Windows up to 2003 after Novak and Sturges.
    Windows,
    /// Windows Vista and later after Novak and Sturges.
    Vista,
    /// Solaris after Novak and Sturges.
    Solaris,
    /// HP-UX 10 after Novak and Sturges.
    Hpux10,
    /// HP-UX 11 after Novak and Sturges.
    Hpux11,
    /// IRIX after Novak and Sturges.
    Irix,
    /// Mac OS X after Novak and Sturges.
    Macos,
}

/// Whose bytes win where IP fragments overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum DefragPolicy {
    /// What came first stays.
    First,
    /// What comes later replaces it.
    Last,
    /// BSD (Shankar and Paxson): the old byte stays unless the new fragment begins before the old one.
    Bsd,
    /// BSD-right (Shankar and Paxson): the new byte wins unless the new fragment begins before the old one.
    BsdRight,
    /// Linux as it is now: a datagram with overlapping fragments is dropped whole (checked against a running kernel).
    #[default]
    Linux,
    /// Linux 2.4 and 2.6 (Shankar and Paxson; "linux" of Snort and Suricata).
    Linux26,
    /// Windows (Novak).
    Windows,
    /// Solaris (Novak).
    Solaris,
    /// RFC 5722: a datagram with any overlap is dropped whole.
    Rfc5722,
}

/// A policy's name that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPolicy {
    /// What was given.
    pub given: String,
    /// What would have been understood.
    pub known: &'static [&'static str],
}

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no policy is called '{}'; there are: {}", self.given, self.known.join(", "))
    }
}

impl std::error::Error for UnknownPolicy {}

macro_rules! names {
    ($type:ident, $($name:literal => $variant:ident),+ $(,)?) => {
        impl $type {
            /// The names, as [`FromStr`] reads them.
            pub const NAMES: &'static [&'static str] = &[$($name),+];
            /// Every policy, in the order of [`Self::NAMES`].
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The policy's name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }

        impl FromStr for $type {
            type Err = UnknownPolicy;

            fn from_str(given: &str) -> Result<Self, UnknownPolicy> {
                match given.to_ascii_lowercase().replace('_', "-").as_str() {
                    $($name => Ok(Self::$variant),)+
                    _ => Err(UnknownPolicy { given: given.into(), known: Self::NAMES }),
                }
            }
        }
    };
}

names!(TcpPolicy, "first" => First, "last" => Last, "bsd" => Bsd, "linux" => Linux, "linux-2.6" => Linux26,
    "old-linux" => Linux22, "windows" => Windows, "vista" => Vista, "solaris" => Solaris, "hpux10" => Hpux10,
    "hpux11" => Hpux11, "irix" => Irix, "macos" => Macos);
names!(DefragPolicy, "first" => First, "last" => Last, "bsd" => Bsd, "bsd-right" => BsdRight, "linux" => Linux,
    "linux-2.6" => Linux26, "windows" => Windows, "solaris" => Solaris, "rfc5722" => Rfc5722);
