/// A fragment in a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// A hash of what its datagram's fragments share: addresses, identification, protocol.
    pub(super) tag: u64,
    /// The frame's index in the batch.
    pub(super) index: u32,
    /// The key, where this is the fragment that holds the ports.
    pub(super) key: Option<u32>,
}

/// Gives each fragment the key of its datagram's first fragment with ports, or `no_key` where none is there, by way of
/// `assign(index, key)`. All fragments of a datagram get the same, so that a stable order keeps theirs.
pub(super) fn resolve(pieces: &mut [Piece], no_key: u32, mut assign: impl FnMut(u32, u32)) {
    pieces.sort_unstable_by_key(|piece| (piece.tag, piece.index));
    for datagram in pieces.chunk_by(|a, b| a.tag == b.tag) {
        let key = datagram.iter().find_map(|piece| piece.key).unwrap_or(no_key);
        for piece in datagram {
            assign(piece.index, key);
        }
    }
}
