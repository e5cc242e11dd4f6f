macro_rules! rejections {
    ($($(#[doc = $doc:literal])+ $variant:ident => $name:literal),+ $(,)?) => {
        /// Why a datagram or a fragment was rejected.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum Rejection { $($(#[doc = $doc])+ $variant),+ }

        impl Rejection {
            /// Every reason.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name in JSON.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }
    };
}

rejections! {
    /// Not completed in time.
    Timeout => "timeout",
    /// Evicted: a bound of memory or of datagrams was reached.
    Memory => "memory",
    /// The input ended before it was complete.
    EndOfInput => "end_of_input",
    /// Two fragments overlap, and the policy rejects such datagrams.
    Overlap => "overlap",
    /// A fragment lies inside another one (the "teardrop" attack), and the policy rejects such datagrams.
    Teardrop => "teardrop",
    /// A fragment that is not the last is smaller than allowed, or a fragment is empty.
    Tiny => "tiny",
    /// A fragment reaches beyond the largest datagram.
    Oversized => "oversized",
    /// The length of a fragment that is not the last is not a multiple of eight.
    Unaligned => "unaligned",
    /// Two last fragments end at different places.
    InconsistentEnd => "inconsistent_end",
    /// Data beyond the end that the last fragment states.
    BeyondEnd => "beyond_end",
    /// More fragments than allowed.
    TooMany => "too_many",
    /// A fragment was truncated by the snap length.
    Snapped => "snapped",
    /// The first fragment does not contain the whole transport header, as IPv6 requires (RFC 7112, RFC 8200 section
    /// 4.5).
    HeaderIncomplete => "header_incomplete",
    /// Fragments with ECN and others without: hosts drop the datagram (Linux: `ip_frag_ecn_table`).
    MixedEcn => "mixed_ecn",
}

impl Rejection {
    /// Whether the fragments that arrived were valid, and others did not arrive.
    #[must_use]
    pub fn is_unfinished(self) -> bool {
        matches!(self, Self::Timeout | Self::Memory | Self::EndOfInput)
    }
}
