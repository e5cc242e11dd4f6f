//! Where records are sent that no file takes.

use std::{
    io,
    net::{SocketAddr, UdpSocket},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
};

/// A collector of NetFlow that counts bytes.
pub(super) struct Collector {
    address: SocketAddr,
    bytes: Arc<AtomicU64>,
    reader: JoinHandle<()>,
}

impl Collector {
    pub(super) fn new() -> io::Result<Self> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        let (address, bytes) = (socket.local_addr()?, Arc::new(AtomicU64::new(0)));
        let count = Arc::clone(&bytes);
        let reader = thread::spawn(move || {
            let mut message = [0; 1 << 16];
            // An empty datagram ends it.
            while let Ok(received @ 1..) = socket.recv(&mut message) {
                count.fetch_add(received as u64, Ordering::Relaxed);
            }
        });
        Ok(Self { address, bytes, reader })
    }

    /// Its place, as `--to` names it.
    pub(super) fn address(&self) -> String {
        format!("udp://{}", self.address)
    }

    /// Ends it; the bytes that it received.
    pub(super) fn finish(self) -> io::Result<u64> {
        UdpSocket::bind("127.0.0.1:0")?.send_to(&[], self.address)?;
        // Whatever made it panic, its count stands.
        let _ = self.reader.join();
        Ok(self.bytes.load(Ordering::Relaxed))
    }
}
