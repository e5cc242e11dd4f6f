//! A record: one event, or several folded into one, as bytes. Each stands alone: no other is needed to read it.
//!
//! | part | form |
//! |---|---|
//! | version (1), flags | 1, 1: bit 0 plain, bit 1 times left out |
//! | fold, part, count of events, number of the first, how many numbers are skipped up to the last | varints |
//! | first and last time, from the first event's | zigzag varints |
//! | the first event | varint length, message |
//! | columns until the end | lane (varint), blocks with their length (varint) |
//!
//! Lane 0 is the event's number, then come the lanes of the message in its order, from 1. A lane without a column is constant.
//! A *plain* record has, instead of columns, each further event: its number's difference (varint) and its message with its length.

use crate::{
    column::{BlobReader, IntReader},
    cursor::{Cursor, put_sized, put_varint, unzigzag, zigzag},
    error::DecodeError,
    event::{Event, Severity},
    lanes::{Plan, Values},
    limits::RECORD_EVENTS_MAX,
    message::{Message, Shape},
};

const VERSION: u8 = 1;
const PLAIN: u8 = 1;
const NO_TIMES: u8 = 2;

/// A record that was encoded, with the values that are needed most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    bytes: Vec<u8>,
    head: Head,
}

/// Header of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub fold: u64,
    pub part: u64,
    pub count: u64,
    pub first: u64,
    pub last: u64,
    pub first_ns: u64,
    pub last_ns: u64,
    pub has_times: bool,
}

/// The parts that a record is encoded of. Each column with its lane, as the format has it.
pub(crate) struct Parts<'a> {
    pub head: Head,
    pub message: Message<'a>,
    pub columns: Vec<(usize, Vec<u8>)>,
}

impl Parts<'_> {
    pub(crate) fn encode(&self) -> Record {
        let mut bytes = Vec::with_capacity(64 + self.message.bytes().len());
        let flags = if self.head.has_times { 0 } else { NO_TIMES };
        put_head(&self.head, flags, &self.message, &mut bytes);
        for (lane, blocks) in &self.columns {
            put_varint(&mut bytes, *lane as u64);
            put_sized(&mut bytes, blocks);
        }
        // Many of them wait to be stored: what they take is what they have.
        bytes.shrink_to_fit();
        Record { bytes, head: self.head.clone() }
    }
}

fn put_head(head: &Head, flags: u8, message: &Message<'_>, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&[VERSION, flags]);
    let skipped = head.last.wrapping_sub(head.first).wrapping_sub(head.count - 1);
    for number in [head.fold, head.part, head.count, head.first, skipped] {
        put_varint(bytes, number);
    }
    let time_ns = message.time_ns();
    for end in [head.first_ns, head.last_ns] {
        put_varint(bytes, zigzag(end.wrapping_sub(time_ns).cast_signed()));
    }
    put_sized(bytes, message.bytes());
}

impl Record {
    /// Reads the beginning of an encoded record.
    ///
    /// # Errors
    /// It is invalid. (Its columns are read, and checked, by [`unfold`](Self::unfold).)
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (head, ..) = split(bytes)?;
        Ok(Self { bytes: bytes.to_vec(), head })
    }

    /// Its bytes: what [`decode`](Self::decode) takes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Which fold it belongs to. Records of one fold have the same number, and parts from 0 on.
    #[must_use]
    pub fn fold(&self) -> u64 {
        self.head.fold
    }

    /// Which part of its fold it is, from 0.
    #[must_use]
    pub fn part(&self) -> u64 {
        self.head.part
    }

    /// How many events it holds, 1 to [`RECORD_EVENTS_MAX`].
    #[must_use]
    pub fn count(&self) -> u64 {
        self.head.count
    }

    /// The number of its first event in the order of all.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.head.first
    }

    /// The number of its last event.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.head.last
    }

    /// The earliest time of its events, nanoseconds since 1970.
    #[must_use]
    pub fn first_ns(&self) -> u64 {
        self.head.first_ns
    }

    /// The latest time of its events.
    #[must_use]
    pub fn last_ns(&self) -> u64 {
        self.head.last_ns
    }

    /// Whether the time of each event is kept. Otherwise (see [`Times`](Record::has_times)) the events are identical, and unfolding
    /// gives the earliest time to the first and the latest to all others.
    #[must_use]
    pub fn has_times(&self) -> bool {
        self.head.has_times
    }

    /// The first event's message.
    ///
    /// # Errors
    /// None, as it was checked.
    pub fn message(&self) -> Result<Message<'_>, DecodeError> {
        Ok(split(&self.bytes)?.2)
    }

    /// The severity of all its events.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.message().map(|message| message.severity()).unwrap_or_default()
    }

    /// The originals, in order.
    ///
    /// # Errors
    /// The bytes are no record. Errors in columns are found on the way.
    pub fn unfold(&self) -> Result<Unfold<'_>, DecodeError> {
        Unfold::new(&self.bytes)
    }

    /// All originals with their numbers.
    ///
    /// # Errors
    /// A column is damaged.
    pub fn events(&self) -> Result<Vec<(u64, Event)>, DecodeError> {
        let mut unfold = self.unfold()?;
        let mut events = Vec::new();
        while let Some((number, message)) = unfold.next()? {
            events.push((number, message.event()?));
        }
        Ok(events)
    }

    /// The same events without columns, where that is shorter: folds of two or three events whose every value differs.
    pub(crate) fn to_plain(&self) -> Result<Self, DecodeError> {
        let mut bytes = Vec::new();
        put_head(&self.head, PLAIN, &self.message()?, &mut bytes);
        let mut unfold = self.unfold()?;
        unfold.next()?;
        let mut before = self.head.first;
        while let Some((number, message)) = unfold.next()? {
            put_varint(&mut bytes, number.wrapping_sub(before));
            put_sized(&mut bytes, message.bytes());
            before = number;
        }
        Ok(Self { bytes, head: self.head.clone() })
    }
}

/// The head, the flags, the first message, and what follows it.
fn split(bytes: &[u8]) -> Result<(Head, u8, Message<'_>, Cursor<'_>), DecodeError> {
    let mut cursor = Cursor::new(bytes);
    let version = cursor.byte("the version")?;
    if version != VERSION {
        return Err(DecodeError::Version { found: version, known: VERSION });
    }
    let flags = cursor.byte("the flags")?;
    if flags > NO_TIMES {
        return Err(DecodeError::Value("the flags"));
    }
    let (fold, part) = (cursor.varint("the fold")?, cursor.varint("the part")?);
    let (count, first) = (cursor.varint("the count")?, cursor.varint("the first number")?);
    if !(1..=RECORD_EVENTS_MAX).contains(&count) {
        return Err(DecodeError::Count(count));
    }
    let last = cursor.varint("the numbers skipped")?.wrapping_add(first).wrapping_add(count - 1);
    let ends = [cursor.varint("the first time")?, cursor.varint("the last time")?];
    let message = Message::new(cursor.sized("the first event")?)?;
    let [first_ns, last_ns] = ends.map(|end| message.time_ns().wrapping_add(unzigzag(end).cast_unsigned()));
    let has_times = flags & NO_TIMES == 0;
    Ok((Head { fold, part, count, first, last, first_ns, last_ns, has_times }, flags, message, cursor))
}

/// A lane while it is unfolded.
enum Source<C, R> {
    Constant(C),
    Column(R),
}

type IntSource<'a> = Source<u64, IntReader<'a>>;
type BlobSource<'a> = Source<&'a [u8], BlobReader<'a>>;

/// The originals of a record, one after the other.
pub struct Unfold<'a> {
    left: u64,
    is_first: bool,
    number: u64,
    numbers: IntSource<'a>,
    first: Message<'a>,
    last_ns: Option<u64>,
    body: Body<'a>,
    built: Vec<u8>,
}

/// Where the others are.
enum Body<'a> {
    Plain(Cursor<'a>),
    Columns { plan: Plan, ints: Vec<IntSource<'a>>, blobs: Vec<BlobSource<'a>> },
}

impl<'a> Unfold<'a> {
    fn new(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let (head, flags, first, rest) = split(bytes)?;
        let (numbers, body) =
            if flags & PLAIN != 0 { (Source::Constant(0), Body::Plain(rest)) } else { columns(&head, &first, rest)? };
        let last_ns = (!head.has_times).then_some(head.last_ns);
        let built = Vec::new();
        Ok(Self { left: head.count, is_first: true, number: head.first, numbers, first, last_ns, body, built })
    }

    /// The next event and its number in the order of all; `None` at the end.
    ///
    /// # Errors
    /// A column is damaged.
    #[allow(clippy::should_implement_trait, reason = "what it gives borrows from it")]
    pub fn next(&mut self) -> Result<Option<(u64, Message<'_>)>, DecodeError> {
        if self.left == 0 {
            self.end()?;
            return Ok(None);
        }
        self.left -= 1;
        if std::mem::take(&mut self.is_first) {
            return Ok(Some((self.number, self.first)));
        }
        let bytes: &[u8] = match &mut self.body {
            Body::Plain(cursor) => {
                self.number = self.number.wrapping_add(cursor.varint("a number")?);
                cursor.sized("an event")?
            }
            Body::Columns { plan, ints, blobs } => {
                self.number = match &mut self.numbers {
                    Source::Constant(_) => self.number.wrapping_add(1),
                    Source::Column(reader) => reader.next()?,
                };
                build(plan, &self.first, self.last_ns, ints, blobs, &mut self.built)?;
                &self.built
            }
        };
        // A column may hold what no event can.
        Ok(Some((self.number, Message::new(bytes)?)))
    }

    /// Nothing may be left in any column.
    fn end(&self) -> Result<(), DecodeError> {
        match &self.body {
            Body::Plain(cursor) => cursor.end(),
            Body::Columns { ints, blobs, .. } => {
                for source in ints.iter().chain([&self.numbers]) {
                    if let Source::Column(reader) = source {
                        reader.end()?;
                    }
                }
                for source in blobs {
                    if let Source::Column(reader) = source {
                        reader.end()?;
                    }
                }
                Ok(())
            }
        }
    }
}

/// The next message of its lanes.
fn build(
    plan: &Plan,
    first: &Message<'_>,
    last_ns: Option<u64>,
    ints: &mut [IntSource<'_>],
    blobs: &mut [BlobSource<'_>],
    out: &mut Vec<u8>,
) -> Result<(), DecodeError> {
    let (mut ints, mut blobs) = (ints.iter_mut(), blobs.iter_mut());
    let mut int = || match ints.next() {
        Some(Source::Constant(value)) => Ok(*value),
        Some(Source::Column(reader)) => reader.next(),
        None => Err(DecodeError::Short("the lanes")),
    };
    let blob = |out: &mut Vec<u8>| {
        let value = match blobs.next() {
            Some(Source::Constant(value)) => value,
            Some(Source::Column(reader)) => reader.next()?,
            None => return Err(DecodeError::Short("the lanes")),
        };
        out.extend_from_slice(value);
        Ok(())
    };
    let time_ns = int()?;
    let head = first.bytes().len() - first.values().len();
    out.clear();
    out.extend_from_slice(&first.bytes()[..head]);
    out[2..10].copy_from_slice(&last_ns.unwrap_or(time_ns).to_le_bytes());
    plan.join(int, blob, out)
}

/// The columns of a record.
fn columns<'a>(
    head: &Head,
    first: &Message<'a>,
    mut rest: Cursor<'a>,
) -> Result<(IntSource<'a>, Body<'a>), DecodeError> {
    let plan = Plan::new(&Shape::read(&mut Cursor::new(first.shape_bytes()))?);
    let mut values = Values::default();
    plan.split(first.time_ns(), first.values(), &mut values)?;
    let mut numbers = Source::Constant(0);
    let mut ints: Vec<IntSource<'a>> = values.ints.iter().map(|value| Source::Constant(*value)).collect();
    let mut blobs: Vec<BlobSource<'a>> = values.blobs.iter().map(|value| Source::Constant(*value)).collect();
    let mut next = 0;
    while !rest.is_empty() {
        let lane = rest.varint("a lane")?;
        let lane = usize::try_from(lane).ok().filter(|lane| (next..=plan.lanes.len()).contains(lane));
        let lane = lane.ok_or(DecodeError::Value("a lane"))?;
        next = lane + 1;
        let blocks = rest.sized("a column")?;
        let Some(at) = lane.checked_sub(1) else {
            numbers = Source::Column(IntReader::new(head.first, blocks));
            continue;
        };
        let is_blob = plan.lanes[at].is_blob();
        let place = plan.lanes[..at].iter().filter(|lane| lane.is_blob() == is_blob).count();
        if is_blob {
            blobs[place] = Source::Column(BlobReader::new(blocks));
        } else {
            ints[place] = Source::Column(IntReader::new(values.ints[place], blocks));
        }
    }
    Ok((numbers, Body::Columns { plan, ints, blobs }))
}
