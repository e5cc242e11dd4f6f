macro_rules! rejections {
    ($($(#[doc = $doc:literal])+ $variant:ident => $name:literal),+ $(,)?) => {
        /// Why a datagram, or a fragment, was not accepted.
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
    /// Not finished in time.
    Timeout => "timeout",
    /// Given up for others: a bound of memory or of datagrams was reached.
    Memory => "memory",
    /// The input ended before it was finished.
    EndOfInput => "end_of_input",
    /// Two fragments overlap, and the policy does not take such datagrams.
    Overlap => "overlap",
    /// A fragment lies inside of another one (the "teardrop" attack), and the policy does not take such datagrams.
    Teardrop => "teardrop",
    /// A fragment that is not the last is smaller than the least allowed, or one is empty.
    Tiny => "tiny",
    /// A fragment reaches beyond the largest datagram.
    Oversized => "oversized",
    /// A fragment that is not the last has a length that is no multiple of eight.
    Unaligned => "unaligned",
    /// Two last fragments end at different places.
    InconsistentEnd => "inconsistent_end",
    /// Data beyond the end that the last fragment gives.
    BeyondEnd => "beyond_end",
    /// More fragments than allowed.
    TooMany => "too_many",
    /// A fragment was not captured whole.
    Snapped => "snapped",
    /// The first fragment does not hold the whole transport header, which IPv6 asks for (RFC 7112, RFC 8200 section 4.5).
    HeaderIncomplete => "header_incomplete",
    /// Fragments without ECN and others with it: a host drops the datagram (Linux: `ip_frag_ecn_table`).
    MixedEcn => "mixed_ecn",
}

impl Rejection {
    /// Whether nothing was wrong with the fragments that came: others did not.
    #[must_use]
    pub fn is_unfinished(self) -> bool {
        matches!(self, Self::Timeout | Self::Memory | Self::EndOfInput)
    }
}
