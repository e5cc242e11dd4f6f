//! Overlap policies of segments and fragments.
//!
//! **`linux` is the running kernel; `linux-2.6` and `old-linux` are the published models.** Novak and Sturges described
//! kernels of their time, and other tools call that `linux`. Today's kernel behaves otherwise: it joins segments, and
//! drops datagrams with overlaps. A name should mean the host that users meet today. The published models keep their
//! own names, and their published vectors pass under these.
//!
//! **The receiver decides.** The longest prefix of `--target-policy` that holds the destination decides, for segments
//! and fragments alike.

#[cfg(test)]
pub(crate) mod published;

use std::{fmt, str::FromStr};

/// Which bytes win where TCP segments overlap.
///
/// The policies beside `First` and `Last` are named after the host whose behaviour they describe. `Linux` is compared
/// with a running kernel by the project's tests. All others are unverified: they follow Novak and Sturges
/// ("Target-Based TCP Stream Reassembly", 2007), as implemented by Snort 3 and Suricata, and were not compared with
/// such a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
#[non_exhaustive]
pub enum TcpPolicy {
    /// Earlier bytes stay.
    First,
    /// Later bytes replace earlier ones.
    Last,
    /// BSD after Novak and Sturges: the old byte stays unless the new segment begins before the old one.
    Bsd,
    /// Current Linux (compared with a running kernel: its out-of-order queue, including coalescing).
    #[default]
    Linux,
    /// Linux 2.4 and 2.6 after Novak and Sturges ("linux" of Snort and Suricata): as BSD, and a longer segment with
    /// the same beginning wins.
    Linux26,
    /// Linux 2.2 and earlier after Novak and Sturges ("old-linux"): as BSD, and a segment with the same beginning
    /// that is as long or longer wins.
    Linux22,
    /// Windows up to 2003 after Novak and Sturges: as BSD.
    Windows,
    /// Windows Vista and later after Novak and Sturges: earlier bytes stay.
    Vista,
    /// Solaris after Novak and Sturges: the segment that ends later wins; of two with the same end the new one, unless
    /// it begins later. It may replace bytes that are not yet acknowledged. (In Snort the old one stays where the same
    /// segment is repeated behind a hole.)
    Solaris,
    /// HP-UX 10: as BSD according to Suricata, as Linux 2.6 according to Snort.
    Hpux10,
    /// HP-UX 11: as Solaris, and with the same exception in Snort.
    Hpux11,
    /// IRIX: as BSD according to Suricata, as Linux 2.6 according to Snort.
    Irix,
    /// Mac OS X: as BSD.
    Macos,
}

/// Which bytes win where IP fragments overlap.
///
/// `Linux` is compared with a running kernel by the project's tests. `Rfc5722` follows its standard. The others are
/// unverified: they follow Shankar and Paxson ("Active Mapping", 2003) and Novak ("Target-Based Fragmentation
/// Reassembly", 2005), as implemented by Snort 3 and Suricata, and were not compared with such a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
#[non_exhaustive]
pub enum DefragPolicy {
    /// Earlier bytes stay.
    First,
    /// Later bytes replace earlier ones.
    Last,
    /// BSD (Shankar and Paxson): the old byte stays unless the new fragment begins before the old one.
    Bsd,
    /// BSD-right (Shankar and Paxson): the new byte wins unless the new fragment begins before the old one. (In Snort it wins
    /// where the new fragment ends later, or with the old one and begins no later; Suricata has no such policy.)
    BsdRight,
    /// Current Linux (compared with a running kernel): a fragment inside bytes that arrived in sequence is ignored, any
    /// other overlap ends the datagram, and a later fragment begins a new one.
    #[default]
    Linux,
    /// Linux 2.4 and 2.6 (Shankar and Paxson; "linux" of Snort and Suricata): the old byte stays unless the new fragment
    /// begins before the old one or with it.
    Linux26,
    /// Windows (Novak): the old byte stays unless the new fragment begins before the old one and ends after it.
    Windows,
    /// Solaris (Novak): the old byte stays unless the new fragment begins before the old one and does not end before it.
    Solaris,
    /// RFC 5722 (erratum 3089): exact repetitions are ignored, a datagram with any other overlap is dropped.
    Rfc5722,
}

impl TcpPolicy {
    /// Whether a host of this kind lets a later segment replace bytes that arrived in order but are not yet
    /// acknowledged, so that nothing can be delivered before its acknowledgement.
    #[must_use]
    #[inline]
    pub fn holds_until_acknowledged(self) -> bool {
        matches!(self, Self::Last | Self::Solaris | Self::Hpux11)
    }

    /// Whether a new segment `[start, end)` wins against an old piece where both overlap.
    pub(crate) fn new_wins(self, new: (u64, u64), old: (u64, u64)) -> bool {
        match self {
            Self::First | Self::Vista => false,
            Self::Last => true,
            Self::Bsd | Self::Hpux10 | Self::Irix | Self::Windows | Self::Macos => new.0 < old.0,
            // (The kernel's queue is implemented separately; this is the closest published model.)
            Self::Linux | Self::Linux26 => new.0 < old.0 || new.0 == old.0 && new.1 > old.1,
            Self::Linux22 => new.0 < old.0 || new.0 == old.0 && new.1 >= old.1,
            Self::Solaris | Self::Hpux11 => new.1 > old.1 || new.1 == old.1 && new.0 <= old.0,
        }
    }
}

impl DefragPolicy {
    /// Whether a new fragment `[start, end)` wins against an old piece where both overlap.
    pub(crate) fn new_wins(self, new: (u64, u64), old: (u64, u64)) -> bool {
        match self {
            // (The last two policies reject such datagrams.)
            Self::First | Self::Linux | Self::Rfc5722 => false,
            Self::Last => true,
            Self::Bsd => new.0 < old.0,
            Self::BsdRight => new.0 >= old.0,
            Self::Linux26 => new.0 <= old.0,
            Self::Windows => new.0 < old.0 && new.1 > old.1,
            Self::Solaris => new.0 < old.0 && new.1 >= old.1,
        }
    }
}

/// An unknown policy name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownPolicy {
    /// The name.
    pub given: String,
    /// The known names.
    pub known: &'static [&'static str],
}

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown policy '{}': expected one of {}", self.given, self.known.join(", "))
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
