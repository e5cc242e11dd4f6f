//! Peers on either side that do not keep to the protocol: each is refused with a reason, and nothing they send is stored or believed.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    version::TLS13,
};
use tidewire_delivery::{
    collector::CollectSettings,
    limits::{BATCH_BYTES_MAX, FRAME_BYTES_MAX, PROTOCOL_VERSION},
    protocol::{Assembler, Code, Frame, Message, Packer, put_frame, put_row},
};
use tidewire_event_store::Row;
use tidewire_testing::{PATIENCE, wait_until};

use crate::rig::{Collecting, Spooling, batch, count, key_file, open, records, to_collector};

const ALPN: &[u8] = b"tidewire-events/1";
const STORE: [u8; 16] = [5; 16];

type Chain = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn own(name: &str) -> Chain {
    let text = std::fs::read(key_file(name)).unwrap();
    let first = CertificateDer::pem_slice_iter(&text).next().unwrap().unwrap();
    (vec![first], PrivateKeyDer::from_pem_slice(&text).unwrap())
}

fn roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    let text = std::fs::read(key_file("collector")).unwrap();
    roots.add(CertificateDer::pem_slice_iter(&text).last().unwrap().unwrap()).unwrap();
    roots
}

/// A sensor that sends what it likes.
struct Sensor {
    stream: StreamOwned<ClientConnection, TcpStream>,
    frames: Assembler,
}

impl Sensor {
    fn connect(address: SocketAddr, name: &str) -> Self {
        Self::connect_with(address, name, &[ALPN])
    }

    fn connect_with(address: SocketAddr, name: &str, protocols: &[&[u8]]) -> Self {
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_protocol_versions(&[&TLS13]).unwrap().with_root_certificates(roots());
        let (chain, key) = own(name);
        let mut config = builder.with_client_auth_cert(chain, key).unwrap();
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        let connection = ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap();
        let tcp = TcpStream::connect(address).unwrap();
        tcp.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { stream: StreamOwned::new(connection, tcp), frames: Assembler::default() }
    }

    fn greeted(address: SocketAddr, name: &'static str) -> Self {
        let mut sensor = Self::connect(address, name);
        let hello = Message::Hello { version: PROTOCOL_VERSION, store: STORE, delivered: 0, name, program: "test" };
        sensor.say(&hello);
        let frame = sensor.next().expect("an answer");
        assert!(matches!(Message::decode(&frame).unwrap(), Message::Welcome { .. }), "{frame:?}");
        sensor
    }

    fn send(&mut self, bytes: &[u8]) {
        // The collector may have closed it already.
        let _ = self.stream.write_all(bytes).and_then(|()| self.stream.flush());
    }

    fn say(&mut self, message: &Message<'_>) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        self.send(&bytes);
    }

    fn next(&mut self) -> Option<Frame> {
        let mut room = [0; 4096];
        loop {
            if let Some(frame) = self.frames.next(4096).unwrap() {
                return Some(frame);
            }
            match self.stream.read(&mut room) {
                Ok(bytes @ 1..) => self.frames.push(&room[..bytes]),
                _ => return None,
            }
        }
    }

    /// It is refused for this reason.
    fn expect_refusal(mut self, why: Code, words: &str) {
        let frame = self.next().expect("a refusal");
        match Message::decode(&frame).unwrap() {
            Message::Refused { code, reason } => assert!(code == why && reason.contains(words), "{code:?} {reason}"),
            other => panic!("{other:?}"),
        }
        assert!(self.next().is_none(), "the connection ends");
    }
}

/// A batch of these events, as a sensor sends it.
fn put_batch(after: u64, through: u64, numbers: std::ops::Range<u64>) -> Vec<u8> {
    let (mut raw, mut before) = (Vec::new(), after);
    for (at, record) in records(numbers).iter().enumerate() {
        let row = Row::plain(after + at as u64 + 1, record).unwrap();
        put_row(&mut raw, before, &row);
        before = row.id;
    }
    encoded(after, through, raw.len(), &Packer::new().unwrap().pack(&raw).unwrap())
}

fn encoded(after: u64, through: u64, raw_bytes: usize, compressed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Message::Batch { after, through, raw_bytes, compressed }.encode(&mut bytes);
    bytes
}

#[test]
fn sensors_that_send_garbage_are_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let collecting = Collecting::start(folder.path());
    let address = collecting.address();
    let frame = |kind, body: &[u8]| {
        let mut bytes = Vec::new();
        put_frame(&mut bytes, kind, body);
        bytes
    };
    let zeros = Packer::new().unwrap().pack(&vec![0; 64 << 20]).unwrap();
    assert!(zeros.len() < 10_000, "a bomb is small");
    let mut changed = put_batch(0, 5, 0..5);
    *changed.last_mut().unwrap() ^= 1;
    let no_record = Packer::new().unwrap().pack(&[1, 0, 3, 9, 9, 9]).unwrap();
    let cases: Vec<(Vec<u8>, Code, &str)> = vec![
        (frame(77, b"?"), Code::Garbled, "type 77"),
        (frame(6, &[1]), Code::Garbled, "only a collector"),
        (frame(5, &[]), Code::Garbled, "ends within"),
        (frame(5, &[9, 9, 1, 0]), Code::Garbled, "the end"),
        (u32::MAX.to_le_bytes().to_vec(), Code::Garbled, "at most"),
        (((FRAME_BYTES_MAX + 1) as u32).to_le_bytes().to_vec(), Code::Garbled, "at most"),
        (changed, Code::Garbled, "checksum"),
        (encoded(0, 5, BATCH_BYTES_MAX, &zeros), Code::Garbled, "decompressed"),
        (encoded(0, 5, 100, &zeros), Code::Garbled, "decompressed"),
        (encoded(0, 5, 4, b"no zstd"), Code::Garbled, "decompressed"),
        (encoded(0, 5, 6, &no_record), Code::Garbled, "record 1"),
        // More records than numbers, and numbers that go back.
        (put_batch(0, 3, 0..5), Code::Garbled, "number"),
        (frame(4, &[200, 1]), Code::Garbled, "number of keys"),
    ];
    let count_of = cases.len() as u64;
    for (bytes, code, words) in cases {
        let mut sensor = Sensor::greeted(address, "edge-1");
        sensor.send(&bytes);
        sensor.expect_refusal(code, words);
        collecting.log.until(words);
    }
    assert_eq!((count(&collecting.of("edge-1")), collecting.server.status().refused), (0, count_of));
    // It still takes what is right.
    let mut sensor = Sensor::greeted(address, "edge-1");
    sensor.send(&put_batch(0, 5, 0..5));
    let frame = sensor.next().expect("an acknowledgment");
    assert_eq!(Message::decode(&frame).unwrap(), Message::Acknowledged { through: 5 });
    assert_eq!(count(&collecting.of("edge-1")), 5);
    // Once: neither the same again, nor with a hole before it.
    for (after, through) in [(0, 5), (6, 8), (4, 9)] {
        sensor.send(&put_batch(after, through, 0..1));
        sensor.expect_refusal(Code::Order, &format!("follows record {after}"));
        sensor = Sensor::greeted(address, "edge-1");
    }
    assert_eq!(count(&collecting.of("edge-1")), 5);
}

#[test]
fn greetings_that_are_wrong_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let collecting = Collecting::start(folder.path());
    let hello = |version, name| Message::Hello { version, store: STORE, delivered: 0, name, program: "test" };
    for (message, code, words) in [
        (hello(9, "edge-1"), Code::Version, "version 9"),
        (hello(PROTOCOL_VERSION, "edge-2"), Code::Name, "certificate is that of 'edge-1'"),
        (hello(PROTOCOL_VERSION, "../edge-1"), Code::Name, "certificate is that of"),
        (Message::Ping, Code::Garbled, "no greeting"),
    ] {
        let mut sensor = Sensor::connect(collecting.address(), "edge-1");
        sensor.say(&message);
        sensor.expect_refusal(code, words);
        collecting.log.until(words);
    }
    let mut sensor = Sensor::connect(collecting.address(), "edge-1");
    sensor.send(&2000_u32.to_le_bytes());
    sensor.expect_refusal(Code::Garbled, "at most 1024");
    // One that does not say which protocol it speaks.
    let mut sensor = Sensor::connect_with(collecting.address(), "edge-1", &[]);
    let hello =
        Message::Hello { version: PROTOCOL_VERSION, store: STORE, delivered: 0, name: "edge-1", program: "test" };
    sensor.say(&hello);
    assert!(sensor.next().is_none());
    collecting.log.until("speaks another protocol than this one over TLS");
    // Bytes that are not TLS at all.
    let mut tcp = TcpStream::connect(collecting.address()).unwrap();
    tcp.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    tcp.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut answer = Vec::new();
    let _ = tcp.take(4096).read_to_end(&mut answer);
    collecting.log.until("does not speak TLS");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn two_sensors_of_one_name_are_distinguished_and_reported_to_both() {
    let folder = tempfile::tempdir().unwrap();
    let collecting = Collecting::start(folder.path());
    let mut first = Sensor::greeted(collecting.address(), "edge-1");
    let mut second = Sensor::connect(collecting.address(), "edge-1");
    let mut store = STORE;
    store[0] ^= 1;
    second.say(&Message::Hello { version: PROTOCOL_VERSION, store, delivered: 0, name: "edge-1", program: "test" });
    second.expect_refusal(Code::Busy, "another sensor named 'edge-1'");
    collecting.log.until("another sensor named 'edge-1'");
    first.say(&Message::Ping);
    let frame = first.next().expect("it goes on");
    assert!(matches!(Message::decode(&frame).unwrap(), Message::Pong), "{frame:?}");
    // The same sensor again: the old connection is one that it lost.
    drop(Sensor::greeted(collecting.address(), "edge-1"));
    assert!(first.next().is_none());
}

#[test]
fn a_silent_client_keeps_no_sensor_out_and_is_put_out() {
    let folder = tempfile::tempdir().unwrap();
    let settings = CollectSettings { timeout: Duration::from_millis(700), ..Collecting::settings(folder.path()) };
    let collecting = Collecting::with(settings);
    let address = collecting.address();
    // More connections than may wait for a greeting: the oldest go.
    let silent: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(address).unwrap()).collect();
    let mut sensor = Sensor::greeted(address, "edge-1");
    sensor.send(&put_batch(0, 5, 0..5));
    assert!(sensor.next().is_some());
    let mut oldest = &silent[0];
    oldest.set_read_timeout(Some(PATIENCE)).unwrap();
    assert!(matches!(oldest.read(&mut [0; 9]), Ok(0) | Err(_)), "it was closed");
    // A sensor that says nothing further, and one that never sends the rest of a frame.
    assert!(sensor.next().is_none());
    collecting.log.until("sensor edge-1");
    let mut sensor = Sensor::greeted(address, "edge-1");
    let bytes = put_batch(5, 9, 5..9);
    sensor.send(&bytes[..bytes.len() / 2]);
    let begun = Instant::now();
    assert!(sensor.next().is_none() && begun.elapsed() < PATIENCE);
    assert_eq!(count(&collecting.of("edge-1")), 5);
}

#[test]
fn limits_of_connections_and_rate_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let settings = CollectSettings {
        connections_max: 2,
        sensors_max: 2,
        rate_bytes: Some(20_000),
        ..Collecting::settings(folder.path())
    };
    let collecting = Collecting::with(settings);
    let address = collecting.address();
    let first = Sensor::greeted(address, "edge-1");
    let second = Sensor::greeted(address, "edge-2");
    let mut third = Sensor::connect(address, "edge-3");
    let hello =
        Message::Hello { version: PROTOCOL_VERSION, store: STORE, delivered: 0, name: "edge-3", program: "test" };
    third.say(&hello);
    third.expect_refusal(Code::Busy, "2 connections, the limit");
    drop(second);
    wait_until("the second one is gone", || collecting.server.status().connections == 1);
    let mut third = Sensor::connect(address, "edge-3");
    third.say(&hello);
    third.expect_refusal(Code::Busy, "2 sensors, the limit");
    // A new connection of a sensor ends its old one.
    drop(first);
    let mut old = Sensor::greeted(address, "edge-1");
    wait_until("room", || collecting.server.status().connections == 1);
    let mut new = Sensor::greeted(address, "edge-1");
    assert!(old.next().is_none());
    // It sends more than it may: everything arrives, after a while.
    let begun = Instant::now();
    let (mut sent, mut last) = (0, 0);
    for batch in 0..4 {
        let bytes = put_batch(batch * 100, batch * 100 + 100, batch * 100..batch * 100 + 100);
        last = records(batch * 100..batch * 100 + 100).iter().map(|record| record.bytes().len()).sum();
        sent += last;
        new.send(&bytes);
        assert!(new.next().is_some(), "an acknowledgment");
    }
    let least = Duration::from_secs_f64((sent - 20_000 - last) as f64 / 20_000.0);
    assert!(begun.elapsed() > least, "{sent} bytes in {:?}", begun.elapsed());
    assert_eq!(count(&collecting.of("edge-1")), 400);
}

#[test]
fn large_batches_may_arrive_slowly_and_stores_without_records_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let settings = CollectSettings { timeout: Duration::from_millis(1200), ..Collecting::settings(folder.path()) };
    let collecting = Collecting::with(settings);
    // Bytes that cannot be compressed, in a frame of more than 64 KiB.
    let mut random = tidewire_testing::filters::Numbers(3);
    let (mut raw, key) = (Vec::new(), [7; 16]);
    let bytes: Vec<u8> = (0..100_000).map(|_| random.below(256) as u8).collect();
    let row = Row { id: 1, key: Some(key), bytes, ..Row::plain(1, &records(0..1)[0]).unwrap() };
    put_row(&mut raw, 0, &row);
    let batch = encoded(0, 1, raw.len(), &Packer::new().unwrap().pack(&raw).unwrap());
    let mut sensor = Sensor::greeted(collecting.address(), "edge-1");
    sensor.say(&Message::Keys(vec![(key, b"wrapped")]));
    let begun = Instant::now();
    for piece in batch.chunks(batch.len() / 10 + 1) {
        sensor.send(piece);
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(begun.elapsed() > Duration::from_millis(1800), "longer than the time limit");
    let mut pongs = 0;
    loop {
        let frame = sensor.next().expect("an answer");
        match Message::decode(&frame).unwrap() {
            Message::Pong => pongs += 1,
            other => break assert_eq!(other, Message::Acknowledged { through: 1 }),
        }
    }
    assert!(pongs > 0, "a sign that it arrives");
    drop(sensor);
    for number in 0..20 {
        let mut sensor = Sensor::connect(collecting.address(), "edge-1");
        let store = [number; 16];
        sensor.say(&Message::Hello { version: PROTOCOL_VERSION, store, delivered: 0, name: "edge-1", program: "test" });
        assert!(sensor.next().is_some());
        sensor.send(&encoded(0, 9, 0, &Packer::new().unwrap().pack(&[]).unwrap()));
        assert!(sensor.next().is_some(), "an acknowledgment");
    }
    drop(collecting.server);
    assert_eq!(open(&folder.path().join("edge-1/events.db")).producers().unwrap().len(), 1);
}

/// A collector that answers what it likes: with these bytes behind the greeting, on each connection until it is stopped.
fn collector(answer: Vec<u8>) -> (SocketAddr, Arc<AtomicBool>, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let serve = move || {
        let verifier = rustls::server::WebPkiClientVerifier::builder_with_provider(
            Arc::new(roots()),
            Arc::new(ring::default_provider()),
        );
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_protocol_versions(&[&TLS13]).unwrap();
        let (chain, key) = own("collector");
        let config = builder.with_client_cert_verifier(verifier.build().unwrap()).with_single_cert(chain, key);
        let mut config = config.unwrap();
        config.alpn_protocols = vec![ALPN.to_vec()];
        let config = Arc::new(config);
        while let Ok((tcp, _)) = listener.accept() {
            if stopped.load(Relaxed) {
                return;
            }
            tcp.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            let mut stream = StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), tcp);
            let mut room = [0; 4096];
            // The greeting, then the first records; the answer is the same to each.
            if stream.read(&mut room).is_ok() {
                let _ = stream.write_all(&answer).and_then(|()| stream.flush());
            }
            while matches!(stream.read(&mut room), Ok(1..)) {}
        }
    };
    (address, stop, std::thread::spawn(serve))
}

#[test]
fn collectors_that_lie_are_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let mut store = open(&path);
    store.append(&batch(0..10)).unwrap();
    let messages = |messages: &[Message<'_>]| {
        let mut bytes = Vec::new();
        messages.iter().for_each(|message| message.encode(&mut bytes));
        bytes
    };
    let welcome = Message::Welcome { version: PROTOCOL_VERSION, durable: None };
    let known = Message::Welcome { version: PROTOCOL_VERSION, durable: Some(4) };
    let cases = [
        (messages(&[Message::Welcome { version: 2, durable: None }]), "it speaks version 2"),
        (messages(&[Message::Welcome { version: PROTOCOL_VERSION, durable: Some(99) }]), "which has 10 only"),
        (messages(&[welcome.clone(), Message::Acknowledged { through: 11 }]), "acknowledges record 11"),
        (messages(&[known, Message::Acknowledged { through: 3 }]), "acknowledges record 3"),
        (messages(&[welcome.clone(), Message::Acknowledged { through: u64::MAX }]), "acknowledges record"),
        (messages(&[welcome, Message::Goodbye]), "only a sensor may send"),
        (messages(&[Message::Ping]), "the greeting is of another type"),
        (messages(&[Message::Refused { code: Code::Busy, reason: "so\u{1b}[2J" }]), "refuses: so\\u{1b}[2J"),
        (vec![0xff; 64], "at most 1024"),
        (b"\x02\x00\x00\x00\x02\x00\x00\x00\x00\x01\x00".to_vec(), "checksum"),
    ];
    for (answer, expected) in cases {
        let (address, stop, server) = collector(answer);
        let spooling = Spooling::start(&path, vec![to_collector("c", &address.to_string(), key_file("edge-1"))]);
        spooling.log.until(expected);
        let delivered = spooling.status("c").delivered;
        assert!(delivered == 0 || delivered == 4, "{expected}: {delivered}");
        drop(spooling);
        stop.store(true, Relaxed);
        drop(TcpStream::connect(address));
        wait_until("its end", || server.is_finished());
    }
}
