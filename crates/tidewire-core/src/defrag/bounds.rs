use crate::Config;

/// IPv4's total length and IPv6's payload length have 16 bits.
pub(super) const IP_LENGTH_MAX: u32 = 65_535;

/// The settings that bound the table; see [`Config`] for each.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    pub fragment_bytes_min: u32,
    pub fragments_max: u32,
    pub datagram_bytes_max: u32,
    fragment_timeout_ns: u64,
    fragment_timeout_v6_ns: u64,
    pub fragment_memory_bytes: u64,
    pub datagrams_max: u32,
}

impl Bounds {
    pub fn of(config: &Config) -> Self {
        Self {
            fragment_bytes_min: config.fragment_bytes_min,
            fragments_max: config.fragments_max,
            datagram_bytes_max: config.datagram_bytes_max,
            fragment_timeout_ns: config.fragment_timeout_ns,
            fragment_timeout_v6_ns: config.fragment_timeout_v6_ns,
            fragment_memory_bytes: config.fragment_memory_bytes,
            datagrams_max: config.datagrams_max.max(1),
        }
    }

    /// How long a datagram's fragments are held.
    pub fn timeout_ns(&self, is_ipv6: bool) -> u64 {
        if is_ipv6 { self.fragment_timeout_v6_ns } else { self.fragment_timeout_ns }
    }
}
