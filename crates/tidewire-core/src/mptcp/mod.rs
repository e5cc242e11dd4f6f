//! Multipath TCP (RFC 8684): subflows, and the stream of bytes that they carry together.
//!
//! | file of `mptcp/` | what |
//! |---|---|
//! | `mod.rs` | the options of SYNs, which name the connection of a subflow |
//! | `options.rs`, `keys.rs` | the options of other segments; what follows from keys |
//! | `registry.rs` | tokens, and the connections that they name |
//! | `subflow.rs` | bytes of a subflow get their data sequence numbers |
//! | `connection_stream.rs` | bytes of all subflows are put in order |
//! | `multipath.rs` | what an engine has of these |
//!
//! The engine's part is `engine/multipath.rs`.

pub(crate) mod connection_stream;
mod keys;
pub(crate) mod multipath;
mod options;
pub(crate) mod registry;
pub(crate) mod subflow;

pub(crate) use keys::token_and_first;
pub(crate) use options::Signals;

/// Which connection a subflow of Multipath TCP belongs to (RFC 8684): its bytes are a part of that connection's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mptcp {
    /// Whether the subflow joined an existing connection (MP_JOIN); else it opened one (MP_CAPABLE).
    pub is_joined: bool,
    /// Version of the protocol, 0 or 1; 0 for subflows that joined, which do not state it.
    pub version: u8,
    /// The token by which a subflow names the connection that it joins, where its SYN was captured; that of the server's key, where
    /// both keys are known.
    pub token: Option<u32>,
    /// The server's key, of a connection's first subflow. In version 1 the first 32 bits of its SHA-256 are the token.
    pub server_key: Option<u64>,
    /// Whether the bytes of the connection's subflows are put together: they are the stream of the first one, and those that joined
    /// have no bytes of their own. Both keys were captured.
    pub is_together: bool,
    /// Of the first subflow, how many there were so far, itself included; 0: not known.
    pub subflows: u32,
}

impl Mptcp {
    /// Kind of the option.
    pub(crate) const OPTION: u8 = options::KIND;

    /// The token of the connection, where it is known: as a subflow that joined names it, or that of the server's key (RFC 8684
    /// section 3.2, RFC 6824 section 3.2).
    #[must_use]
    pub fn known_token(&self) -> Option<u32> {
        let key = self.server_key.filter(|_| self.version <= 1);
        self.token.or_else(|| key.map(|key| token_and_first(self.version, key).0))
    }

    /// Reads the option of a SYN or SYN-ACK, without kind and length (RFC 8684 sections 3.1 and 3.2).
    pub(crate) fn of(body: &[u8], is_answer: bool) -> Option<Self> {
        const CAPABLE: u8 = 0;
        const JOIN: u8 = 1;
        let first = *body.first()?;
        match (first >> 4, body, is_answer) {
            (CAPABLE, &[_, _], _) => Some(Self { version: first & 15, ..Self::default() }),
            (CAPABLE, &[_, _, ref key @ ..], _) if key.len() >= 8 => {
                let key = key.first_chunk().map(|key| u64::from_be_bytes(*key)).filter(|_| is_answer);
                Some(Self { version: first & 15, server_key: key, ..Self::default() })
            }
            (JOIN, &[_, _, a, b, c, d, ..], false) => {
                Some(Self { is_joined: true, token: Some(u32::from_be_bytes([a, b, c, d])), ..Self::default() })
            }
            (JOIN, _, true) => Some(Self { is_joined: true, ..Self::default() }),
            _ => None,
        }
    }

    /// Reads the option of the TCP header of a SYN or SYN-ACK.
    pub(crate) fn of_header(header: &[u8], is_answer: bool) -> Option<Self> {
        options::bodies(header).find_map(|body| Self::of(body, is_answer))
    }

    /// After the answer of the server: without the option in it the connection is one of TCP alone.
    pub(crate) fn answered(known: Option<Self>, answer: Option<Self>) -> Option<Self> {
        let answer = answer?;
        let known = known.filter(|known| known.is_joined == answer.is_joined).unwrap_or(answer);
        Some(Self { server_key: answer.server_key, version: answer.version, ..known })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_syns_name_connection_and_version() {
        let key = 0x0102_0304_0506_0708_u64;
        let with_key = [&[1, 0][..], &key.to_be_bytes()].concat();
        let capable = Mptcp { version: 1, ..Mptcp::default() };
        assert_eq!(Mptcp::of(&[1, 0], false), Some(capable));
        assert_eq!(Mptcp::of(&with_key, true), Some(Mptcp { server_key: Some(key), ..capable }));
        assert_eq!(Mptcp::of(&with_key, false), Some(capable), "the client's key names nothing");
        let joined = Mptcp { is_joined: true, token: Some(0x0a0b_0c0d), ..Mptcp::default() };
        let syn = Mptcp::of(&[0x10, 2, 10, 11, 12, 13, 0, 0, 0, 1], false);
        assert_eq!(syn, Some(joined));
        let answer = Mptcp::of(&[0x10, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], true);
        assert_eq!(Mptcp::answered(syn, answer), Some(joined));
        assert_eq!(Mptcp::answered(syn, None), None, "the server does without");
        for body in [&[][..], &[1], &[0x10, 2, 10], &[0x20, 0, 0, 0, 0, 0], &[1, 0, 1]] {
            assert_eq!(Mptcp::of(body, false), None, "{body:?}");
        }
    }
}
