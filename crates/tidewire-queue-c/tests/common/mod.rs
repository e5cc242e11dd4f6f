//! A small sensor for tests: a server with one queue, and a publisher of streams.
#![allow(dead_code)]

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use tidewire_queue::{
    Geometry, Owners, Publisher, QueueSettings, Record, ServedStatus, Server,
    records::{Close, Conflict, Direction, Endpoint, Gap, Key, Open, PacketHeader, RecordType, flags},
};
use tidewire_testing::{join_in_time, wait_until};

pub use Direction::{ClientToServer as C2S, ServerToClient as S2C};

/// Serves the queue `streams` at `socket`, until dropped.
pub struct Sensor {
    pub publisher: Publisher,
    pub socket: PathBuf,
    stop: Arc<AtomicBool>,
    status: Arc<std::sync::Mutex<Vec<ServedStatus>>>,
    thread: Option<thread::JoinHandle<()>>,
}

/// A stream that is being published.
#[derive(Default)]
pub struct Stream {
    id: u64,
    owners: Owners,
    key: Key,
    next: [u64; 2],
}

impl Sensor {
    pub fn new(folder: &Path, geometry: Geometry, epoch: u64) -> Self {
        Self::with(folder, geometry, epoch, QueueSettings::default())
    }

    pub fn with(folder: &Path, geometry: Geometry, epoch: u64, settings: QueueSettings) -> Self {
        let socket = folder.join("queues.sock");
        let publisher = Publisher::new(geometry, epoch).unwrap();
        let mut server = Server::bind(&socket).unwrap();
        server.offer("streams", publisher.offer(), settings).unwrap();
        let (stop, status) = (Arc::new(AtomicBool::new(false)), Arc::new(std::sync::Mutex::new(server.status())));
        let (stopped, shown) = (Arc::clone(&stop), Arc::clone(&status));
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                server.turn(Duration::from_millis(1)).unwrap();
                *shown.lock().unwrap() = server.status();
            }
        });
        Self { publisher, socket, stop, status, thread: Some(thread) }
    }

    /// Readers that are attached.
    pub fn readers(&self) -> usize {
        self.status.lock().unwrap().iter().map(|queue| queue.readers.len()).sum()
    }

    /// Names and groups of readers.
    pub fn names(&self) -> Vec<(String, Option<String>)> {
        let status = self.status.lock().unwrap();
        status
            .iter()
            .flat_map(|queue| &queue.readers)
            .map(|reader| (reader.name.clone(), reader.group.clone()))
            .collect()
    }

    pub fn wait_for_readers(&self, count: usize) {
        wait_until(&format!("{count} readers"), || self.readers() == count);
    }

    /// Publishes a record of a stream, its open before it where readers need it.
    pub fn publish(&mut self, stream: &mut Stream, record: &Record, payload: &[u8]) {
        if self.publisher.needs_open(&mut stream.owners) {
            let mut bytes = Vec::new();
            let open = Open {
                key: stream.key,
                start_ns: 1_000 + stream.id,
                ordinal: stream.id - 1,
                next_offset: stream.owners.next_offset(),
                priority: 3,
            };
            open.encode(&mut bytes);
            let record = Record::new(RecordType::Open, stream.id, 1_000 + stream.id);
            self.publisher.publish_stream(&mut stream.owners, 7, &record, &bytes).unwrap();
        }
        self.publisher.publish_stream(&mut stream.owners, 7, record, payload).unwrap();
    }

    pub fn say(&mut self, stream: &mut Stream, direction: Direction, bytes: &[u8]) {
        let offset = stream.next[direction as usize];
        stream.next[direction as usize] += bytes.len() as u64;
        self.publish(stream, &Record::data(stream.id, direction, offset, 0, 2_000 + offset), bytes);
    }

    pub fn miss(&mut self, stream: &mut Stream, direction: Direction, bytes: u64) {
        let offset = stream.next[direction as usize];
        stream.next[direction as usize] += bytes;
        let gap = Gap { direction, offset, bytes, cause: 0 };
        self.publish(stream, &gap.record(stream.id, 3_000), &[]);
    }

    pub fn conflict(&mut self, stream: &mut Stream, direction: Direction, bytes: u64) {
        let conflict = Conflict { direction, offset: stream.next[direction as usize], bytes };
        self.publish(stream, &conflict.record(stream.id, 4_000), &[]);
    }

    pub fn close(&mut self, stream: &mut Stream) {
        let mut bytes = Vec::new();
        let mut close =
            Close { ordinal: stream.id - 1, state: 6, reason: 0, end_offset: stream.next, ..Close::default() };
        close.anomalies = 1;
        for (figures, bytes) in close.figures.iter_mut().zip(stream.next) {
            (figures.packets, figures.delivered_bytes) = (stream.id, bytes);
        }
        close.encode(&mut bytes);
        self.publish(stream, &Record::new(RecordType::Close, stream.id, 5_000).with_code(0), &bytes);
    }

    pub fn packet(&mut self, number: u64, bytes: &[u8]) {
        let mut payload = Vec::new();
        let header = PacketHeader {
            number,
            wire_bytes: bytes.len() as u32 + 4,
            link_type: 1,
            network_at: 14,
            key: key(number),
            ..PacketHeader::default()
        };
        header.encode(&mut payload);
        payload.extend_from_slice(bytes);
        self.publisher.publish(&Record::new(RecordType::Packet, 0, 6_000 + number), &payload).unwrap();
    }

    /// Ends the queue; the server goes on.
    pub fn finish(&mut self) {
        self.take().finish();
    }

    /// Drops the publisher without an end; the server goes on.
    pub fn abort(&mut self) {
        drop(self.take());
    }

    fn take(&mut self) -> Publisher {
        let other = Publisher::new(Geometry::new(1 << 10, 1 << 16), 0).unwrap();
        std::mem::replace(&mut self.publisher, other)
    }
}

impl Drop for Sensor {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            join_in_time("the server", thread);
        }
    }
}

fn key(id: u64) -> Key {
    let client = Endpoint { address: [192, 0, 2, 1].into(), port: 40_000 + id as u16 };
    let server = Endpoint { address: [198, 51, 100, 2].into(), port: 80 };
    Key { client, server, protocol: 6, is_client_known: true, ..Key::default() }
}

impl Stream {
    pub fn new(id: u64) -> Self {
        Self { id, key: key(id), ..Self::default() }
    }
}

/// A stream with something of everything, and a packet.
pub fn conversation(sensor: &mut Sensor, id: u64) {
    let mut stream = Stream::new(id);
    sensor.say(&mut stream, C2S, b"GET /index");
    sensor.say(&mut stream, C2S, format!("{id}.html HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes());
    sensor.say(&mut stream, S2C, b"HTTP/1.1 200 OK\r\n\r\n");
    sensor.say(&mut stream, S2C, &[0xff, 0, 7]);
    sensor.miss(&mut stream, S2C, 10);
    sensor.conflict(&mut stream, S2C, 2);
    let repeated = Record::data(id, C2S, stream.next[0] - 2, 2, 2_500);
    sensor.publish(&mut stream, &repeated, b"\r\nrest");
    stream.next[0] += 4;
    let datagram = Record { flags: flags::DATAGRAM, ..Record::data(id, C2S, stream.next[0], 0, 2_600) };
    sensor.publish(&mut stream, &datagram, b"");
    sensor.close(&mut stream);
    sensor.packet(id, &[0xaa; 60]);
}
