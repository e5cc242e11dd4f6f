//! Where records are sent that no file takes.

use std::{
    io,
    net::{SocketAddr, UdpSocket},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

/// Longest wait for the thread that counts.
const PATIENCE: Duration = Duration::from_secs(60);

/// A collector of NetFlow that counts bytes.
pub(super) struct Collector {
    address: SocketAddr,
    /// Bytes before each empty datagram.
    counts: Receiver<u64>,
}

impl Collector {
    pub(super) fn new() -> io::Result<Self> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        let address = socket.local_addr()?;
        let (count, counts) = mpsc::channel();
        thread::spawn(move || {
            let (mut message, mut bytes) = ([0; 1 << 16], 0);
            while let Ok(received) = socket.recv(&mut message) {
                bytes += received as u64;
                if received == 0 && count.send(std::mem::take(&mut bytes)).is_err() {
                    break;
                }
            }
        });
        Ok(Self { address, counts })
    }

    /// Its place, as `--to` names it.
    pub(super) fn address(&self) -> String {
        format!("udp://{}", self.address)
    }

    /// The bytes that it received since the last call.
    pub(super) fn bytes(&self) -> io::Result<u64> {
        self.end_of_count()?;
        self.counts.recv_timeout(PATIENCE).map_err(io::Error::other)
    }

    /// Sends the empty datagram that ends a count.
    fn end_of_count(&self) -> io::Result<()> {
        UdpSocket::bind("127.0.0.1:0")?.send_to(&[], self.address).map(|_| ())
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        // Without a receiver, this ends the thread.
        let (_, nothing) = mpsc::channel();
        self.counts = nothing;
        let _ = self.end_of_count();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_count_begins_with_nothing() -> io::Result<()> {
        let collector = Collector::new()?;
        let sender = UdpSocket::bind("127.0.0.1:0")?;
        for length in [3, 5] {
            sender.send_to(&[1; 8][..length], collector.address)?;
            assert_eq!(collector.bytes()?, length as u64);
        }
        assert_eq!(collector.bytes()?, 0);
        Ok(())
    }
}
