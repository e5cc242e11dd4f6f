//! Settings of traffic that is not possible, and the bounds that they name.

/// Smallest frame on the wire, FCS included.
pub(crate) const SIZE_MIN: u32 = 64;
/// Largest: an IP packet of 9,000 bytes, Ethernet header and FCS.
pub(crate) const SIZE_MAX: u32 = 9018;
/// Slots that are divided among sizes.
pub(crate) const PLACES: usize = 128;

const FORMS: &str =
    "give 512, or several as in 64,1518, with shares as in 64:7,594:4,1518:1, a range as in 64-1518, or imix";

/// The caller's: settings of traffic that is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// None of something, or too many.
    #[error("{what} must be 1 to {most}, got {got}")]
    Count {
        /// The counted thing.
        what: &'static str,
        /// Most of them.
        most: u64,
        /// As many were requested.
        got: u64,
    },
    /// A frame is too short or too long.
    #[error("a frame must have {SIZE_MIN} to {SIZE_MAX} bytes with its FCS, got {bytes}")]
    FrameBytes {
        /// Its bytes.
        bytes: u32,
    },
    /// A datagram is too short or too long.
    #[error("datagrams must have {least} to {most} bytes, got {bytes}")]
    DatagramBytes {
        /// Least bytes.
        least: u32,
        /// Most bytes.
        most: u32,
        /// Its bytes.
        bytes: u32,
    },
    /// A fragment is too long, empty, or no multiple of eight bytes.
    #[error("fragments of {bytes} bytes: give a multiple of 8, 8 to {most}")]
    FragmentBytes {
        /// Most bytes.
        most: u32,
        /// Its bytes.
        bytes: u32,
    },
    /// A datagram needs no fragments.
    #[error("datagrams of {bytes} bytes: they fit one fragment; make them larger, or the fragments smaller")]
    OneFragment {
        /// Its bytes.
        bytes: u32,
    },
    /// More flaws than datagrams.
    #[error("the shares of datagrams with flaws are more than a thousand in a thousand")]
    Flaws,
    /// Nothing has a share.
    #[error("shares that are all 0")]
    NoShare,
    /// A share that is not a slot.
    #[error("a share of {share} in {whole} is too small: at least one in {PLACES}")]
    SmallShare {
        /// The share.
        share: u32,
        /// The sum of all.
        whole: u64,
    },
    /// A text that is no size of frames.
    #[error("'{text}' {problem}: {}", FORMS)]
    Size {
        /// The text.
        text: String,
        /// The mistake in it.
        problem: &'static str,
    },
}

impl SettingError {
    /// Checks that there is at least one, and at most `most`.
    pub(crate) fn check_count(what: &'static str, most: u64, got: u64) -> Result<(), Self> {
        if (1..=most).contains(&got) { Ok(()) } else { Err(Self::Count { what, most, got }) }
    }
}

/// For programs whose errors are texts.
impl From<SettingError> for String {
    fn from(error: SettingError) -> Self {
        error.to_string()
    }
}
