//! Datagrams from fragments.

/// Why a datagram, or a fragment, was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Rejection {
    /// Not finished in time.
    Timeout,
}

impl Rejection {
    /// The name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
        }
    }
}
