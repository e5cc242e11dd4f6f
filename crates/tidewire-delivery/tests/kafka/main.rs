//! Kafka as a destination, with a real broker (`make kafka-test`): what arrives there, in which order, and what the broker can read.
#![forbid(unsafe_code)]

mod broker;
mod events;
mod sensor;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    path::Path,
    thread::sleep,
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use broker::{Broker, Message, jars, unhex};
use events::{ADDRESS, EXCERPT, event, large, records, severe};
use sensor::{Sensor, Spooler, contains, destination};
use tidewire_delivery::{
    DestinationSettings, KafkaSettings, KafkaTls,
    keys::{Authority, Validity, files, identity},
};
use tidewire_event_store::{Batch, Keyring, Recipients, Row, Sealer};
use tidewire_events::{Event, Record, Severity};
use tidewire_testing::wait_until;

#[test]
#[ignore = "no test: the spooler that tests start and kill"]
fn a_spooler_as_a_process() {
    sensor::run();
}

/// One broker for all of it, as starting one takes seconds.
#[test]
fn events_reach_a_broker() {
    let jars = match jars() {
        Ok(jars) => jars,
        Err(why) => return tidewire_testing::skip(why),
    };
    let keys = tempfile::tempdir().unwrap();
    let certificates = certificates(keys.path());
    let mut broker = Broker::start(jars, &certificates.broker, &certificates.authority);
    step("kills", || every_event_arrives_once_and_in_order_with_kills_of_all_parts(&mut broker));
    step("filters", || filters_and_floods(&broker));
    step("sealed", || sealed_records_are_not_readable_at_the_broker(&broker));
    step("refusals", || failures_are_reported_and_delay_no_other(&broker));
    if cfg!(feature = "kafka-tls") {
        step("TLS", || tls_with_certificates_of_both_sides(&broker, keys.path()));
    }
}

/// Not a test: what one producer and one broker do (`scripts/kafka.sh --figures`).
#[test]
#[ignore = "no test: figures for docs/cluster.md"]
fn figures() {
    let jars = match jars() {
        Ok(jars) => jars,
        Err(why) => return tidewire_testing::skip(why),
    };
    let keys = tempfile::tempdir().unwrap();
    let certificates = certificates(keys.path());
    let broker = Broker::start(jars, &certificates.broker, &certificates.authority);
    for (name, count, events) in [("of-one", 20_000_u64, 1), ("of-100", 1000, 100), ("of-65536", 16, 65_536)] {
        broker.create(name, 4, &[]);
        let sensor = Sensor::new();
        let all: Vec<Record> = (0..count).flat_map(|at| records(at * events..(at + 1) * events)).collect();
        for some in all.chunks(1000) {
            sensor.append(Batch { records: some.to_vec(), ..Batch::default() });
        }
        wait_until("the store", || {
            tidewire_event_store::Reader::open(&sensor.store()).unwrap().last_id().unwrap() == count
        });
        let begun = std::time::Instant::now();
        let spooler = Spooler::start(&sensor.settings(vec![plain(&broker, name)]));
        wait_until("delivery", || spooler.status(name).delivered == count);
        let (seconds, cpu) = (begun.elapsed().as_secs_f64(), spooler.cpu_seconds());
        let (sent, all) = (spooler.status(name).bytes, count * events);
        spooler.stop();
        println!("{name}: {all} events in {seconds:.2} s, {cpu:.2} s of a core, {sent} bytes sent");
    }
}

fn step(name: &str, test: impl FnOnce()) {
    let begun = std::time::Instant::now();
    test();
    println!("{name}: {:.1} s", begun.elapsed().as_secs_f64());
}

fn at(address: &str, topic: &str) -> KafkaSettings {
    let timeout = Duration::from_secs(5);
    KafkaSettings { brokers: vec![address.to_owned()], topic: topic.to_owned(), timeout, ..KafkaSettings::default() }
}

fn plain(broker: &Broker, topic: &str) -> DestinationSettings {
    destination(topic, at(&broker.address(), topic))
}

/// The messages that a consumer keeps: of each sensor and partition only those with a greater position than the last one.
fn without_duplicates(messages: Vec<Message>) -> (Vec<Message>, usize) {
    let all = messages.len();
    let mut last: HashMap<(String, u32), String> = HashMap::new();
    let kept = messages.into_iter().filter(|message| {
        let last = last.entry((message.sensor.clone(), message.partition)).or_default();
        let is_new = message.sequence > *last;
        if is_new {
            last.clone_from(&message.sequence);
        }
        is_new
    });
    let kept: Vec<Message> = kept.collect();
    let dropped = all - kept.len();
    (kept, dropped)
}

/// The event in a message, as it was emitted.
fn original(message: &Message) -> Event {
    assert_eq!(message.schema, "tidewire.event/1");
    let mut value = message.value.clone();
    let members = value.as_object_mut().unwrap();
    members.remove("record").unwrap();
    members.remove("number").unwrap();
    Event::from_json(&value.to_string(), 0).unwrap()
}

fn number(event: &Event) -> u64 {
    let tidewire_events::Value::U64(number) = event.fields[0].value else { panic!("{event:?}") };
    number
}

fn every_event_arrives_once_and_in_order_with_kills_of_all_parts(broker: &mut Broker) {
    const ROUNDS: u64 = 40;
    broker.create("events", 4, &[]);
    let sensor = Sensor::new();
    let settings = sensor.settings(vec![plain(broker, "events")]);
    let (mut next, mut written) = (0, 0);
    let mut spooler = Spooler::start(&settings);
    for round in 0..ROUNDS {
        for _ in 0..20 {
            // Records of one event and of many, as they come.
            let events = 1 + (written * 7) % 60;
            sensor.append(Batch { records: records(next..next + events), ..Batch::default() });
            (next, written) = (next + events, written + 1);
        }
        // Never in step with anything.
        sleep(Duration::from_millis(40 + (round * 97) % 210));
        match round {
            10 => broker.kill(),
            14 => broker.again(),
            _ if round % 3 == 0 => {
                spooler.kill();
                spooler = Spooler::start(&settings);
            }
            _ => {}
        }
    }
    sensor.wait_for("events", written);
    spooler.stop();
    let (messages, duplicates) = without_duplicates(broker.read("events"));
    println!("{next} events, {duplicates} duplicates dropped");
    let store = sensor.id();
    let (mut seen, mut by_key) = (BTreeSet::new(), BTreeMap::<String, u64>::new());
    for message in &messages {
        let found = original(message);
        let number = number(&found);
        assert_eq!(found, event(number));
        assert!(seen.insert(number), "event {number} came twice: {message:?}");
        assert_eq!(message.partition, message.expected_partition);
        assert_eq!((message.sensor.as_str(), message.key.len()), (store.as_str(), 40));
        let last = by_key.insert(message.key.clone(), number);
        assert!(last.is_none_or(|last| last < number), "{last:?} before {number}");
    }
    assert!(seen.into_iter().eq(0..next), "events are missing");
    assert!(by_key.len() > 50);
    let partitions: BTreeSet<u32> = messages.iter().map(|message| message.partition).collect();
    assert_eq!(partitions.len(), 4);
}

fn filters_and_floods(broker: &Broker) {
    broker.create("severe", 2, &[]);
    broker.create("folded", 2, &[]);
    let sensor = Sensor::new();
    let worst = DestinationSettings { severity: "high".into(), ..plain(broker, "severe") };
    let folded = destination("folded", KafkaSettings { expand_max: 50, ..at(&broker.address(), "folded") });
    sensor.append(Batch { records: records(0..40), ..Batch::default() });
    sensor.append(Batch { records: records(40..2040), ..Batch::default() });
    sensor.append(Batch { records: severe(2040), ..Batch::default() });
    let spooler = Spooler::start(&sensor.settings(vec![worst, folded]));
    sensor.wait_for("severe", 3);
    sensor.wait_for("folded", 3);
    wait_until("the figures", || spooler.status("folded").events == 2041 && spooler.status("folded").bytes > 0);
    spooler.stop();
    let only = broker.read("severe");
    assert_eq!((only.len(), only[0].value["severity"].as_str()), (1, Some("critical")));
    let (messages, _) = without_duplicates(broker.read("folded"));
    let (floods, events): (Vec<_>, Vec<_>) = messages.iter().partition(|message| message.schema == "tidewire.record/1");
    assert_eq!((floods.len(), events.len()), (1, 41));
    assert_eq!(floods[0].value["count"], 2000);
    assert_eq!(floods[0].value["record"], 2);
    assert!(floods[0].value["varied"].is_object() || floods[0].value["varied"].is_array());
}

fn sealed_records_are_not_readable_at_the_broker(broker: &Broker) {
    broker.create("open", 1, &[]);
    let sensor = Sensor::new();
    sensor.append(Batch { records: records(0..10), ..Batch::default() });
    let in_clear = |topic: &str| KafkaSettings { compression: "none".into(), ..at(&broker.address(), topic) };
    let spooler = Spooler::start(&sensor.settings(vec![destination("open", in_clear("open"))]));
    sensor.wait_for("open", 1);
    spooler.stop();
    let log = broker.log();
    assert!(contains(&log.join("open-0"), ADDRESS.as_bytes()), "the search does not find what is there");
    let needles = [
        ADDRESS.as_bytes().to_vec(),
        EXCERPT.to_vec(),
        hex(EXCERPT).into_bytes(),
        BASE64_STANDARD.encode(EXCERPT).into(),
    ];

    broker.create("sealed", 1, &[]);
    let sensor = Sensor::new();
    let (identity, recipient) = identity::make();
    let mut sealer = Sealer::new(&Recipients::parse(&[recipient]).unwrap()).unwrap();
    let plain = [records(0..5).remove(0), large(5..600).remove(0)];
    let rows: Vec<Row> = plain.iter().map(|record| sealer.seal(record).unwrap()).collect();
    assert!(rows[1].bytes.len() > 1_000_000, "large enough for parts");
    sensor.append(Batch { rows: rows.clone(), keys: vec![sealer.key()], ..Batch::default() });
    let spooler = Spooler::start(&sensor.settings(vec![destination("sealed", in_clear("sealed"))]));
    sensor.wait_for("sealed", 2);
    spooler.stop();
    let (messages, _) = without_duplicates(broker.read("sealed"));
    assert!(messages.len() > 2, "parts: {}", messages.len());
    for needle in needles {
        assert!(!contains(&log.join("sealed-0"), &needle), "{}", String::from_utf8_lossy(&needle));
    }
    // With what the messages hold, and the identity, every original comes back.
    let mut keyring = Keyring::default();
    keyring.add(&identity).unwrap();
    for (row, (record, id)) in rows.iter().zip(plain.iter().zip(1_u64..)) {
        let of: Vec<&Message> = messages.iter().filter(|message| message.value["record"] == id).collect();
        for message in &of {
            assert_eq!((message.schema.as_str(), &message.key), ("tidewire.sealed/1", &hex(&row.fold.to_be_bytes())));
        }
        let found = unsealed(&of, &mut keyring);
        assert!(found.bytes() == record.bytes());
    }
}

/// A record of its parts.
fn unsealed(parts: &[&Message], keyring: &mut Keyring) -> Record {
    let of = &parts[0].value;
    let text = |name: &str| of[name].as_str().unwrap().to_owned();
    let number = |name: &str| of[name].as_u64().unwrap();
    let sealed: String = parts.iter().map(|part| part.value["sealed"].as_str().unwrap()).collect();
    let row = Row {
        id: number("record"),
        analyzer: text("analyzer"),
        kind: text("kind"),
        severity: Severity::by_name(&text("severity")).unwrap(),
        fold: number("fold"),
        events: number("count"),
        first_ns: number("first_ns"),
        last_ns: number("last_ns"),
        key: Some(unhex(&text("key")).try_into().unwrap()),
        bytes: BASE64_STANDARD.decode(sealed).unwrap(),
    };
    keyring.unseal(&row, || parts[0].data_key.clone()).unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn failures_are_reported_and_delay_no_other(broker: &Broker) {
    broker.create("well", 1, &[]);
    broker.create("narrow", 1, &["max.message.bytes=100"]);
    let sensor = Sensor::new();
    sensor.append(Batch { records: records(0..100), ..Batch::default() });
    let nowhere = destination("nowhere", at("127.0.0.1:9", "well"));
    let spooler = Spooler::start(&sensor.settings(vec![
        nowhere,
        plain(broker, "absent"),
        plain(broker, "narrow"),
        plain(broker, "well"),
    ]));
    sensor.wait_for("well", 1);
    spooler.wait_for_failing("nowhere", &["topic well", "127.0.0.1:9", "Connection refused"]);
    spooler.wait_for_failing("absent", &["topic absent", &broker.address(), "make the topic"]);
    spooler.wait_for_failing("narrow", &["topic narrow", &broker.address(), "max.message.bytes"]);
    assert_eq!(spooler.status("narrow").delivered, 0, "what is refused is not delivered");
    // Made now, it gets everything.
    broker.create("absent", 1, &[]);
    sensor.wait_for("absent", 1);
    spooler.stop();
    assert_eq!(without_duplicates(broker.read("absent")).0.len(), 100);
    assert_eq!(broker.read("narrow").len(), 0);
}

/// Certificates of a broker, as texts.
struct Certificates {
    broker: String,
    authority: String,
}

/// An authority, the broker's certificate, a sensor's (`sensor.pem`), and another authority with another sensor's.
fn certificates(folder: &Path) -> Certificates {
    let year = || Validity::of(Duration::from_secs(365 * 86_400));
    let (authority, text) = Authority::make("tests", year()).unwrap();
    let broker = authority.collector(&["localhost".to_owned(), "127.0.0.1".to_owned()], year()).unwrap();
    files::create(&folder.join("sensor.pem"), &authority.sensor("edge-1", year()).unwrap()).unwrap();
    let (other, other_text) = Authority::make("others", year()).unwrap();
    files::create(&folder.join("other.pem"), &other.sensor("edge-1", year()).unwrap()).unwrap();
    let certificate = |text: &str| text[text.find("-----BEGIN CERTIFICATE").unwrap()..].to_owned();
    fs::write(folder.join("authority.pem"), certificate(&text)).unwrap();
    fs::write(folder.join("other-authority.pem"), certificate(&other_text)).unwrap();
    Certificates { broker, authority: certificate(&text) }
}

fn tls_with_certificates_of_both_sides(broker: &Broker, keys: &Path) {
    broker.create("secret", 1, &[]);
    let sensor = Sensor::new();
    sensor.append(Batch { records: records(0..100), ..Batch::default() });
    let with = |name: &str, authority: &str, own: Option<&str>| {
        let own = own.map(|own| keys.join(own));
        let tls = KafkaTls { authority: keys.join(authority), certificate: own.clone(), key: own };
        destination(name, KafkaSettings { tls: Some(tls), ..at(&broker.tls_address(), "secret") })
    };
    let everyone = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fs::copy(keys.join("sensor.pem"), keys.join("loose.pem")).unwrap();
    fs::set_permissions(keys.join("loose.pem"), everyone).unwrap();
    let loose = with("loose", "authority.pem", Some("loose.pem"));
    let wrong = [
        loose,
        with("stranger", "authority.pem", Some("other.pem")),
        with("anonymous", "authority.pem", None),
        with("misled", "other-authority.pem", Some("sensor.pem")),
    ];
    let spooler = Spooler::start(&sensor.settings(wrong.to_vec()));
    spooler.wait_for_failing("loose", &["topic secret", "loose.pem"]);
    for name in ["stranger", "anonymous", "misled"] {
        spooler.wait_for_failing(name, &["topic secret", &broker.tls_address()]);
        println!("{}", spooler.status(name).failing.unwrap_or_default());
    }
    spooler.stop();
    assert_eq!(broker.read("secret").len(), 0);
    let spooler = Spooler::start(&sensor.settings(vec![with("right", "authority.pem", Some("sensor.pem"))]));
    sensor.wait_for("right", 1);
    spooler.stop();
    assert_eq!(without_duplicates(broker.read("secret")).0.len(), 100);
}
