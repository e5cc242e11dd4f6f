//! Where records are sent that no file takes.

use std::{io, net::UdpSocket};

/// A collector of NetFlow that reads nothing.
pub(super) struct Collector(UdpSocket);

impl Collector {
    pub(super) fn new() -> io::Result<Self> {
        UdpSocket::bind("127.0.0.1:0").map(Self)
    }

    /// Its place, as `--to` names it.
    pub(super) fn address(&self) -> String {
        self.0.local_addr().map(|address| format!("udp://{address}")).unwrap_or_default()
    }
}
