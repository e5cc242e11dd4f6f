//! Handles by which a program reads a queue.
//!
//! JUSTIFICATION: bytes that are read in place are passed on as a pointer into shared memory.

use std::{
    ffi::c_int,
    net::{Ipv4Addr, Ipv6Addr},
    os::fd::{AsRawFd as _, BorrowedFd},
    path::PathBuf,
    sync::atomic::Ordering::Relaxed,
    time::{Duration, Instant},
};

use tidewire_queue::{
    Attach, Error, Losses, Missing, Next, Reader, Record, Refusal, is_name,
    records::{Conflict, Event, Gap, PacketHeader, RecordType},
};

use crate::{
    error::{Failure, code},
    program::{program, said},
    types::{CClose, CEvent, CKey, CMissing, COpen, CPacket, CProgress},
};

/// Results of calls, as in the header.
pub mod found {
    use std::ffi::c_int;

    pub const EMPTY: c_int = 0;
    pub const RECORD: c_int = 1;
    pub const MISSED: c_int = 2;
    pub const LOST: c_int = 3;
    pub const ENDED: c_int = 4;
}

/// Where a sensor listens.
pub const SOCKET: &str = "/run/tidewire/queues.sock";
/// One wait without end is many of these.
const TICK: Duration = Duration::from_secs(1);
/// How often a successor is looked for.
const LOOK: Duration = Duration::from_millis(100);
/// How often a poll loop looks again at once where records for others were published meanwhile; then the descriptor is readable soon.
const ARM_TRIES: u32 = 8;

/// Socket, queue, name, group.
#[derive(Clone, Debug)]
pub struct AttachTarget {
    socket: PathBuf,
    request: Attach,
}

impl AttachTarget {
    /// Values that are not given come from the environment.
    pub fn new(socket: Option<&str>, queue: Option<&str>, name: Option<&str>, group: Option<&str>) -> Self {
        let queue = said(queue, "TIDEWIRE_QUEUE").unwrap_or_else(|| "streams".into());
        let name = said(name, "TIDEWIRE_NAME").unwrap_or_else(program);
        let group = said(group, "TIDEWIRE_GROUP");
        let socket = said(socket, "TIDEWIRE_SOCKET").unwrap_or_else(|| SOCKET.into());
        Self { socket: socket.into(), request: Attach { queue, name, group } }
    }

    /// Names that cannot be names are the caller's mistake.
    fn check(&self) -> Result<(), Failure> {
        let Attach { queue, name, group } = &self.request;
        let names = [("queue's name", Some(queue)), ("name", Some(name)), ("group", group.as_ref())];
        for (what, name) in names {
            if let Some(name) = name.filter(|name| !is_name(name)) {
                let rule = "names are 1 to 64 letters, digits, '.', '-' and '_'";
                return Err(Failure::argument(format!("the {what} '{name}' cannot be one: {rule}")));
            }
        }
        Ok(())
    }

    fn attach(&self) -> Result<Reader, Error> {
        Reader::attach(&self.socket, &self.request)
    }
}

/// `tidewire_queue_t`
pub struct Queue {
    reader: Reader,
    place: Option<AttachTarget>,
    payload: Vec<u8>,
    /// The last record that was read in place.
    in_place: Option<Record>,
    /// Whether the descriptor is in use.
    is_polled: bool,
    /// Which bytes are missing, and what the last record showed.
    losses: Option<(usize, Losses)>,
    missing: Vec<CMissing>,
    /// Why nothing more can be read.
    broken: Option<Failure>,
    event: CEvent,
    open: COpen,
    close: CClose,
    packet: CPacket,
    progress: CProgress,
}

impl Queue {
    pub fn attach(place: AttachTarget) -> Result<Self, Failure> {
        place.check()?;
        Ok(Self { place: Some(place.clone()), ..Self::new(place.attach()?) })
    }

    pub fn open(file: BorrowedFd<'_>, first: Option<u64>) -> Result<Self, Failure> {
        Ok(Self::new(Reader::open(file, first)?))
    }

    fn new(reader: Reader) -> Self {
        Self {
            reader,
            place: None,
            payload: Vec::new(),
            in_place: None,
            is_polled: false,
            losses: None,
            missing: Vec::new(),
            broken: None,
            event: CEvent::default(),
            open: COpen::default(),
            close: CClose::default(),
            packet: CPacket::default(),
            progress: CProgress::default(),
        }
    }

    /// Runs a call unless an earlier one found that nothing can be read.
    pub fn unless_broken(&mut self, call: impl FnOnce(&mut Self) -> Result<c_int, Failure>) -> Result<c_int, Failure> {
        if let Some(Failure { code, text }) = &self.broken {
            return Err(Failure { code: *code, text: text.clone() });
        }
        // A panic in the call leaves this.
        self.broken =
            Some(Failure { code: code::INTERNAL, text: "a defect of the library ended an earlier call".into() });
        let found = call(self);
        self.broken = match &found {
            Err(Failure { code: code @ code::CORRUPT, text }) => Some(Failure { code: *code, text: text.clone() }),
            _ => None,
        };
        found
    }

    /// The last event.
    pub fn event(&self) -> &CEvent {
        &self.event
    }

    pub fn next(&mut self) -> Result<c_int, Failure> {
        let next = self.read()?;
        self.show(&next)
    }

    /// The next record with a copy of its payload. Where there is none, the descriptor is armed if it is in use.
    fn read(&mut self) -> Result<Next, Failure> {
        self.in_place = None;
        let mut tries = 0..ARM_TRIES;
        loop {
            if self.is_polled {
                self.reader.disarm();
            }
            self.payload.clear();
            let next = self.reader.next(&mut self.payload)?;
            if next != Next::Empty || !self.is_polled || self.reader.arm() || tries.next().is_none() {
                return Ok(next);
            }
        }
    }

    pub fn next_timeout(&mut self, milliseconds: c_int) -> Result<c_int, Failure> {
        let timeout = u64::try_from(milliseconds).ok().map(Duration::from_millis);
        // The clock is read only where there is nothing to read.
        let mut begun = None;
        loop {
            let next = self.read()?;
            if next != Next::Empty {
                return self.show(&next);
            }
            let begun = *begun.get_or_insert_with(Instant::now);
            let left = timeout.map_or(TICK, |timeout| timeout.saturating_sub(begun.elapsed()));
            if left.is_zero() {
                return self.show(&next);
            }
            self.reader.wait(left.min(TICK))?;
        }
    }

    pub fn next_in_place(&mut self) -> Result<c_int, Failure> {
        if self.losses.is_some() {
            return self.next();
        }
        self.in_place = None;
        let mut tries = 0..ARM_TRIES;
        let next = loop {
            if self.is_polled {
                self.reader.disarm();
            }
            let next = self.reader.next_in_place()?;
            if next != Next::Empty || !self.is_polled || self.reader.arm() || tries.next().is_none() {
                break next;
            }
        };
        let Next::Record(record) = next else { return self.show(&next) };
        self.in_place = Some(record);
        let words = self.reader.words(&record);
        let data = words.as_ptr().cast::<u8>();
        // All but the bytes of streams and packets is small, and copied.
        let copied = match RecordType::from_number(record.kind) {
            Some(RecordType::Data) => 0,
            Some(RecordType::Packet) => PacketHeader::BYTES.min(record.bytes as usize),
            _ => record.bytes as usize,
        };
        self.payload.clear();
        self.payload.extend(words.iter().take(copied.div_ceil(8)).flat_map(|word| word.load(Relaxed).to_ne_bytes()));
        self.payload.truncate(copied);
        if copied != 0 && !self.reader.is_intact(&record) {
            self.reader.confirm();
            return self.show(&Next::Missed(record));
        }
        self.begin(&record);
        let bytes = record.bytes as usize;
        match RecordType::from_number(record.kind) {
            Some(RecordType::Data) => self.show_data(&record, data, bytes)?,
            Some(RecordType::Packet) => {
                let Some((header, _)) = PacketHeader::decode(&self.payload) else { return Err(undecodable(&record)) };
                // SAFETY: the header is inside of the payload.
                let data = unsafe { data.add(PacketHeader::BYTES) };
                self.show_packet(&header, data, bytes.saturating_sub(PacketHeader::BYTES));
            }
            _ => self.show_event(&record)?,
        }
        Ok(found::RECORD)
    }

    /// Whether the bytes of the last record in place were not overwritten so far. The first answer is what counts for the figures.
    pub fn is_intact(&mut self) -> bool {
        self.in_place.is_none_or(|record| self.reader.confirm() && self.reader.is_intact(&record))
    }

    /// Makes the event of what was found.
    fn show(&mut self, next: &Next) -> Result<c_int, Failure> {
        self.event = CEvent::default();
        match next {
            Next::Empty => return Ok(found::EMPTY),
            Next::Ended(why) => {
                self.event.code = u32::try_from(why.word()).unwrap_or(u32::MAX);
                return Ok(found::ENDED);
            }
            Next::Lost { first, records, bytes } => {
                self.event = CEvent { sequence: *first, records: *records, bytes: *bytes, ..CEvent::default() };
                return Ok(found::LOST);
            }
            Next::Missed(record) => {
                self.begin(record);
                self.event.bytes = u64::from(record.bytes);
                self.show_missing(record, false);
                return Ok(found::MISSED);
            }
            Next::Record(record) => {
                self.begin(record);
                self.show_event(record)?;
                self.show_missing(record, true);
            }
        }
        Ok(found::RECORD)
    }

    /// Fields of every record's slot.
    fn begin(&mut self, record: &Record) {
        self.event = CEvent {
            sequence: record.sequence,
            records: 1,
            stream: record.stream,
            offset: record.offset,
            time_ns: record.time_ns,
            kind: u32::from(record.kind),
            flags: u32::from(record.flags & 0xff),
            code: u32::from(record.code()),
            ..CEvent::default()
        };
    }

    /// Decodes a copied payload. A kind of a later version has its bytes only.
    fn show_event(&mut self, record: &Record) -> Result<(), Failure> {
        let payload = std::mem::take(&mut self.payload);
        let event = Event::new(record, &payload);
        let shown = match event {
            Some(Event::Open { open, .. }) => {
                self.open = COpen::from(&open);
                self.event.open = &raw const self.open;
                Ok(())
            }
            Some(Event::Close(close)) => {
                self.close = CClose::from(&close);
                self.event.close = &raw const self.close;
                Ok(())
            }
            Some(Event::Gap(Gap { bytes, .. }) | Event::Conflict(Conflict { bytes, .. })) => {
                self.event.bytes = bytes;
                Ok(())
            }
            Some(Event::Packet { header, bytes, .. }) => {
                self.show_packet(&header, bytes.as_ptr(), bytes.len());
                Ok(())
            }
            Some(Event::Data { bytes, .. }) => self.show_data(record, bytes.as_ptr(), bytes.len()),
            None if RecordType::from_number(record.kind).is_some() => Err(undecodable(record)),
            _ => {
                (self.event.data, self.event.data_bytes) = (payload.as_ptr(), payload.len());
                self.event.bytes = payload.len() as u64;
                Ok(())
            }
        };
        // The bytes stay where they are.
        self.payload = payload;
        shown
    }

    fn show_data(&mut self, record: &Record, data: *const u8, bytes: usize) -> Result<(), Failure> {
        let repeated = usize::try_from(record.detail).ok().filter(|repeated| *repeated <= bytes);
        let Some(repeated) = repeated else { return Err(undecodable(record)) };
        (self.event.data, self.event.data_bytes, self.event.bytes) = (data, bytes, bytes as u64);
        self.event.repeated_bytes = repeated;
        Ok(())
    }

    fn show_packet(&mut self, header: &PacketHeader, data: *const u8, bytes: usize) {
        self.packet = CPacket::from(header);
        self.event.packet = &raw const self.packet;
        (self.event.data, self.event.data_bytes, self.event.bytes) = (data, bytes, bytes as u64);
    }

    /// Begins to follow so many streams; 0: ends.
    pub fn track_losses(&mut self, streams_max: usize) {
        let is_member = self.place.as_ref().is_some_and(|place| place.request.group.is_some());
        let losses = if is_member { Losses::of_member(streams_max) } else { Losses::new(streams_max) };
        self.losses = (streams_max != 0).then_some((streams_max, losses));
    }

    /// Losses that a record shows.
    fn show_missing(&mut self, record: &Record, is_read: bool) {
        let Some((_, losses)) = &mut self.losses else { return };
        let mut missing: Vec<Missing> = Vec::new();
        if is_read {
            losses.read(record, &self.payload, &mut missing);
        } else {
            losses.missed(record, &mut missing);
        }
        self.missing.clear();
        self.missing.extend(missing.iter().map(CMissing::from));
        if !self.missing.is_empty() {
            (self.event.missing, self.event.missing_count) = (self.missing.as_ptr(), self.missing.len());
        }
    }

    /// The descriptor to poll, armed.
    pub fn descriptor(&mut self) -> Result<c_int, Failure> {
        let descriptor = self.reader.wake_fd().map(|descriptor| descriptor.as_raw_fd());
        let descriptor =
            descriptor.ok_or_else(|| Failure::argument("a file without a server has no descriptor to poll"))?;
        if !self.is_polled {
            self.is_polled = true;
            // Records that wait are found by the first poll: what is armed now is answered by the server at once.
            self.reader.arm();
        }
        Ok(descriptor)
    }

    pub fn progress(&mut self) -> &CProgress {
        let progress = self.reader.progress();
        self.progress = CProgress {
            first: self.reader.first(),
            sequence: progress.sequence,
            published: self.reader.published(),
            read: progress.read,
            missed: progress.missed,
            lost: progress.lost,
            missed_bytes: progress.missed_bytes,
            lost_bytes: progress.lost_bytes,
            others: progress.passed,
            epoch: self.reader.epoch(),
            streams_missed: self.losses.as_ref().map_or(0, |(_, losses)| losses.streams_missed()),
        };
        &self.progress
    }

    /// Attaches to the successor. A queue that is corrupt may have one.
    pub fn reattach(&mut self, milliseconds: c_int) -> Result<c_int, Failure> {
        let place = self.place.clone();
        let place = place.ok_or_else(|| Failure::argument("a file without a server has no successor"))?;
        let (begun, timeout) = (Instant::now(), u64::try_from(milliseconds).ok().map(Duration::from_millis));
        loop {
            match place.attach() {
                Ok(reader) if reader.epoch() != self.reader.epoch() => {
                    let (is_polled, tracked) = (self.is_polled, self.losses.as_ref().map_or(0, |losses| losses.0));
                    *self = Self { place: Some(place), is_polled, ..Self::new(reader) };
                    self.track_losses(tracked);
                    return Ok(1);
                }
                Ok(_) | Err(Error::Server { .. } | Error::Refused(Refusal::NoQueue { .. } | Refusal::Full { .. })) => {}
                Err(error) => return Err(error.into()),
            }
            let left = timeout.map_or(LOOK, |timeout| timeout.saturating_sub(begun.elapsed()));
            if left.is_zero() {
                return Ok(0);
            }
            std::thread::sleep(left.min(LOOK));
        }
    }
}

/// The publisher wrote a payload that its kind does not allow.
fn undecodable(record: &Record) -> Failure {
    let Record { sequence, kind, bytes, .. } = record;
    let text = format!(
        "the queue is corrupt: record {sequence} of kind {kind} has {bytes} bytes, which this kind does not allow"
    );
    Failure { code: code::CORRUPT, text }
}

/// An end of a stream as text.
pub fn endpoint(key: &CKey, is_server: bool) -> String {
    let (octets, port) = if is_server { (key.server, key.server_port) } else { (key.client, key.client_port) };
    let has_ports = tidewire_types::ip_protocol::has_ports(key.protocol);
    if key.ip_version == 4 {
        let [a, b, c, d, ..] = octets;
        let address = Ipv4Addr::new(a, b, c, d);
        return if has_ports { format!("{address}:{port}") } else { address.to_string() };
    }
    let address = Ipv6Addr::from(octets);
    if has_ports { format!("[{address}]:{port}") } else { address.to_string() }
}
