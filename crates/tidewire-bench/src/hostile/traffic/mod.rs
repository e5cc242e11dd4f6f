//! Captures whose content a stranger chose, and their benign twins.

pub(super) mod datagrams;
pub(super) mod dns;
pub(super) mod http;
pub(super) mod lines;
pub(super) mod packed;
pub(super) mod patterns;
pub(super) mod proxy;
pub(super) mod retransmit;
pub(super) mod tls;

use std::{
    fs, io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tidewire_lab::{
    craft::{ACK, FIN, Ip, PSH, Peer, SYN, frame, tcp_frame, udp_datagram},
    pcapfile::Writer,
};

/// Bytes of a full segment.
pub(super) const SEGMENT_BYTES: usize = 1460;

/// Microseconds between packets.
const STEP_US: u64 = 10;

/// A capture that is being made.
pub(super) struct Made {
    path: PathBuf,
    /// `None`: the capture is complete.
    writer: Option<Writer>,
    time_us: u64,
    connections: u32,
    error: Option<io::Error>,
}

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
}

/// A connection of such a capture.
pub(super) struct Connection {
    peers: [Peer; 2],
    segments: usize,
}

impl Made {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let writer = Some(Writer::create(path)?);
        Ok(Self { path: path.to_owned(), writer, time_us: 1_000_000, connections: 0, error: None })
    }

    /// The first error, if there was one.
    pub(super) fn finish(mut self) -> io::Result<()> {
        match self.error {
            Some(error) => Err(error),
            None => self.writer.take().map_or(Ok(()), |writer| writer.finish().map(|_| ())),
        }
    }

    /// Notes an error.
    fn fail(&mut self, error: io::Error) {
        self.error.get_or_insert(error);
    }

    fn write(&mut self, frame: &[u8]) {
        self.time_us += STEP_US;
        if let Some(Err(error)) = self.writer.as_mut().map(|writer| writer.write(self.time_us, frame)) {
            self.fail(error);
        }
    }

    /// Completes the capture, compresses it with programs, one after the other, and adds bytes behind what the first one made. The length
    /// of the file.
    fn compress(&mut self, programs: &[&str], behind: &[u8]) -> usize {
        let mut complete = || -> io::Result<usize> {
            self.writer.take().map_or(Ok(()), |writer| writer.finish().map(|_| ()))?;
            let mut bytes = fs::read(&self.path)?;
            for (index, program) in programs.iter().enumerate() {
                bytes = compressed(program, &self.path, &bytes)?;
                if index == 0 {
                    bytes.extend(behind);
                }
            }
            fs::write(&self.path, &bytes)?;
            Ok(bytes.len())
        };
        complete().unwrap_or_else(|error| {
            self.fail(error);
            0
        })
    }

    /// Opens a connection from another address and port to a port.
    pub(super) fn connect(&mut self, port: u16) -> Connection {
        let number = self.connections;
        self.connections += 1;
        let client = Ipv4Addr::from(0xc612_0000 + number % 50_000 + 1);
        let client = SocketAddr::from((client, 1024 + (number % 60_000) as u16));
        let server = SocketAddr::from((Ipv4Addr::new(198, 51, 100, 7), port));
        let mut peers = [Peer { at: client, seq: 1000 }, Peer { at: server, seq: 5000 }];
        let [from, to] = &mut peers;
        let opening =
            [tcp_frame(from, to, SYN, &[]), tcp_frame(to, from, SYN | ACK, &[]), tcp_frame(from, to, ACK, &[])];
        opening.iter().for_each(|frame| self.write(frame));
        Connection { peers, segments: 0 }
    }

    /// A datagram of a server to another client each time.
    pub(super) fn datagram(&mut self, source_port: u16, payload: &[u8]) {
        let number = self.connections;
        self.connections += 1;
        let client = Ipv4Addr::from(0xc612_0000 + number / 60_000 + 1);
        let ip = Ip::new(IpAddr::from([198, 51, 100, 53]), IpAddr::V4(client));
        let datagram = udp_datagram(&ip, (source_port, 1024 + (number % 60_000) as u16), payload);
        self.write(&frame(&ip, 17, &datagram, None));
    }
}

/// Compresses bytes by a program. `beside`: where a file may be meanwhile.
fn compressed(program: &str, beside: &Path, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let file = beside.with_extension("plain");
    fs::write(&file, bytes)?;
    let output = Command::new(program).arg("-c").stdin(fs::File::open(&file)?).stderr(Stdio::inherit()).output();
    fs::remove_file(&file)?;
    let output = output.map_err(|error| io::Error::new(error.kind(), format!("{program}: {error}")))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(io::Error::other(format!("{program}: {}", output.status)))
    }
}

impl Connection {
    /// Sends bytes in full segments, each second one of which is acknowledged.
    pub(super) fn send(&mut self, made: &mut Made, side: Side, bytes: &[u8]) {
        self.send_in(made, side, bytes, SEGMENT_BYTES);
    }

    /// Sends bytes in segments of a size.
    pub(super) fn send_in(&mut self, made: &mut Made, side: Side, bytes: &[u8], segment_bytes: usize) {
        let [client, server] = &mut self.peers;
        let (from, to) = if side == Side::Client { (client, server) } else { (server, client) };
        for segment in bytes.chunks(segment_bytes) {
            made.write(&tcp_frame(from, to, ACK | PSH, segment));
            self.segments += 1;
            if self.segments.is_multiple_of(2) {
                made.write(&tcp_frame(to, from, ACK, &[]));
            }
        }
    }

    /// Sends a text again and again, in so many full segments.
    pub(super) fn repeat(&mut self, made: &mut Made, side: Side, unit: &[u8], segments: usize) {
        let bytes = segments * SEGMENT_BYTES;
        let mut content = unit.repeat(bytes / unit.len() + 1);
        content.truncate(bytes);
        self.send(made, side, &content);
    }

    /// Both sides end it.
    pub(super) fn close(mut self, made: &mut Made) {
        let [client, server] = &mut self.peers;
        let closing = [
            tcp_frame(client, server, FIN | ACK, &[]),
            tcp_frame(server, client, FIN | ACK, &[]),
            tcp_frame(client, server, ACK, &[]),
        ];
        closing.iter().for_each(|frame| made.write(frame));
    }
}

/// One connection: texts before, then a text again and again from one side. Its packets.
pub(super) fn stream(
    made: &mut Made,
    port: u16,
    before: &[(Side, &[u8])],
    (side, unit): (Side, &[u8]),
    packets: usize,
) -> usize {
    let mut connection = made.connect(port);
    for &(side, bytes) in before {
        connection.send(made, side, bytes);
    }
    connection.repeat(made, side, unit, packets);
    connection.close(made);
    packets
}
