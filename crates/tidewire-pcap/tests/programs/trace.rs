//! The traffic that programs see: a recorded capture, connections under TLS made for the occasion, and made-up connections.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
    thread,
    time::Duration,
};

use tidewire_files::{Block, open};
use tidewire_gen::{
    Sizes,
    traffic::{Connections, Flows, TcpSettings, Traffic},
};
use tidewire_live::sys::net::PacketSocket;
use tidewire_testing::{Ends as _, InTime as _, Signal, find};

use crate::common::{FAR, ip, on_a_link, wait_until};

/// Frames in the order in which they are sent.
pub struct Trace {
    pub frames: Vec<Vec<u8>>,
    /// The same as a file.
    pub file: PathBuf,
    _folder: tempfile::TempDir,
}

/// Frames that are sent before there is a pause, and the pause: some ten thousand a second.
const BURST: usize = 64;
const PAUSE: Duration = Duration::from_millis(6);

/// All of it, made once.
pub fn trace() -> &'static Trace {
    static MADE: OnceLock<Trace> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a directory");
        let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/demo/demo.pcap");
        let mut frames = frames_of(&demo);
        assert!(frames.len() > 100, "{} frames in {}", frames.len(), demo.display());
        frames.extend(encrypted(folder.path()));
        frames.extend(made_up());
        whole_or_in_fragments(&mut frames);
        let file = folder.path().join("trace.pcap");
        write(&file, &frames);
        Trace { frames, file, _folder: folder }
    })
}

impl Trace {
    /// Sends it from the far end.
    pub fn send(&self) {
        let socket = PacketSocket::open(FAR).expect("a packet socket");
        for burst in self.frames.chunks(BURST) {
            for frame in burst {
                let mut tries = 0;
                while let Err(error) = socket.send(frame) {
                    tries += 1;
                    assert!(tries < 1000, "sending {} bytes: {error}", frame.len());
                    thread::sleep(Duration::from_millis(1));
                }
            }
            thread::sleep(PAUSE);
        }
    }
}

/// Two ends of a conversation, in an order that does not depend on the direction.
type Ends = [([u8; 4], [u8; 2]); 2];

/// A packet of IPv4 by what the kernel's hash knows of it, and by the conversation that programs put it into.
struct Shared {
    /// Protocol, ends, and ports where the packet is no fragment: even those of a first fragment are not looked at
    /// (flow_dissector.c, `FLOW_DISSECTOR_F_PARSE_1ST_FRAG`).
    hashed: (u8, Ends),
    /// Protocol and ends with ports; of a later fragment the first one's.
    conversation: (u8, Ends),
}

/// The shares of members of a group in mode `hash`: `None` for frames that are not IPv4, or have options.
fn shared(frames: &[Vec<u8>]) -> Vec<Option<Shared>> {
    let mut ports = std::collections::BTreeMap::new();
    let sorted = |mut ends: Ends| {
        ends.sort_unstable();
        ends
    };
    let decode = |frame: &Vec<u8>| {
        let ip = frame.get(14..).filter(|ip| frame[12..14] == [8, 0] && ip.len() >= 24 && ip[0] == 0x45)?;
        let part = |at: usize| <[u8; 4]>::try_from(&ip[at..at + 4]).expect("four bytes");
        let (from, to, fragment) = (part(12), part(16), u16::from_be_bytes([ip[6], ip[7]]) & 0x3fff);
        let has_ports = matches!(ip[9], 6 | 17) && fragment & 0x1fff == 0;
        let here = if has_ports { [[ip[20], ip[21]], [ip[22], ip[23]]] } else { [[0; 2]; 2] };
        let of_datagram = if fragment == 0 { here } else { *ports.entry((from, to, [ip[4], ip[5]])).or_insert(here) };
        let seen = if fragment == 0 { here } else { [[0; 2]; 2] };
        Some(Shared {
            hashed: (ip[9], sorted([(from, seen[0]), (to, seen[1])])),
            conversation: (ip[9], sorted([(from, of_datagram[0]), (to, of_datagram[1])])),
        })
    };
    frames.iter().map(decode).collect()
}

/// Leaves of each conversation its fragments, or where it has none all of it: the kernel hashes fragments without their
/// ports, so that a datagram in fragments and the answer to it meet in one instance or not, as the boot's secret has it.
/// What is left is shared in the same way on every boot: each conversation as a whole.
fn whole_or_in_fragments(frames: &mut Vec<Vec<u8>>) {
    let is_fragment = |frame: &[u8]| u16::from_be_bytes([frame[20], frame[21]]) & 0x3fff != 0;
    let known = shared(frames);
    let in_fragments: std::collections::BTreeSet<_> = frames
        .iter()
        .zip(&known)
        .filter_map(|(frame, shared)| shared.as_ref().filter(|_| is_fragment(frame)))
        .map(|shared| shared.conversation)
        .collect();
    assert!(!in_fragments.is_empty(), "there are no fragments to be shared");
    let mut known = known.into_iter();
    frames.retain(|frame| match known.next().flatten() {
        Some(shared) => is_fragment(frame) || !in_fragments.contains(&shared.conversation),
        None => true,
    });
}

/// No secret of the kernel's hash decides what a program makes of the traffic.
#[test]
fn every_conversation_is_shared_as_a_whole() {
    let mut found = std::collections::BTreeMap::new();
    let known = shared(&trace().frames);
    assert!(known.iter().flatten().count() > 500, "most is IPv4");
    for shared in known.into_iter().flatten() {
        let hashed = *found.entry(shared.conversation).or_insert(shared.hashed);
        assert_eq!(hashed, shared.hashed, "a conversation of which the kernel hashes parts differently");
    }
}

/// The frames of a capture of Ethernet.
pub fn frames_of(path: &Path) -> Vec<Vec<u8>> {
    let mut source = open(&[path.to_owned()]).expect("a capture");
    let (mut block, mut frames) = (Block::new(), Vec::new());
    while source.fill(&mut block).expect("frames") {
        let batch = block.batch();
        frames.extend(batch.frames.iter().map(|frame| batch.bytes(frame).to_vec()));
    }
    frames
}

/// Writes frames of Ethernet, a millisecond apart.
pub fn write(path: &Path, frames: &[Vec<u8>]) {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut bytes = words(&[0xa1b2_c3d4, 0x0004_0002, 0, 0, 262_144, 1]);
    for (index, frame) in frames.iter().enumerate() {
        let (seconds, millis) = (1_700_000_000 + index as u32 / 1000, index as u32 % 1000);
        bytes.extend(words(&[seconds, millis * 1000, frame.len() as u32, frame.len() as u32]));
        bytes.extend(frame);
    }
    fs::write(path, bytes).expect("a file");
}

/// Connections with whole lives and some datagrams, whose bytes are always the same.
fn made_up() -> Vec<Vec<u8>> {
    let mut settings = TcpSettings::new().expect("settings");
    (settings.concurrent, settings.connections, settings.segments, settings.numbered) = (30, Some(120), 6, false);
    let mut connections = Connections::new(settings).expect("connections");
    let mut frames = all(&mut connections, usize::MAX);
    let mut flows = Flows::udp(50, Sizes::fixed(300).expect("a size")).expect("flows");
    flows.numbered = false;
    frames.extend(all(&mut flows, 300));
    frames
}

fn all(traffic: &mut dyn Traffic, most: usize) -> Vec<Vec<u8>> {
    let mut memory = vec![0; traffic.bytes_max()];
    let mut frames = Vec::new();
    while frames.len() < most {
        memory.fill(0);
        let Some(made) = traffic.next(frames.len() as u64, &mut memory) else { break };
        frames.push(memory[..made.bytes].to_vec());
    }
    frames
}

/// Three connections to a real server under TLS 1.2, recorded over the system's library; none where there is no openssl.
fn encrypted(folder: &Path) -> Vec<Vec<u8>> {
    if ["openssl", "tcpdump"].iter().any(|program| find(program).is_none()) {
        return Vec::new();
    }
    let path = |name: &str| folder.join(name).to_str().expect("a path").to_owned();
    let (key, certificate, capture) = (path("key.pem"), path("cert.pem"), path("tls.pcap"));
    let quiet = |words: &[&str]| {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let ec = "ec_paramgen_curve:prime256v1";
    let request = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", ec, "-nodes", "-subj", "/CN=tide.example"];
    let files = ["-keyout", &key, "-out", &certificate, "-days", "30"];
    assert!(quiet(&[&request[..], &files].concat()).status_in_time().expect("openssl").success(), "no certificate");
    on_a_link(|| {
        ip("link set lo mtu 1500");
        let record = ["tcpdump", "-Z", "root", "-i", "lo", "-U", "-w", &capture, "tcp port 4433"];
        let mut tcpdump = quiet(&record).spawn().expect("tcpdump");
        let serve = ["openssl", "s_server", "-accept", "4433", "-key", &key, "-cert", &certificate, "-tls1_2", "-www"];
        let mut server = quiet(&serve).spawn().expect("openssl");
        let size = || fs::metadata(&capture).map_or(0, |data| data.len());
        assert!(wait_until(Duration::from_secs(10), || size() >= 24), "tcpdump does not begin");
        let listens = || fs::read_to_string("/proc/thread-self/net/tcp6").unwrap_or_default().contains(":1151 ");
        let listens4 = || fs::read_to_string("/proc/thread-self/net/tcp").unwrap_or_default().contains(":1151 ");
        assert!(wait_until(Duration::from_secs(10), || listens() || listens4()), "openssl does not listen");
        for _ in 0..3 {
            // It ends with its input, which is empty: hello, keys, and the closing alert.
            let _ = quiet(&["openssl", "s_client", "-connect", "127.0.0.1:4433", "-tls1_2"]).status_in_time();
        }
        thread::sleep(Duration::from_millis(1200));
        tidewire_testing::signal(&tcpdump, Signal::INT);
        tcpdump.wait_in_time("tcpdump");
        let _ = server.kill();
        server.wait_in_time("openssl s_server");
    });
    let frames = frames_of(Path::new(&capture));
    assert!(frames.len() > 20, "{} frames were recorded", frames.len());
    frames
}
