//! Reports of programs about the packets they received.

use serde::Serialize;
use serde_json::Value;

/// The format in which a program reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// `pcap-loop`, `nids-loop` and `stream-loop`: one JSON object.
    Loop,
    /// tcpdump's closing lines on standard error.
    Tcpdump,
    /// The output of `softflowctl statistics`, run before the end; the path of the control socket.
    Softflowd(String),
    /// dumpcap's closing lines on standard error.
    Dumpcap,
    /// netsniff-ng's closing lines on standard output.
    Netsniff,
    /// The summary of `tidewire record --json`.
    Record,
    /// A `tidewire` command's ledger: the last line on standard output; flows before it, if any, as CSV.
    Tidewire,
}

/// A program's report; `None` where it does not mention a figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PeerOutput {
    /// Packets that the program received, those counted in the kernel included.
    pub packets: Option<u64>,
    /// Packets dropped because its ring was full.
    pub ring_lost: Option<u64>,
    /// Packets in its ring that it had not read when it ended.
    pub left_unread: Option<u64>,
    /// Of `packets`, those that it shed under overload.
    pub shed: Option<u64>,
    /// Flows, or connections.
    pub flows: Option<u64>,
    /// Sum of the flows' packets.
    pub flow_packets: Option<u64>,
    /// Sum of the flows' bytes, as captured: frames without FCS.
    pub flow_bytes: Option<u64>,
    /// System calls of the capture.
    pub calls: Option<u64>,
    /// Connections followed from their SYN to their FINs.
    pub closed: Option<u64>,
    /// Packets of the high-priority class.
    pub high_packets: Option<u64>,
    /// Bytes of streams that were delivered.
    pub delivered_bytes: Option<u64>,
    /// Matches of patterns.
    pub matches: Option<u64>,
    /// The report as it was printed.
    pub all: Value,
}

impl Format {
    /// Parses what a program printed.
    #[must_use]
    pub fn read(&self, output: &str, errors: &str) -> PeerOutput {
        match self {
            Self::Loop => of_loop(output),
            Self::Tcpdump => of_tcpdump(errors),
            Self::Softflowd(_) => of_softflowd(output),
            Self::Dumpcap => of_dumpcap(errors),
            Self::Netsniff => of_netsniff(&format!("{output}{errors}")),
            Self::Record => of_record(output),
            Self::Tidewire => of_tidewire(output),
        }
    }
}

fn last_json(output: &str) -> Value {
    let line = output.trim_end().lines().next_back();
    line.and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default()
}

fn of_loop(output: &str) -> PeerOutput {
    let all = last_json(output);
    let number = |name: &str| all.get(name).and_then(Value::as_u64);
    let dropped = number("dropped");
    // libpcap counts what it dropped among what it received; packet(7), PACKET_STATISTICS.
    let received = number("received").map(|all| all.saturating_sub(dropped.unwrap_or(0)));
    PeerOutput {
        packets: number("packets").or(received),
        ring_lost: dropped,
        left_unread: left(received, number("packets")),
        flows: number("flows").or(number("connections")),
        flow_packets: number("flow_packets"),
        flow_bytes: number("flow_bytes"),
        closed: number("closed"),
        high_packets: number("high_packets"),
        shed: number("shed"),
        calls: number("calls"),
        delivered_bytes: number("delivered_bytes"),
        matches: number("matches"),
        all: all.clone(),
    }
}

/// Packets received and not read.
fn left(received: Option<u64>, read: Option<u64>) -> Option<u64> {
    received.zip(read).map(|(received, read)| received.saturating_sub(read))
}

/// The number at the beginning of the line that ends with `end`.
fn before(text: &str, end: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.trim_end().ends_with(end))?;
    line.split_whitespace().next()?.parse().ok()
}

fn of_tcpdump(errors: &str) -> PeerOutput {
    let (packets, ring_lost) = (before(errors, "captured"), before(errors, "dropped by kernel"));
    let received = before(errors, "received by filter").map(|all| all.saturating_sub(ring_lost.unwrap_or(0)));
    PeerOutput {
        packets,
        ring_lost,
        left_unread: left(received, packets),
        all: Value::String(errors.trim().into()),
        ..PeerOutput::default()
    }
}

/// The first number behind a label.
fn behind(text: &str, label: &str) -> Option<u64> {
    let rest = text.split_once(label)?.1;
    rest.split(|c: char| !c.is_ascii_digit()).find(|word| !word.is_empty())?.parse().ok()
}

fn of_softflowd(output: &str) -> PeerOutput {
    let (packets, ring_lost) = (behind(output, "Packets processed:"), behind(output, "Packets dropped by libpcap:"));
    let received = behind(output, "Packets received by libpcap:").map(|all| all.saturating_sub(ring_lost.unwrap_or(0)));
    PeerOutput {
        packets,
        ring_lost,
        left_unread: left(received, packets),
        flows: behind(output, "Number of active flows:"),
        all: Value::String(output.trim().into()),
        ..PeerOutput::default()
    }
}

/// Packets received/dropped on interface 'x': 12/3 (pcap:3/dumpcap:0/flushed:0/ps_ifdrop:0) (80.0%)
fn of_dumpcap(errors: &str) -> PeerOutput {
    let figures = errors.split_once("received/dropped on interface").and_then(|(_, rest)| rest.split_once("': "));
    let mut numbers = figures.map_or("", |(_, rest)| rest).split(['/', ' ']).map(str::parse::<u64>);
    let mut next = || numbers.next().and_then(Result::ok);
    let (packets, ring_lost) = (next(), next());
    PeerOutput { packets, ring_lost, all: Value::String(errors.trim().into()), ..PeerOutput::default() }
}

/// Packets that were dropped are among those that came in.
fn of_netsniff(output: &str) -> PeerOutput {
    let lines = output.replace('\r', "\n");
    let number = |end: &str| {
        let line = lines.lines().find(|line| line.contains(end))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let (packets, ring_lost) = (number("packets passed filter"), number("packets failed filter"));
    PeerOutput { packets, ring_lost, all: Value::String(output.trim().into()), ..PeerOutput::default() }
}

/// Packets that were shed are lost; those beyond a cutoff are counted.
fn of_record(output: &str) -> PeerOutput {
    let all = last_json(output);
    let number = |name: &str| all.get(name).and_then(Value::as_u64);
    let kept = ["written_packets", "cut_off_packets", "filtered_packets"].map(number);
    let packets = kept.iter().copied().sum::<Option<u64>>();
    let dropped = number("dropped_packets");
    PeerOutput { packets, ring_lost: dropped, shed: number("shed_packets"), all: all.clone(), ..PeerOutput::default() }
}

fn of_tidewire(output: &str) -> PeerOutput {
    let all = last_json(output);
    let mut parsed = PeerOutput { all: all.clone(), ..PeerOutput::default() };
    let at = |path: &str| all.pointer(path).and_then(Value::as_u64);
    // Packets counted in the kernel never reached the program. Not all of them belong to a known flow: a flow is unknown if
    // its first packets were lost.
    let shunted = at("/detail/live/shunted_packets").unwrap_or(0);
    let received = at("/received").map(|received| received + shunted.max(counted_in_kernel(&all)));
    // `count` prints no ledger; its count is at the top level.
    parsed.packets = received.or(at("/packets"));
    parsed.ring_lost = at("/detail/live/rings/no_room").or(at("/live/rings/no_room"));
    parsed.left_unread = at("/detail/live/left_unread").or(at("/live/left_unread"));
    parsed.calls = at("/detail/live/rings/calls").or(at("/live/rings/calls"));
    parsed.shed = at("/shed");
    parsed.delivered_bytes = at("/detail/delivered_bytes");
    sum_flows(output, &mut parsed);
    parsed
}

/// Packets that programs in the kernel counted and dropped, because of a cutoff or overload.
fn counted_in_kernel(all: &Value) -> u64 {
    let interfaces = all.pointer("/detail/live/interfaces").and_then(Value::as_array);
    let kernels = interfaces.into_iter().flatten().filter_map(|interface| interface.get("kernel"));
    let counted = |kernel: &Value| {
        let shed = kernel.get("shed").and_then(Value::as_array);
        let shed: u64 = shed.into_iter().flatten().filter_map(Value::as_u64).sum();
        shed + kernel.get("cut").and_then(Value::as_u64).unwrap_or(0)
    };
    kernels.map(counted).sum()
}

/// Sums flows printed as CSV: the columns' names are on the first line.
fn sum_flows(output: &str, parsed: &mut PeerOutput) {
    let mut lines = output.lines();
    let Some(names) = lines.next().filter(|line| line.contains("frame_bytes_c2s")) else { return };
    let column = |wanted: &str| names.split(',').position(|name| name == wanted);
    let all = ["frames_c2s", "frames_s2c", "frame_bytes_c2s", "frame_bytes_s2c"].map(column);
    let [Some(packets_there), Some(packets_back), Some(bytes_there), Some(bytes_back)] = all else { return };
    let (mut flows, mut packets, mut bytes) = (0, 0, 0);
    for line in lines.filter(|line| !line.starts_with('{')) {
        flows += 1;
        for (index, word) in line.split(',').enumerate() {
            let number = || word.parse::<u64>().unwrap_or(0);
            if index == packets_there || index == packets_back {
                packets += number();
            } else if index == bytes_there || index == bytes_back {
                bytes += number();
            }
        }
    }
    parsed.flows = Some(flows);
    parsed.flow_packets = Some(packets);
    parsed.flow_bytes = Some(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_peers_is_parsed() {
        let text = "{\"packets\":7,\"bytes\":420,\"received\":10,\"dropped\":3,\"if_dropped\":0}\n";
        let parsed = Format::Loop.read(text, "");
        assert_eq!((parsed.packets, parsed.ring_lost), (Some(7), Some(3)));
        let text = "{\"connections\":2,\"delivered_bytes\":5,\"matches\":0,\"received\":10,\"dropped\":3}";
        assert_eq!(Format::Loop.read(text, "").packets, Some(7));
        let text = "tcpdump: listening on x\n12 packets captured\n15 packets received by filter\n3 packets dropped by kernel\n";
        let parsed = Format::Tcpdump.read("", text);
        assert_eq!((parsed.packets, parsed.ring_lost), (Some(12), Some(3)));
        assert_eq!(Format::Tcpdump.read("", "").packets, None);
    }

    #[test]
    fn recorders_say_what_they_lost() {
        let text = "File: /tmp/x\nPackets captured: 12\nPackets received/dropped on interface 'lo': 12/3 (pcap:3/dumpcap:0/flushed:0/ps_ifdrop:0) (80.0%)\n";
        let parsed = Format::Dumpcap.read("", text);
        assert_eq!((parsed.packets, parsed.ring_lost), (Some(12), Some(3)));
        let text = "\r          12  packets incoming (0 unread on exit)\n\r          10  packets passed filter\n\r           2  packets failed filter (out of space)\n";
        let parsed = Format::Netsniff.read(text, "");
        assert_eq!((parsed.packets, parsed.ring_lost), (Some(10), Some(2)));
        let text = "{\"written_packets\":5,\"cut_off_packets\":3,\"filtered_packets\":0,\"shed_packets\":1,\"dropped_packets\":2}";
        let parsed = Format::Record.read(text, "");
        assert_eq!((parsed.packets, parsed.ring_lost, parsed.shed), (Some(8), Some(2), Some(1)));
        assert_eq!(Format::Record.read("", "").packets, None);
    }

    #[test]
    fn packets_left_unread_are_counted() {
        let text = "{\"packets\":7,\"bytes\":420,\"received\":15,\"dropped\":3,\"if_dropped\":0}\n";
        assert_eq!(Format::Loop.read(text, "").left_unread, Some(5));
        let text = "12 packets captured\n20 packets received by filter\n3 packets dropped by kernel\n";
        assert_eq!(Format::Tcpdump.read("", text).left_unread, Some(5));
        let text = "Packets processed: 144816\nFragments: 0\nPackets received by libpcap: 145374\nPackets dropped by libpcap: 0\n";
        assert_eq!(Format::Softflowd(String::new()).read(text, "").left_unread, Some(558));
        let text = "{\"packets\":4,\"live\":{\"left_unread\":2,\"rings\":{\"received\":6,\"no_room\":0}}}\n";
        assert_eq!(Format::Tidewire.read(text, "").left_unread, Some(2));
    }

    /// From a run under overload, in which all packets of some flows were shed before the first one reached the engine.
    #[test]
    fn packets_dropped_in_the_kernel_count_with_and_without_a_flow() {
        let text = "{\"received\":22497,\"detail\":{\"live\":{\"shunted_packets\":202720,\"interfaces\":[{\"kernel\":{\"cut\":4,\
            \"shed\":[202900,2,0,0,0,0,0,0]}},{\"kernel\":null}],\"rings\":{\"no_room\":0,\"calls\":1}}}}\n";
        assert_eq!(Format::Tidewire.read(text, "").packets, Some(22_497 + 202_906));
    }

    #[test]
    fn flows_are_summed() {
        let text = "proto,frames_c2s,frames_s2c,frame_bytes_c2s,frame_bytes_s2c\nudp,3,1,180,60\nudp,2,0,120,0\n\
            {\"received\":4,\"detail\":{\"live\":{\"shunted_packets\":2,\"rings\":{\"no_room\":9,\"calls\":1}}}}\n";
        let parsed = Format::Tidewire.read(text, "");
        assert_eq!((parsed.flows, parsed.flow_packets, parsed.flow_bytes), (Some(2), Some(6), Some(360)));
        assert_eq!((parsed.packets, parsed.ring_lost, parsed.calls), (Some(6), Some(9), Some(1)));
    }
}
