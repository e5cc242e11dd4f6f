//! A collector as a destination: the spooler's side of the protocol.

use std::{
    collections::BTreeSet,
    net::{TcpStream, ToSocketAddrs as _},
    time::{Duration, Instant, SystemTime},
};

use rustls::{ClientConnection, pki_types::ServerName};
use tidewire_event_store::KeyId;
use tidewire_wire::legible::legible;

use crate::{
    destination::{Destination, Failure, Parcel, Start},
    keys::{Credentials, Places},
    limits::{FRAME_BYTES_MAX, GREETING_BYTES_MAX, GREETING_TIME, KEYS_MAX, PROTOCOL_VERSION, is_sensor_name},
    protocol::{Code, Message, Packer, put_row},
    settings::CollectorSettings,
    tls::{self, Link},
};

/// A certificate that is valid for less than this is worth a warning.
const EXPIRES_SOON: Duration = Duration::from_secs(30 * 86_400);
/// Bytes that have to go within the timeout.
const PIECE_BYTES: usize = 16 << 10;
/// The program's name and version in greetings.
const PROGRAM: &str = concat!("tidewire ", env!("CARGO_PKG_VERSION"));

/// A collector.
pub struct Collector {
    settings: CollectorSettings,
    link: Option<Connected>,
    packer: Packer,
    /// Bytes of connections before this one.
    bytes: u64,
    warning: Option<String>,
    warned: Option<SystemTime>,
}

/// A connection.
struct Connected {
    link: Link,
    /// The last record sent, and the last acknowledged.
    sent: u64,
    acknowledged: u64,
    /// Data keys that the collector has from this connection.
    keys: BTreeSet<KeyId>,
    /// When something came last, and whether something is waited for since.
    heard: Instant,
    is_pinged: bool,
}

impl Collector {
    /// A collector that is not connected yet.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(settings: CollectorSettings) -> std::io::Result<Self> {
        Ok(Self { settings, link: None, packer: Packer::new()?, bytes: 0, warning: None, warned: None })
    }

    fn failure(&self, what: impl std::fmt::Display) -> Failure {
        failure(&self.settings, what)
    }

    fn credentials(&mut self) -> Result<Credentials, Failure> {
        let CollectorSettings { keys, certificate, key, authority, .. } = self.settings.clone();
        let read = Places { keys, certificate, key, authority }.read();
        let credentials = read.map_err(|error| Failure::new(error.to_string()))?;
        let (facts, path) = (&credentials.facts, credentials.path.display());
        if !is_sensor_name(&facts.name) {
            let what = "its common name cannot be that of a sensor; make one with 'tidewire keys sensor NAME'";
            return Err(Failure::new(format!("{path}: {what}")));
        }
        let left = facts.left(SystemTime::now());
        if let Some(left) = left.filter(|left| *left < EXPIRES_SOON && self.warned != Some(facts.ends)) {
            let days = left.as_secs() / 86_400;
            self.warning = Some(format!("{path}: the certificate expires in {days} days; see 'tidewire keys renew'"));
            self.warned = Some(facts.ends);
        }
        Ok(credentials)
    }

    fn connect(&self) -> Result<TcpStream, Failure> {
        let addresses = self.settings.address.to_socket_addrs().map_err(|error| self.failure(error))?;
        let mut last = self.failure("there is no address of this name");
        for address in addresses.take(8) {
            match TcpStream::connect_timeout(&address, GREETING_TIME.min(self.settings.timeout)) {
                Ok(connected) => return Ok(connected),
                Err(error) => last = self.failure(error),
            }
        }
        Err(last.hint("is 'tidewire collect' running there, and does a firewall let it through?"))
    }

    /// The name that the collector has to prove.
    fn server_name(&self) -> Result<ServerName<'static>, Failure> {
        let host = self.settings.address.rsplit_once(':').map_or(self.settings.address.as_str(), |parts| parts.0);
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let name = self.settings.server_name.clone().unwrap_or_else(|| host.to_owned());
        ServerName::try_from(name).map_err(|_| self.failure("this is neither a host's name nor an address"))
    }

    fn greet(&mut self, start: Start) -> Result<Option<u64>, Failure> {
        let credentials = self.credentials()?;
        let name = credentials.facts.name.clone();
        let config = tls::client(credentials).map_err(|error| Failure::new(error.to_string()))?;
        let connection = ClientConnection::new(config, self.server_name()?).map_err(|error| self.failure(error))?;
        let until = Instant::now() + GREETING_TIME.min(self.settings.timeout);
        let tcp = self.connect()?;
        let mut link = Link::greet(connection.into(), tcp, until).map_err(|error| self.failure(error))?;
        let hello = Message::Hello {
            version: PROTOCOL_VERSION,
            store: start.store,
            delivered: start.delivered,
            name: &name,
            program: PROGRAM,
        };
        link.say(&hello, until).map_err(|error| self.failure(error))?;
        // It may have to open and check a large store first.
        let until = Instant::now() + self.settings.timeout;
        let frame = link.receive(GREETING_BYTES_MAX, until).map_err(|error| self.failure(error))?;
        let frame = frame.ok_or_else(|| self.failure("no answer within the time limit"))?;
        let durable = match Message::decode(&frame).map_err(|error| self.failure(error))? {
            Message::Welcome { version: PROTOCOL_VERSION, durable } => durable,
            Message::Welcome { version, .. } => {
                return Err(self.failure(format_args!("it speaks version {version}, this is {PROTOCOL_VERSION}")));
            }
            Message::Refused { code, reason } => return Err(self.refused(code, reason)),
            _ => return Err(self.failure("its answer to the greeting is of another type")),
        };
        let begin = durable.unwrap_or(start.delivered);
        let heard = Instant::now();
        let (sent, acknowledged, keys) = (begin, begin, BTreeSet::new());
        self.link = Some(Connected { link, sent, acknowledged, keys, heard, is_pinged: false });
        Ok(durable)
    }

    fn refused(&self, code: Code, reason: &str) -> Failure {
        let failure = self.failure(format_args!("the collector refuses: {reason}"));
        match code {
            Code::Version => failure.hint("run the same version of tidewire on both sides"),
            Code::Name => failure.hint("give each sensor its own file of 'tidewire keys sensor NAME'"),
            _ => failure,
        }
    }

    fn put(&mut self, parcel: &Parcel<'_>) -> Result<(), Failure> {
        let mut raw = Vec::new();
        let mut before = parcel.after;
        for row in parcel.rows {
            put_row(&mut raw, before, row);
            before = row.id;
        }
        let compressed = self.packer.pack(&raw).map_err(|error| self.failure(error))?;
        let Some(connected) = &mut self.link else { return Err(self.failure("there is no connection")) };
        let mut bytes = Vec::with_capacity(compressed.len() + 64);
        let new = parcel.keys.iter().filter(|(id, _)| !connected.keys.contains(*id));
        let new: Vec<(KeyId, &[u8])> = new.map(|(id, wrapped)| (*id, wrapped.as_slice())).collect();
        for keys in new.chunks(KEYS_MAX) {
            Message::Keys(keys.to_vec()).encode(&mut bytes);
            connected.keys.extend(keys.iter().map(|key| key.0));
        }
        let Parcel { after, through, .. } = *parcel;
        Message::Batch { after, through, raw_bytes: raw.len(), compressed: &compressed }.encode(&mut bytes);
        connected.sent = through;
        // Each piece has the time: a slow network is only slow.
        let timeout = self.settings.timeout;
        let sent = bytes.chunks(PIECE_BYTES).try_for_each(|piece| connected.link.send(piece, Instant::now() + timeout));
        if let Err(error) = sent {
            // Where the collector refused, it said why before it closed.
            return Err(self.last_words().unwrap_or_else(|| self.failure(error)));
        }
        Ok(())
    }

    /// Why the collector closed the connection, if it said so.
    fn last_words(&mut self) -> Option<Failure> {
        let connected = self.link.as_mut()?;
        let until = Instant::now() + Duration::from_millis(200);
        while let Ok(Some(frame)) = connected.link.receive(FRAME_BYTES_MAX, until) {
            if let Ok(Message::Refused { code, reason }) = Message::decode(&frame) {
                return Some(self.refused(code, reason));
            }
        }
        None
    }

    /// Reads what has come until this time, at least what is here already. Ends early with the first acknowledgment.
    fn hear(&mut self, until: Instant) -> Result<(), Failure> {
        loop {
            let Some(connected) = &mut self.link else { return Err(self.failure("there is no connection")) };
            let received = connected.link.receive(GREETING_BYTES_MAX, until);
            let Some(frame) = received.map_err(|error| failure(&self.settings, error))? else { return Ok(()) };
            (connected.heard, connected.is_pinged) = (Instant::now(), false);
            match Message::decode(&frame).map_err(|error| failure(&self.settings, error))? {
                Message::Acknowledged { through } => {
                    // Nothing is believed that was not sent.
                    if !(connected.acknowledged..=connected.sent).contains(&through) {
                        let (first, last) = (connected.acknowledged, connected.sent);
                        let what = format!("it acknowledges record {through}, expected was {first} to {last}");
                        return Err(self.failure(what));
                    }
                    connected.acknowledged = through;
                    return Ok(());
                }
                // Pongs without end do not keep this from ending.
                Message::Pong if Instant::now() >= until => return Ok(()),
                Message::Pong => {}
                Message::Refused { code, reason } => return Err(self.refused(code, reason)),
                _ => return Err(self.failure("it sends what only a sensor may send")),
            }
        }
    }

    /// Asks whether the collector is still there, or gives it up.
    fn look_after(&mut self) -> Result<(), Failure> {
        let timeout = self.settings.timeout;
        let Some(connected) = &mut self.link else { return Ok(()) };
        let silence = connected.heard.elapsed();
        let is_owing = connected.acknowledged < connected.sent || connected.is_pinged;
        if is_owing && silence >= timeout {
            return Err(self.failure(format_args!("nothing has come back for {timeout:?}")));
        }
        if !is_owing && silence >= timeout / 4 {
            connected.is_pinged = true;
            // The timeout of the answer begins now.
            connected.heard = Instant::now();
            let said = connected.link.say(&Message::Ping, Instant::now() + timeout);
            said.map_err(|error| self.failure(error))?;
        }
        Ok(())
    }
}

/// A failure with the collector's address before it.
fn failure(settings: &CollectorSettings, what: impl std::fmt::Display) -> Failure {
    Failure::new(format!("{}: {}", settings.address, legible(&what.to_string())))
}

impl Destination for Collector {
    fn kind(&self) -> &'static str {
        "collector"
    }

    fn open(&mut self, start: Start) -> Result<Option<u64>, Failure> {
        self.close();
        self.greet(start)
    }

    fn send(&mut self, parcel: &Parcel<'_>) -> Result<(), Failure> {
        let is_first = self.link.as_ref().is_some_and(|link| link.acknowledged == link.sent);
        self.put(parcel)?;
        if let Some(connected) = self.link.as_mut().filter(|_| is_first) {
            // The timeout of the acknowledgment begins now.
            connected.heard = Instant::now();
        }
        Ok(())
    }

    fn acknowledged(&mut self, wait: Duration) -> Result<u64, Failure> {
        // Messages that have arrived already are read before silence counts.
        self.hear(Instant::now() + Duration::from_millis(1))?;
        self.look_after()?;
        self.hear(Instant::now() + wait)?;
        Ok(self.link.as_ref().map_or(0, |connected| connected.acknowledged))
    }

    fn close(&mut self) {
        if let Some(mut connected) = self.link.take() {
            let _ = connected.link.say(&Message::Goodbye, Instant::now() + Duration::from_millis(200));
            self.bytes += connected.link.sent_bytes();
            connected.link.end();
        }
    }

    fn bytes(&self) -> u64 {
        self.bytes + self.link.as_ref().map_or(0, |connected| connected.link.sent_bytes())
    }

    fn warning(&mut self) -> Option<String> {
        self.warning.take()
    }
}
