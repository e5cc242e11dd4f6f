//! The producer: sends messages, and follows which records are acknowledged.

use std::{
    collections::{BTreeMap, VecDeque},
    time::{Duration, Instant},
};

use rdkafka::{
    ClientConfig,
    error::{KafkaError, RDKafkaErrorCode},
    message::{Header, OwnedHeaders},
    producer::{BaseProducer, BaseRecord, Producer as _},
};
use tidewire_event_store::{KeyId, Row};
use tidewire_types::hex;

use super::{
    messages::{Error, Form, Message, each, sequence},
    reports::Reports,
    settings::KafkaSettings,
};
use crate::{
    destination::{Destination, Failure, Parcel, Start},
    keys::files,
};

/// Messages, and kibibytes, that wait for brokers at most. More is back-pressure.
const QUEUE_MESSAGES: u32 = 100_000;
const QUEUE_KIBIBYTES: u32 = 32 << 10;
/// How long messages wait for others, to be compressed together.
const LINGER_MS: u32 = 50;
/// How long one call makes messages, before it is looked at what was acknowledged.
const SLICE: Duration = Duration::from_millis(20);
/// Between two attempts to place a message in a full queue.
const FULL_PAUSE: Duration = Duration::from_millis(2);
/// How long the first answer of a broker may take.
const ANSWER_TIME: Duration = Duration::from_secs(5);
/// How long it is listened to why there was none.
const REPORTS_TIME: Duration = Duration::from_millis(100);
/// How long an orderly end waits for acknowledgments at once.
const FLUSH_TIME: Duration = Duration::from_millis(200);
/// Said once where it is so.
const IN_THE_CLEAR: &str =
    "events that are not sealed to recipients go to the brokers in the clear; 'authority' turns TLS on";
/// Parcels that are read before the first is acknowledged: what one makes of a megabyte may be a hundred.
const PARCELS_MAX: usize = 8;

/// A topic.
pub(super) struct Topic {
    settings: KafkaSettings,
    name: String,
    form: Form,
    /// As the header has it.
    store: String,
    session: Option<Session>,
    /// Bytes of sessions before.
    bytes: u64,
    warning: Option<String>,
}

/// A producer, and what it was given.
struct Session {
    producer: BaseProducer<Reports>,
    /// Records that are no messages yet.
    waiting: VecDeque<Waiting>,
    /// Records whose messages are not all acknowledged, in order, and the ticket of the first.
    flights: VecDeque<Flight>,
    first_ticket: usize,
    durable: u64,
    /// When something was acknowledged, or nothing was waited for.
    moved: Instant,
}

/// An entry of the queue of records to send.
enum Waiting {
    Record {
        row: Row,
        wrapped: Option<Vec<u8>>,
    },
    /// All up to this record were sent.
    Through(u64),
}

/// A record on its way: how many of its messages are not acknowledged.
struct Flight {
    id: u64,
    messages: u32,
    is_whole: bool,
}

fn wrapped(row: &Row, keys: &BTreeMap<KeyId, Vec<u8>>) -> Option<Vec<u8>> {
    keys.get(row.key.as_ref()?).cloned()
}

impl Topic {
    /// A topic that is not connected yet.
    ///
    /// # Errors
    /// Librdkafka refuses the settings.
    pub(super) fn new(settings: KafkaSettings, name: &str) -> Result<Self, String> {
        let expand_max = if settings.expand { settings.expand_max.max(1) } else { 0 };
        let form = Form { expand_max, bytes_max: settings.message_bytes as usize };
        let (name, store) = (name.to_owned(), String::new());
        let warning = is_in_the_clear(&settings).then(|| IN_THE_CLEAR.to_owned());
        let topic = Self { settings, name, form, store, session: None, bytes: 0, warning };
        topic.config().create_native_config().map_err(|error| format!("librdkafka: {error}"))?;
        Ok(topic)
    }

    fn config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        let set = [
            ("bootstrap.servers", self.settings.brokers.join(",")),
            ("client.id", format!("tidewire-{}", self.name)),
            ("acks", "all".into()),
            ("enable.idempotence", "true".into()),
            // A message that fails for good ends the producer: no later one overtakes it. A message never fails by its age, as those
            // behind it could go on then.
            ("enable.gapless.guarantee", "true".into()),
            ("message.timeout.ms", "0".into()),
            // As Java's producers and Kafka Streams have it.
            ("partitioner", "murmur2_random".into()),
            ("compression.type", self.settings.compression.clone()),
            ("linger.ms", LINGER_MS.to_string()),
            ("message.max.bytes", self.settings.message_bytes.to_string()),
            ("queue.buffering.max.messages", QUEUE_MESSAGES.to_string()),
            ("queue.buffering.max.kbytes", QUEUE_KIBIBYTES.max(self.settings.message_bytes >> 9).to_string()),
            ("reconnect.backoff.max.ms", "1000".into()),
            ("statistics.interval.ms", "1000".into()),
            ("enable.metrics.push", "false".into()),
        ];
        for (key, value) in set {
            config.set(key, value);
        }
        config
    }

    /// Adds certificates and the key as they are now. No other user may read the key.
    fn config_with_keys(&self) -> Result<ClientConfig, Failure> {
        let mut config = self.config();
        let Some(tls) = &self.settings.tls else { return Ok(config) };
        config.set("security.protocol", "ssl").set("ssl.ca.location", tls.authority.display().to_string());
        if let Some(certificate) = &tls.certificate {
            config.set("ssl.certificate.location", certificate.display().to_string());
        }
        if let Some(key) = &tls.key {
            let key = files::read(key).map_err(|error| self.failure(error))?;
            config.set("ssl.key.pem", key.as_str());
        }
        Ok(config)
    }

    /// A failure with the brokers and the topic before it.
    fn failure(&self, what: impl std::fmt::Display) -> Failure {
        Failure::new(format!("topic {} at {}: {what}", self.settings.topic, self.settings.brokers.join(", ")))
    }

    /// Whether brokers answer, and have the topic.
    fn ask(&self, producer: &BaseProducer<Reports>) -> Result<(), Failure> {
        let found = producer.client().fetch_metadata(Some(&self.settings.topic), ANSWER_TIME);
        let found = found.map_err(|error| {
            // Reports wait until they are polled.
            producer.poll(REPORTS_TIME);
            let why = producer.context().last_error().unwrap_or_else(|| code(&error));
            self.failure(format_args!("no broker answers: {why}"))
                .hint("look whether the brokers run and let the sensor in")
        })?;
        let topic = found.topics().iter().find(|topic| topic.name() == self.settings.topic);
        match topic.map(|topic| (topic.error(), topic.partitions().len())) {
            Some((None, partitions)) if partitions > 0 => Ok(()),
            Some((Some(error), _)) => {
                Err(self.failure(RDKafkaErrorCode::from(error)).hint("make the topic, and let the sensor write to it"))
            }
            _ => Err(self.failure("there is no such topic").hint("make the topic")),
        }
    }

    fn session(&mut self) -> Result<&mut Session, Failure> {
        let closed = self.failure("it is closed");
        self.session.as_mut().ok_or(closed)
    }

    /// Makes messages of what waits, for some time.
    fn produce(&mut self, time: Duration) -> Result<(), Failure> {
        let begun = Instant::now();
        while begun.elapsed() < time {
            match self.session()?.waiting.pop_front() {
                None => break,
                Some(Waiting::Through(id)) => {
                    self.session()?.flights.push_back(Flight { id, messages: 0, is_whole: true })
                }
                Some(Waiting::Record { row, wrapped }) => self.record(&row, wrapped.as_deref())?,
            }
        }
        Ok(())
    }

    fn record(&mut self, row: &Row, wrapped: Option<&[u8]>) -> Result<(), Failure> {
        self.session()?.flights.push_back(Flight { id: row.id, messages: 0, is_whole: false });
        let given =
            each(row, wrapped.map_or(0, <[u8]>::len), self.form, &mut |message| self.place(row, wrapped, &message));
        match given {
            Ok(()) => {}
            Err(Error::Taken(failure)) => return Err(failure),
            Err(Error::Damaged(error)) => {
                self.warning =
                    Some(format!("record {} cannot be read whole, and what cannot is left out: {error}", row.id));
            }
        }
        if let Some(flight) = self.session()?.flights.back_mut() {
            flight.is_whole = true;
        }
        Ok(())
    }

    /// Places a message in librdkafka's queue; waits while it is full.
    fn place(&mut self, row: &Row, wrapped: Option<&[u8]>, message: &Message) -> Result<(), Failure> {
        let sequence = sequence(row.id, message.index);
        let texts = [("tw-seq", sequence.as_str()), ("tw-sensor", &self.store), ("tw-schema", message.schema)];
        let mut headers = OwnedHeaders::new_with_capacity(4);
        for (key, value) in texts {
            headers = headers.insert(Header { key, value: Some(value) });
        }
        if let Some(wrapped) = wrapped {
            headers = headers.insert(Header { key: "tw-key", value: Some(wrapped) });
        }
        let topic = self.settings.topic.clone();
        let session = self.session()?;
        let ticket = session.first_ticket.wrapping_add(session.flights.len().wrapping_sub(1));
        let mut record =
            BaseRecord::with_opaque_to(&topic, ticket).key(&message.key).payload(&message.value).headers(headers);
        loop {
            let session = self.session()?;
            let full = match session.producer.send(record) {
                Ok(()) => {
                    if let Some(flight) = session.flights.back_mut() {
                        flight.messages += 1;
                    }
                    return Ok(());
                }
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), back)) => back,
                Err((error, _)) => return Err(self.refused(&code(&error))),
            };
            session.producer.poll(FULL_PAUSE);
            self.settle()?;
            record = full;
        }
    }

    fn refused(&self, why: &str) -> Failure {
        let fatal = self.session.as_ref().and_then(|session| session.producer.client().fatal_error());
        let failure = self.failure(fatal.map_or_else(|| why.to_owned(), |(_, text)| format!("{why} ({text})")));
        failure.hint("look at 'max.message.bytes' of the topic, and whether the sensor may write to it")
    }

    /// Takes note of what was reported.
    fn settle(&mut self) -> Result<u64, Failure> {
        let session = self.session()?;
        let news = session.producer.context().take();
        if let Some(why) = news.refused {
            return Err(self.refused(&why));
        }
        let is_moving = !news.delivered.is_empty();
        for ticket in news.delivered {
            let flight = session.flights.get_mut(ticket.wrapping_sub(session.first_ticket));
            if let Some(flight) = flight {
                flight.messages = flight.messages.saturating_sub(1);
            }
        }
        while let Some(flight) = session.flights.pop_front_if(|flight| flight.is_whole && flight.messages == 0) {
            session.durable = session.durable.max(flight.id);
            session.first_ticket = session.first_ticket.wrapping_add(1);
        }
        if is_moving || session.flights.is_empty() {
            session.moved = Instant::now();
        }
        let (durable, silent) = (session.durable, session.moved.elapsed());
        if silent > self.settings.timeout {
            let error = self.session()?.producer.context().last_error();
            let why = error.map(|error| format!(": {error}")).unwrap_or_default();
            let what = format!("nothing was acknowledged for {} s{why}", silent.as_secs());
            return Err(self
                .failure(what)
                .hint("look whether the brokers run, and as many are in sync as the topic needs"));
        }
        Ok(durable)
    }
}

/// Whether what is not sealed can be read on the way to a broker.
fn is_in_the_clear(settings: &KafkaSettings) -> bool {
    let is_near = |broker: &String| ["127.", "localhost:", "[::1]:"].iter().any(|near| broker.starts_with(near));
    settings.tls.is_none() && !settings.brokers.iter().all(is_near)
}

fn code(error: &KafkaError) -> String {
    error.rdkafka_error_code().map_or_else(|| error.to_string(), |code| code.to_string())
}

impl Destination for Topic {
    fn kind(&self) -> &'static str {
        "kafka"
    }

    fn open(&mut self, start: Start) -> Result<Option<u64>, Failure> {
        self.close();
        self.store = hex::encode(&start.store);
        let producer: BaseProducer<Reports> =
            self.config_with_keys()?.create_with_context(Reports::default()).map_err(|error| self.failure(error))?;
        self.ask(&producer)?;
        self.session = Some(Session {
            producer,
            waiting: VecDeque::new(),
            flights: VecDeque::new(),
            first_ticket: 0,
            durable: start.delivered,
            moved: Instant::now(),
        });
        Ok(None)
    }

    fn send(&mut self, parcel: &Parcel<'_>) -> Result<(), Failure> {
        let session = self.session()?;
        let records =
            parcel.rows.iter().map(|row| Waiting::Record { row: row.clone(), wrapped: wrapped(row, parcel.keys) });
        session.waiting.extend(records);
        session.waiting.push_back(Waiting::Through(parcel.through));
        Ok(())
    }

    fn acknowledged(&mut self, wait: Duration) -> Result<u64, Failure> {
        self.produce(SLICE)?;
        let session = self.session()?;
        // With nothing to wait for there is nothing to poll for, but a rest.
        session.producer.poll(if session.waiting.is_empty() { wait } else { Duration::ZERO });
        self.settle()
    }

    fn flush(&mut self) -> Result<(), Failure> {
        self.produce(FLUSH_TIME)?;
        // Acknowledgments that are missing after this time are waited for in later calls.
        let _ = self.session()?.producer.flush(FLUSH_TIME);
        Ok(())
    }

    fn close(&mut self) {
        if let Some(session) = self.session.take() {
            self.bytes = self.bytes.saturating_add(session.producer.context().sent_bytes());
        }
    }

    fn window(&self) -> usize {
        PARCELS_MAX
    }

    fn bytes(&self) -> u64 {
        let session = self.session.as_ref().map_or(0, |session| session.producer.context().sent_bytes());
        self.bytes.saturating_add(session)
    }

    fn warning(&mut self) -> Option<String> {
        self.warning.take()
    }
}
