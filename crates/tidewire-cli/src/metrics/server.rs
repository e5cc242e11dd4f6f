//! The part of HTTP/1.1 that a scrape needs: one request on each connection, `GET /metrics`; everything else is refused.
//!
//! One thread, which never waits for a single client: each has a time limit for its request and answer, and with too many
//! clients the oldest is dropped.

use std::{
    collections::VecDeque,
    io::{self, ErrorKind, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{accept, encode, families::Shown};

/// Most clients at a time. A scrape takes milliseconds; more are misbehaving clients.
const CLIENTS_MAX: usize = 32;
/// Longest request: its line and headers. Scrapers send a few hundred bytes.
const REQUEST_BYTES_MAX: usize = 8 << 10;
/// Time limit of a client.
const CLIENT_TIME: Duration = Duration::from_secs(5);
/// Longest delay until a stop request is noticed.
const TICK: Duration = Duration::from_millis(200);

/// The server.
pub struct Server {
    listener: TcpListener,
    shown: Shown,
    stop: Arc<AtomicBool>,
    clients: VecDeque<Client>,
}

/// A connection.
struct Client {
    stream: TcpStream,
    since: Instant,
    request: Vec<u8>,
    /// The answer, once it is known, and the number of bytes sent.
    answer: Option<(Vec<u8>, usize)>,
}

impl Server {
    /// Binds an address.
    pub fn bind(address: &str, shown: Shown, stop: Arc<AtomicBool>) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, shown, stop, clients: VecDeque::new() })
    }

    /// The bound address.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until it must stop.
    pub fn run(mut self) {
        while !self.stop.load(Ordering::Relaxed) {
            self.wait();
            self.accept();
            let shown = &self.shown;
            self.clients.retain_mut(|client| client.since.elapsed() < CLIENT_TIME && client.go_on(shown));
        }
    }

    /// Waits until a socket is ready, or a time limit is due.
    fn wait(&self) {
        let mut waited = vec![PollFd::new(&self.listener, PollFlags::IN)];
        waited.extend(self.clients.iter().map(|client| {
            PollFd::new(&client.stream, if client.answer.is_some() { PollFlags::OUT } else { PollFlags::IN })
        }));
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(TICK.subsec_nanos()) };
        if poll(&mut waited, Some(&timeout)).is_err() {
            // A signal, or no memory: wait before the next attempt.
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn accept(&mut self) {
        // At most as many as there are places, so that new connections cannot block the rest.
        for _ in 0..CLIENTS_MAX {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    if stream.set_nonblocking(true).is_err() {
                        continue;
                    }
                    if self.clients.len() >= CLIENTS_MAX {
                        self.clients.pop_front();
                    }
                    let client = Client { stream, since: Instant::now(), request: Vec::new(), answer: None };
                    self.clients.push_back(client);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // No more connections, or no free descriptor: the others continue, and end.
                Err(_) => return,
            }
        }
    }
}

impl Client {
    /// Does all work that needs no waiting; returns whether the connection continues.
    fn go_on(&mut self, shown: &Shown) -> bool {
        if self.answer.is_none() && !self.receive(shown) {
            return false;
        }
        let Some((answer, sent)) = &mut self.answer else { return true };
        while *sent < answer.len() {
            match self.stream.write(&answer[*sent..]) {
                Ok(0) => return false,
                Ok(bytes) => *sent += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
        let _ = self.stream.shutdown(Shutdown::Write);
        false
    }

    /// Reads; returns false if the connection is useless.
    fn receive(&mut self, shown: &Shown) -> bool {
        let mut room = [0; 1024];
        loop {
            match self.stream.read(&mut room) {
                Ok(0) => return false,
                Ok(bytes) => self.request.extend_from_slice(room.get(..bytes).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
            let is_whole = self.request.windows(4).any(|end| end == b"\r\n\r\n");
            if is_whole || self.request.len() > REQUEST_BYTES_MAX {
                self.answer = Some((if is_whole { answer(&self.request, shown) } else { refusal(431) }, 0));
                return true;
            }
        }
    }
}

/// The answer to a request.
fn answer(request: &[u8], shown: &Shown) -> Vec<u8> {
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split(' ');
    let (Some(method), Some(target), Some(version), None) = (words.next(), words.next(), words.next(), words.next())
    else {
        return refusal(400);
    };
    if !version.starts_with("HTTP/1.") {
        return refusal(400);
    }
    let path = target.split('?').next().unwrap_or_default();
    match (method, path) {
        ("GET", "/metrics") => {
            let families = shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if accept::prefers_plain(request) {
                response(200, encode::PLAIN_MEDIA_TYPE, &encode::encode_plain(&families))
            } else {
                response(200, encode::MEDIA_TYPE, &encode::encode(families))
            }
        }
        (_, "/metrics") => refusal(405),
        _ => refusal(404),
    }
}

fn refusal(status: u16) -> Vec<u8> {
    let body = match status {
        404 => "there is only /metrics\n",
        405 => "there is only GET\n",
        431 => "the request is too long\n",
        _ => "this is not a request\n",
    };
    response(status, "text/plain; charset=utf-8", body)
}

fn response(status: u16, media_type: &str, body: &str) -> Vec<u8> {
    let reason = match status {
        200 => "OK",
        404 => "Not Found",
        405 => "Method Not Allowed\r\nAllow: GET",
        431 => "Request Header Fields Too Large",
        _ => "Bad Request",
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let mut all = head.into_bytes();
    all.extend_from_slice(body.as_bytes());
    all
}
