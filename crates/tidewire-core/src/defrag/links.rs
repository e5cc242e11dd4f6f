/// No datagram.
pub(super) const NIL: u32 = u32::MAX;

/// A datagram's neighbours in a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Links {
    pub before: u32,
    pub after: u32,
}

impl Links {
    pub const NONE: Self = Self { before: NIL, after: NIL };
}
