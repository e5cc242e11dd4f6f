//! What the processes do: a publisher, and readers that check every byte.

use std::{
    env,
    io::Read as _,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use tidewire_queue::{
    Attach, Error, Geometry, Losses, Next, Owners, Publisher, QueueEnd, QueueSettings, Reader, Record, Refusal, Server,
    records::{Close, Direction, Event, Open, RecordType},
};

/// Role, socket and number, with spaces between.
pub const ROLE: &str = "TIDEWIRE_QUEUE_CRASH";
/// Readers at a time that are killed, and places of the queue: two more for readers that are not.
pub const VICTIMS: usize = 6;
pub const PLACES: usize = VICTIMS + 2;
/// Streams at a time, and records of each.
const STREAMS: usize = 32;
const STREAM_RECORDS: u64 = 100;

/// Plays the role that the environment says; `false`: none.
pub fn play() -> bool {
    let Ok(role) = env::var(ROLE) else { return false };
    let mut words = role.split(' ');
    let (role, path) = (words.next().expect("a role"), PathBuf::from(words.next().expect("a socket")));
    let number: u64 = words.next().and_then(|number| number.parse().ok()).expect("a number");
    // Nobody is left behind when the parent ends.
    thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    match role {
        "publisher" => publish(&path, number),
        _ => {
            if let Err(violation) = victim(&path, number) {
                eprintln!("{violation}");
                std::process::exit(3);
            }
        }
    }
    true
}

/// The bytes of a stream: where they begin tells stream and offset.
fn bytes(stream: u64, offset: u64, bytes: usize) -> Vec<u8> {
    let first = stream.wrapping_mul(31).wrapping_add(offset);
    (0..bytes as u64).map(|at| (first + at) as u8).collect()
}

/// A stream being published.
struct Stream {
    id: u64,
    ordinal: u64,
    records: u64,
    owners: Owners,
}

/// Publishes until it is killed.
fn publish(path: &Path, epoch: u64) {
    let mut publisher = Publisher::new(Geometry::new(1 << 14, 8 << 20), epoch).expect("a queue");
    let mut server = Server::bind(path).expect("a server");
    let settings = QueueSettings::default().readers_max(PLACES);
    server.offer("main", publisher.offer(), settings).expect("a name");
    thread::spawn(move || {
        loop {
            server.turn(Duration::from_millis(100)).expect("a server");
        }
    });
    let (mut streams, mut next, mut payload) = (Vec::new(), 0, Vec::new());
    loop {
        // One more in each round, as ordinals are in the order of opens.
        if streams.len() < STREAMS {
            streams.push(Stream { id: next + 1, ordinal: next, records: 0, owners: Owners::default() });
            next += 1;
        }
        for stream in &mut streams {
            step(&mut publisher, stream, &mut payload);
        }
        streams.retain(|stream| stream.records < STREAM_RECORDS);
        thread::sleep(Duration::from_micros(500));
    }
}

fn step(publisher: &mut Publisher, stream: &mut Stream, payload: &mut Vec<u8>) {
    let (id, ordinal) = (stream.id, stream.ordinal);
    payload.clear();
    if publisher.needs_open(&mut stream.owners) {
        Open { ordinal, next_offset: stream.owners.next_offset(), ..Open::default() }.encode(payload);
        publisher.publish_stream(&mut stream.owners, 7, &Record::new(RecordType::Open, id, 0), payload).expect("room");
        payload.clear();
    }
    stream.records += 1;
    if stream.records == STREAM_RECORDS {
        Close { ordinal, end_offset: stream.owners.next_offset(), ..Close::default() }.encode(payload);
        publisher.publish_stream(&mut stream.owners, 7, &Record::new(RecordType::Close, id, 0), payload).expect("room");
        return;
    }
    let offset = stream.owners.next_offset()[0];
    *payload = bytes(id, offset, ((id * 977 + stream.records * 7919) % 1460) as usize + 1);
    let data = Record::data(id, Direction::ClientToServer, offset, 0, 0);
    publisher.publish_stream(&mut stream.owners, 0, &data, payload).expect("room");
}

/// A reader that may be killed: alone or in one of two groups, copying or in place, by both ways of waiting.
fn victim(path: &Path, number: u64) -> Result<(), String> {
    let mut request = Attach::new("main", &format!("victim-{number}"));
    request.group = [None, Some("red"), Some("blue")][number as usize % 3].map(str::to_owned);
    loop {
        let mut reader = attach(path, &request, 0)?;
        let mut check = Check::new(&reader, request.group.is_none());
        while !check.step(&mut reader, number.is_multiple_of(2))? {}
    }
}

/// Attaches to the publisher that there is, or to the next one: another than `epoch`.
pub fn attach(path: &Path, request: &Attach, epoch: u64) -> Result<Reader, String> {
    let begun = Instant::now();
    loop {
        match Reader::attach(path, request) {
            Ok(reader) if reader.epoch() != epoch => return Ok(reader),
            Ok(_) | Err(Error::Server { .. } | Error::Refused(Refusal::Full { .. })) => {}
            Err(error) => return Err(format!("attach: {error}")),
        }
        if begun.elapsed() > Duration::from_secs(30) {
            return Err("no publisher, or no place, in 30 s".into());
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Checks everything that a reader sees.
pub struct Check {
    losses: Losses,
    first: u64,
    sees_all: bool,
    payload: Vec<u8>,
    last: Instant,
}

impl Check {
    pub fn new(reader: &Reader, sees_all: bool) -> Self {
        let losses = if sees_all { Losses::new(10_000) } else { Losses::of_member(10_000) };
        Self { losses, first: reader.first(), sees_all, payload: Vec::new(), last: Instant::now() }
    }

    /// One record, or a wait; `true`: the publisher has gone.
    pub fn step(&mut self, reader: &mut Reader, is_in_place: bool) -> Result<bool, String> {
        self.payload.clear();
        let next = match is_in_place {
            false => reader.next(&mut self.payload),
            true => self.in_place(reader),
        };
        match next.map_err(|error| error.to_string())? {
            Next::Record(record) => self.record(&record, reader)?,
            Next::Missed(record) => self.losses.missed(&record, &mut Vec::new()),
            Next::Lost { .. } => {}
            Next::Empty => {
                self.sums(reader)?;
                if !reader.wait(Duration::from_millis(200)).map_err(|error| error.to_string())?
                    && self.last.elapsed() > Duration::from_secs(20)
                {
                    return Err("no record in 20 s from a publisher that is there".into());
                }
                return Ok(false);
            }
            Next::Ended(QueueEnd::Gone) => {
                self.sums(reader)?;
                let is_all = reader.sequence() == reader.published();
                return if is_all { Ok(true) } else { Err("what was published was not read".into()) };
            }
            Next::Ended(why) => return Err(format!("the queue ended as {why:?}, and its publisher was killed")),
        }
        self.last = Instant::now();
        Ok(false)
    }

    fn in_place(&mut self, reader: &mut Reader) -> Result<Next, Error> {
        let next = reader.next_in_place()?;
        let Next::Record(record) = next else { return Ok(next) };
        for word in reader.words(&record) {
            self.payload.extend(word.load(std::sync::atomic::Ordering::Relaxed).to_ne_bytes());
        }
        self.payload.truncate(record.bytes as usize);
        Ok(if reader.confirm() { next } else { Next::Missed(record) })
    }

    fn record(&mut self, record: &Record, reader: &Reader) -> Result<(), String> {
        let event = Event::new(record, &self.payload).ok_or("a record that is none of its kind")?;
        if let Event::Data { offset, bytes: found, .. } = event
            && found != bytes(record.stream, offset, found.len())
        {
            return Err(format!("wrong bytes in record {} of stream {}", record.sequence, record.stream));
        }
        let mut missing = Vec::new();
        self.losses.read(record, &self.payload, &mut missing);
        let progress = reader.progress();
        let has_lost = progress.missed + progress.lost > 0;
        if !has_lost && (!missing.is_empty() || self.sees_all && self.losses.streams_missed() > 0) {
            return Err(format!("nothing was lost, and this is missing: {missing:?}"));
        }
        Ok(())
    }

    /// Produced = read + passed + missed + lost + waiting.
    fn sums(&self, reader: &Reader) -> Result<(), String> {
        let progress = reader.progress();
        let sum = self.first + progress.read + progress.passed + progress.missed + progress.lost;
        let is_one = sum == progress.sequence && progress.sequence <= reader.published();
        if is_one { Ok(()) } else { Err(format!("figures do not close: {progress:?}, first {}", self.first)) }
    }
}
