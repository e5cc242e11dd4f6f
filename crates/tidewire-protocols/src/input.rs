//! Inputs of protocols from a stream, and their progress.

/// The ports of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ports {
    /// The client's.
    pub client: u16,
    /// The server's.
    pub server: u16,
}

/// How a protocol goes on after bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It wants more.
    More,
    /// It has all that there is.
    Done,
    /// It is another protocol than it seemed.
    Mistaken,
    /// Another protocol begins behind so many bytes of this piece.
    Switch(usize),
}

/// A piece of a stream as its protocol sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input<'a> {
    /// 0: the protocol's client.
    pub(crate) side: usize,
    pub(crate) bytes: &'a [u8],
    pub(crate) is_datagram: bool,
    pub(crate) ns: u64,
}
