use std::{fmt, str::FromStr};

use crate::SettingError;

/// The property by which packets are brought together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Key {
    /// The destination port of TCP, UDP, SCTP and UDP-Lite, ascending; other packets last. Packets to port 65,535 are
    /// among those. The paper's key.
    Port,
    /// The service's port, see [`service_port`](crate::service_port): both directions of a conversation together, and all conversations of a
    /// service.
    #[default]
    Service,
    /// The conversation, and the conversations of one service beside each other. Packets of IP without ports (ICMP, ESP) go
    /// by their addresses, after those with ports; packets that are not IP last.
    Flow,
}

impl Key {
    /// Every key.
    pub const ALL: &'static [Self] = &[Self::Port, Self::Service, Self::Flow];

    /// As settings name it: `port`, `service` or `flow`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Port => "port",
            Self::Service => "service",
            Self::Flow => "flow",
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Key {
    type Err = SettingError;

    fn from_str(name: &str) -> Result<Self, SettingError> {
        let key = Self::ALL.iter().copied().find(|key| key.name() == name);
        key.ok_or_else(|| SettingError::UnknownKey { name: name.into() })
    }
}
