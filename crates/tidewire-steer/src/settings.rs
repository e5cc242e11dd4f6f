//! What a program's meaning depends on beside its text.

/// Where the fragments of a datagram go when a function would go by ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fragments {
    /// All of them by their addresses, the first one too: they stay together without anything being remembered, apart
    /// from the connection's whole packets.
    #[default]
    Addresses,
    /// The first one as its ports say, the others after it; those that arrive before it by their addresses. Costs a map
    /// of datagrams.
    FollowFirst,
}

/// Where a packet goes that passes without having been steered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsteered {
    /// As `steer_flow` would send it; to the first worker where that would drop it.
    #[default]
    Flow,
    /// To the first worker.
    First,
}

/// What a program's meaning depends on beside its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// Which tunnels are looked through: their ports, and how many, of which at most [`crate::TUNNELS_MAX`] count.
    pub wire: tidewire_wire::Settings,
    /// Fragments where ports are asked for.
    pub fragments: Fragments,
    /// Packets that pass without having been steered.
    pub unsteered: Unsteered,
    /// Goes into every hash. A sender who does not know it cannot send everything to one worker.
    pub seed: u64,
}
