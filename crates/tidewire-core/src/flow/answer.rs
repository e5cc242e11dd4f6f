//! A SYN-ACK that may have opened a connection beside another one.

/// A SYN-ACK, as far as a connection depends on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    /// The sequence number behind it.
    pub first_byte: u32,
    /// Timestamp value, where the option is present.
    pub timestamp: Option<u32>,
    /// Shift count of the server's windows, where the option is present.
    pub scale: Option<u8>,
}
