//! One connection of a sensor, from its first byte to its last.

use std::{
    collections::HashMap,
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use rustls::ServerConnection;
use tidewire_event_store::KeyId;

use super::{
    log::About,
    sensors::{Refusal, Sensor},
    shared::{Admitted, Shared},
};
use crate::{
    keys::Facts,
    limits::{FRAME_BYTES_MAX, GREETING_BYTES_MAX, GREETING_TIME, PROTOCOL_VERSION, is_sensor_name},
    protocol::{Code, Frame, Message, StoreId, Unpacker, rows},
    tls::{Link, LinkError},
};

/// Larger batches need a place ([`super::bounds`]) while they are decoded and stored, and larger frames may arrive slowly.
const SMALL_FRAME_BYTES: usize = 64 << 10;
/// How much of a large frame has to arrive in so long.
const FRAME_STEP: Duration = Duration::from_secs(10);
const FRAME_STEP_BYTES: u64 = 2 << 10;
/// How long a batch waits for a place.
const PLACE_TIME: Duration = Duration::from_secs(30);
/// Data keys that a connection may announce before it uses them.
const KEYS_WAITING_MAX: usize = 64;
/// The longest wait of a sensor that sends too much, at a time.
const RATE_WAIT_MAX: Duration = Duration::from_secs(10);

/// Why a connection ends.
enum End {
    /// The sensor said so, or closed it.
    Orderly,
    /// Another connection of the sensor took its place.
    Replaced,
    /// The collector ends.
    Stopped,
    /// The connection failed.
    Link(LinkError),
    /// It is refused.
    Refused(Code, String),
}

impl From<LinkError> for End {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::Garbled(garbled) => Self::Refused(Code::Garbled, garbled.to_string()),
            error => Self::Link(error),
        }
    }
}

fn garbled(error: impl std::fmt::Display) -> End {
    End::Refused(Code::Garbled, error.to_string())
}

/// A sensor that the collector's list has.
fn shut_out() -> End {
    End::Refused(Code::Name, "this sensor or its certificate was shut out here".into())
}

/// A connection that was greeted.
struct Session<'a> {
    shared: &'a Shared,
    link: Link,
    number: u64,
    sensor: Arc<Sensor>,
    store: StoreId,
    /// Where the next batch begins; `None`: the sensor decides.
    next: Option<u64>,
    /// Facts of its certificate.
    facts: Facts,
    keys: HashMap<KeyId, Vec<u8>>,
    unpacker: Unpacker,
}

/// An address as its user knows it: a socket of both families shows IPv4 addresses as mapped ones (RFC 4291 2.5.5.2).
fn canonical(peer: SocketAddr) -> SocketAddr {
    SocketAddr::new(peer.ip().to_canonical(), peer.port())
}

/// Serves a connection to its end.
pub(super) fn serve(shared: &Shared, number: u64, tcp: TcpStream) {
    let peer = tcp.peer_addr().map_or_else(|_| "an unknown address".to_owned(), |peer| canonical(peer).to_string());
    let until = Instant::now() + GREETING_TIME;
    let Ok(second) = tcp.try_clone() else { return };
    let connection = match ServerConnection::new(shared.tls()) {
        Ok(connection) => connection,
        Err(error) => return shared.log.line(format_args!("no connection can be made: {error}")),
    };
    let mut link = match Link::greet(connection.into(), tcp, until) {
        Ok(link) => link,
        Err(error) => {
            shared.refuse(About::Strangers, format_args!("{peer}: refused: {error}"));
            // The last message of TLS has to arrive.
            return crate::tls::linger(&second, Instant::now() + Duration::from_millis(500));
        }
    };
    // Its certificate is known by now.
    let about = About::Sensors;
    let greeted = hello(shared, number, &mut link, second, until);
    let (who, end) = match greeted {
        Ok((sensor, store, next, facts, _admitted)) => {
            let who = format!("sensor {} ({peer})", sensor.name);
            let behind =
                next.map_or_else(|| "new here".to_owned(), |next| format!("has everything up to record {next}"));
            shared.log.limited(about, format_args!("{who}: connected, {behind}"));
            let end = match Unpacker::new() {
                Ok(unpacker) => {
                    let (sensor, keys) = (Arc::clone(&sensor), HashMap::new());
                    let mut session = Session { shared, link, number, sensor, store, next, facts, keys, unpacker };
                    let end = session.run();
                    link = session.link;
                    end
                }
                Err(error) => End::Refused(Code::Busy, error.to_string()),
            };
            sensor.end(number);
            (who, end)
        }
        Err(end) => (peer, end),
    };
    match end {
        End::Orderly => shared.log.limited(about, format_args!("{who}: disconnected")),
        End::Stopped => shared.log.limited(about, format_args!("{who}: disconnected, as the collector ends")),
        End::Replaced => shared.log.limited(about, format_args!("{who}: another connection took its place")),
        End::Link(error) => shared.log.limited(about, format_args!("{who}: {error}")),
        End::Refused(code, reason) => {
            shared.refuse(about, format_args!("{who}: refused: {reason}"));
            let _ = link.say(&Message::Refused { code, reason: &reason }, Instant::now() + Duration::from_millis(500));
        }
    }
    link.end();
}

type Greeted<'a> = (Arc<Sensor>, StoreId, Option<u64>, Facts, Admitted<'a>);

/// Finds out who it is, and where to go on.
fn hello<'a>(
    shared: &'a Shared,
    number: u64,
    link: &mut Link,
    second: TcpStream,
    until: Instant,
) -> Result<Greeted<'a>, End> {
    let certificate = link.tls().peer_certificates().and_then(|chain| chain.first());
    let facts = certificate.and_then(|certificate| Facts::of(certificate));
    let facts = facts.ok_or_else(|| garbled("its certificate cannot be read"))?;
    let frame = link.receive(GREETING_BYTES_MAX, until)?;
    let frame = frame.ok_or(End::Link(LinkError::Late("no greeting")))?;
    let (store, name) = match Message::decode(&frame).map_err(garbled)? {
        Message::Hello { version: PROTOCOL_VERSION, store, name, .. } => (store, name),
        Message::Hello { version, .. } => {
            let reason = format!("it speaks version {version} of the protocol, this collector {PROTOCOL_VERSION}");
            return Err(End::Refused(Code::Version, reason));
        }
        _ => return Err(garbled("its first message is no greeting")),
    };
    if name != facts.name || !is_sensor_name(name) {
        let reason = format!("it calls itself '{name}', and its certificate is that of '{}'", facts.name);
        return Err(End::Refused(Code::Name, reason));
    }
    if shared.refuses(&facts) {
        return Err(shut_out());
    }
    let busy = |reason: String| End::Refused(Code::Busy, reason);
    shared.settle(number);
    let admitted = shared.admit();
    let admitted =
        admitted.ok_or_else(|| busy(format!("there are {} connections, the limit", shared.connections_max)))?;
    let sensor = shared.sensors.get(name).map_err(busy)?;
    let is_replacing = sensor.begin(number, store, second).map_err(busy)?;
    if is_replacing {
        shared.log.limited(About::Sensors, format_args!("sensor {name}: a new connection; the old one ends"));
    }
    let greeted = sensor.position(&store, &shared.log).map_err(busy).and_then(|durable| {
        let welcome = Message::Welcome { version: PROTOCOL_VERSION, durable };
        link.say(&welcome, Instant::now() + GREETING_TIME)?;
        Ok((Arc::clone(&sensor), store, durable, facts, admitted))
    });
    if greeted.is_err() {
        sensor.end(number);
    }
    greeted
}

impl Session<'_> {
    fn run(&mut self) -> End {
        loop {
            match self.step() {
                Ok(()) => {}
                Err(End::Link(LinkError::Closed)) => return self.closed(),
                Err(end) => return end,
            }
        }
    }

    /// A connection that was closed without a word.
    fn closed(&self) -> End {
        if self.shared.is_ending() { End::Stopped } else { End::Orderly }
    }

    /// One frame.
    fn step(&mut self) -> Result<(), End> {
        let until = Instant::now() + self.shared.timeout;
        let frame = self.link.receive_small(FRAME_BYTES_MAX, SMALL_FRAME_BYTES, until)?;
        let frame = match frame {
            Some(frame) => frame,
            None if self.link.arriving(FRAME_BYTES_MAX)?.is_some_and(|bytes| bytes > SMALL_FRAME_BYTES) => {
                self.receive_slowly()?
            }
            None => return Err(End::Link(LinkError::Late("nothing came"))),
        };
        if SystemTime::now() > self.facts.ends {
            return Err(End::Refused(Code::Name, "its certificate has expired meanwhile".into()));
        }
        if self.shared.refuses(&self.facts) {
            return Err(shut_out());
        }
        self.take(&frame)
    }

    /// Receives a large frame, as long as it continues to arrive. Pongs show the sensor that it does, as its acknowledgment takes long.
    fn receive_slowly(&mut self) -> Result<Frame, End> {
        let mut before = self.link.arrived_bytes();
        loop {
            let step = FRAME_STEP.min(self.shared.timeout / 4);
            if let Some(frame) = self.link.receive(FRAME_BYTES_MAX, Instant::now() + step)? {
                return Ok(frame);
            }
            let arrived = self.link.arrived_bytes();
            if arrived < before + FRAME_STEP_BYTES {
                return Err(End::Link(LinkError::Late("a batch does not arrive whole")));
            }
            before = arrived;
            self.link.say(&Message::Pong, Instant::now() + self.shared.timeout)?;
        }
    }

    fn take(&mut self, frame: &Frame) -> Result<(), End> {
        let until = Instant::now() + self.shared.timeout;
        match Message::decode(frame).map_err(garbled)? {
            Message::Keys(keys) => {
                for (id, wrapped) in keys {
                    if self.keys.len() >= KEYS_WAITING_MAX {
                        return Err(garbled("too many keys that no record needs"));
                    }
                    self.keys.insert(id, wrapped.to_vec());
                }
                Ok(())
            }
            Message::Batch { after, through, raw_bytes, compressed } => {
                self.batch((after, through), raw_bytes, compressed)
            }
            Message::Ping => Ok(self.link.say(&Message::Pong, until)?),
            Message::Goodbye => Err(End::Orderly),
            _ => Err(garbled("it sends what only a collector may send")),
        }
    }

    fn batch(&mut self, (after, through): (u64, u64), raw_bytes: usize, compressed: &[u8]) -> Result<(), End> {
        if let Some(next) = self.next.filter(|next| *next != after) {
            return Err(End::Refused(Code::Order, format!("a batch follows record {after}, expected was {next}")));
        }
        let is_large = raw_bytes > SMALL_FRAME_BYTES || compressed.len() > SMALL_FRAME_BYTES;
        let shared = self.shared;
        let busy = || End::Refused(Code::Busy, "too many large batches arrive at once".into());
        let place = is_large.then(|| shared.places.take(Instant::now() + PLACE_TIME).ok_or_else(busy)).transpose()?;
        let raw = self.unpacker.unpack(compressed, raw_bytes).map_err(garbled)?;
        let rows = rows(&raw, after, through).map_err(garbled)?;
        // Keys are stored with the first record that needs them: alone they would be outside of every bound.
        let mut keys = Vec::new();
        for key in rows.iter().filter_map(|row| row.key) {
            if let Some(wrapped) = self.keys.remove(&key) {
                keys.push((key, wrapped));
            }
        }
        drop(raw);
        let log = &self.shared.log;
        match self.sensor.append(self.number, &self.store, (after, through), (rows, keys), log) {
            Ok(()) => {}
            Err(Refusal::Replaced) => return Err(End::Replaced),
            Err(Refusal::Order(reason)) => return Err(End::Refused(Code::Order, reason)),
            Err(Refusal::Failed(reason)) => {
                return Err(End::Refused(Code::Busy, format!("it cannot be stored: {reason}")));
            }
        }
        drop(place);
        self.next = Some(through);
        self.link.say(&Message::Acknowledged { through }, Instant::now() + self.shared.timeout)?;
        let wait = self.sensor.take(raw_bytes.max(64)).min(RATE_WAIT_MAX);
        if !wait.is_zero() {
            self.shared.pause(wait);
        }
        if self.shared.is_ending() { Err(End::Stopped) } else { Ok(()) }
    }
}
