//! A network between spooler and collector that does what networks do.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tidewire_testing::filters::Numbers;

/// A fault of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Passes them on.
    None,
    /// Closes both sides behind so many bytes.
    Cut(u64),
    /// As a cable that is pulled out: nothing passes any more, without an error.
    Silence(u64),
    /// A byte at a time, with pauses.
    Slow,
    /// Changes a byte.
    Change(u64),
    /// Sends a piece twice.
    Twice(u64),
    /// Exchanges two pieces.
    Swap(u64),
    /// Leaves a piece out.
    Drop(u64),
}

/// A proxy.
pub struct Proxy {
    address: SocketAddr,
    faults: Arc<Mutex<(Fault, Fault)>>,
    stop: Arc<AtomicBool>,
    open: Arc<Mutex<Vec<TcpStream>>>,
    pub connections: Arc<AtomicU64>,
    /// Nothing passes on any connection, without an error.
    pub mute: Arc<AtomicBool>,
}

impl Proxy {
    pub fn start(to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Self {
            address: listener.local_addr().unwrap(),
            faults: Arc::new(Mutex::new((Fault::None, Fault::None))),
            stop: Arc::default(),
            open: Arc::default(),
            connections: Arc::default(),
            mute: Arc::default(),
        };
        let (faults, stop) = (Arc::clone(&proxy.faults), Arc::clone(&proxy.stop));
        let (open, connections) = (Arc::clone(&proxy.open), Arc::clone(&proxy.connections));
        let mute = Arc::clone(&proxy.mute);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                connections.fetch_add(1, Ordering::Relaxed);
                let Ok(server) = TcpStream::connect(to) else { continue };
                let faults = *faults.lock().unwrap();
                open.lock().unwrap().extend([client.try_clone().unwrap(), server.try_clone().unwrap()]);
                let (back, forth) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                let (one, other) = (Arc::clone(&mute), Arc::clone(&mute));
                std::thread::spawn(move || pass(client, server, faults.0, &one));
                std::thread::spawn(move || pass(back, forth, faults.1, &other));
            }
        });
        proxy
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the faults of new connections: to the collector, and back.
    pub fn set(&self, to: Fault, back: Fault) {
        *self.faults.lock().unwrap() = (to, back);
    }

    /// Ends all connections.
    pub fn cut(&self) {
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.cut();
        let _ = TcpStream::connect(self.address);
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, fault: Fault, mute: &AtomicBool) {
    let mut random = Numbers(9);
    let (mut room, mut passed, mut held) = (vec![0; 16 << 10], 0_u64, Vec::new());
    let mut is_done = false;
    loop {
        let most =
            if fault == Fault::Slow { 1 + random.below(700) as usize } else { 1 + random.below(16 << 10) as usize };
        let Ok(bytes @ 1..) = from.read(&mut room[..most]) else { break };
        let piece = &mut room[..bytes];
        let (before, after) = (passed, passed + bytes as u64);
        passed = after;
        if mute.load(Ordering::Relaxed) {
            continue;
        }
        let is_here = |at: u64| !is_done && after > at;
        let written = match fault {
            Fault::Cut(at) if is_here(at) => {
                let _ = to.write_all(&piece[..(at.saturating_sub(before)) as usize]);
                let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
                return;
            }
            // The bytes are read, so that the sender notices nothing.
            Fault::Silence(at) if after > at => Ok(()),
            Fault::Slow => {
                std::thread::sleep(Duration::from_micros(random.below(2000)));
                to.write_all(piece)
            }
            Fault::Change(at) if is_here(at) => {
                piece[bytes / 2] ^= 1 << random.below(8);
                is_done = true;
                to.write_all(piece)
            }
            Fault::Twice(at) if is_here(at) => {
                is_done = true;
                to.write_all(piece).and_then(|()| to.write_all(piece))
            }
            Fault::Swap(at) if is_here(at) && held.is_empty() => {
                held = piece.to_vec();
                Ok(())
            }
            Fault::Swap(_) if !held.is_empty() => {
                is_done = true;
                let held = std::mem::take(&mut held);
                to.write_all(piece).and_then(|()| to.write_all(&held))
            }
            Fault::Drop(at) if is_here(at) => {
                is_done = true;
                Ok(())
            }
            _ => to.write_all(piece),
        };
        if written.is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
