//! Settings that a program's meaning depends on.

/// Where the fragments of a datagram go when a function steers by ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fragments {
    /// All fragments go by their addresses, including the first one: they stay together without any state, but apart
    /// from the whole packets of the connection.
    #[default]
    Addresses,
    /// The first fragment goes by its ports, and the others follow it; those that arrive before it go by their
    /// addresses. Costs a map of datagrams.
    FollowFirst,
}

/// Where a packet goes that passes without having been steered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsteered {
    /// As `steer_flow` would send it; to the first worker if that would drop it.
    #[default]
    Flow,
    /// To the first worker.
    First,
}

/// Settings that a program's meaning depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// Which tunnels are decapsulated: their ports, and how many, of which at most [`crate::TUNNELS_MAX`] count.
    pub wire: tidewire_wire::Settings,
    /// Where fragments go when a function steers by ports.
    pub fragments: Fragments,
    /// Where packets go that pass without having been steered.
    pub unsteered: Unsteered,
    /// Seed of every hash. A sender who does not know it cannot send everything to one worker.
    pub seed: u64,
}
