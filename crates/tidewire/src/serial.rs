//! Values of serde: the names and forms of the command's JSON.

use serde::{Serialize, Serializer, ser::SerializeMap};
use tidewire_core::{Anomaly, Conflict, Direction, DirectionStats, Gap, GapCause};

use crate::{FinishedStream, Outcome};

/// A direction of a stream, as `streams --json` has it.
#[derive(Serialize)]
struct Side<'a> {
    #[serde(flatten)]
    stats: &'a DirectionStats,
    gaps: Vec<GapOfSide>,
    overlap_conflicts: &'a [Conflict],
}

#[derive(Serialize)]
struct GapOfSide {
    offset: u64,
    bytes: u64,
    cause: GapCause,
}

impl<'a> Side<'a> {
    fn of(stream: &'a FinishedStream, direction: Direction) -> Self {
        let gaps = stream.gaps().iter().filter(|gap| gap.direction == direction);
        let gaps = gaps.map(|&Gap { offset, bytes, cause, .. }| GapOfSide { offset, bytes, cause }).collect();
        let stats = stream.stats(direction);
        Self { stats, gaps, overlap_conflicts: stream.conflicts_of(direction) }
    }
}

/// As a record of `streams --json`, without what this has not: the bytes are left out.
impl Serialize for FinishedStream {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Form<'a> {
            id: u64,
            #[serde(flatten)]
            key: tidewire_core::FlowKey,
            start_ns: u64,
            end_ns: u64,
            state: tidewire_core::TcpState,
            end_reason: tidewire_core::EndReason,
            c2s: Side<'a>,
            s2c: Side<'a>,
            anomalies: &'a [Anomaly],
        }
        let form = Form {
            id: self.id(),
            key: self.key(),
            start_ns: self.start().as_nanos(),
            end_ns: self.end().as_nanos(),
            state: self.state(),
            end_reason: self.reason(),
            c2s: Side::of(self, Direction::ClientToServer),
            s2c: Side::of(self, Direction::ServerToClient),
            anomalies: self.anomalies(),
        };
        form.serialize(serializer)
    }
}

/// As a record of `transactions --json`.
#[cfg(feature = "protocols")]
impl Serialize for crate::protocols::StreamTransaction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let key = self.key();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("stream", &self.stream())?;
        match tidewire_core::protocol_name(key.proto) {
            Some(name) => map.serialize_entry("proto", name)?,
            None => map.serialize_entry("proto", &key.proto.to_string())?,
        }
        map.serialize_entry("client", &key.client)?;
        map.serialize_entry("server", &key.server)?;
        self.transaction().serialize_members(&mut map)?;
        map.end()
    }
}

/// Losses that a capture file states.
#[cfg(feature = "files")]
#[derive(Serialize)]
struct Loss<'a> {
    interface: &'a str,
    interface_dropped: u64,
    system_dropped: u64,
    between_packets: u64,
}

#[cfg(feature = "files")]
impl<'a> From<&'a tidewire_files::CaptureLoss> for Loss<'a> {
    fn from(loss: &'a tidewire_files::CaptureLoss) -> Self {
        Self {
            interface: &loss.interface,
            interface_dropped: loss.interface_dropped,
            system_dropped: loss.system_dropped,
            between_packets: loss.between_packets,
        }
    }
}

/// The ledger, the errors of the input as text, and the time; handlers are left out.
impl<H> Serialize for Outcome<H> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("ledger", &self.ledger)?;
        let errors: Vec<_> = self.input_errors.iter().map(ToString::to_string).collect();
        map.serialize_entry("input_errors", &errors)?;
        #[cfg(feature = "files")]
        map.serialize_entry("capture_losses", &self.capture_losses.iter().map(Loss::from).collect::<Vec<_>>())?;
        map.serialize_entry("elapsed_ns", &u64::try_from(self.elapsed.as_nanos()).unwrap_or(u64::MAX))?;
        map.serialize_entry("interrupted", &self.interrupted)?;
        #[cfg(feature = "live")]
        if let Some(live) = &self.live {
            map.serialize_entry("live", live)?;
        }
        map.end()
    }
}

/// Reports of interfaces: the names of `live` in `--stats json`.
#[cfg(feature = "live")]
mod live {
    use serde::{Serialize, Serializer};
    use tidewire_live::{InterfaceCounts, InterfaceReport, RingCounts, kernel::KernelCounters};

    use crate::report::{LiveReport, WorkerReport};

    #[derive(Serialize)]
    struct Report<'a> {
        elapsed_ns: u64,
        interfaces: Vec<Interface<'a>>,
        rings: Rings,
        workers: Vec<Worker<'a>>,
    }

    #[derive(Serialize)]
    struct Interface<'a> {
        name: &'a str,
        current_name: Option<&'a str>,
        state: &'static str,
        engine: &'static str,
        engine_detail: &'a str,
        #[serde(flatten)]
        counts: Option<Counts>,
        kernel: Option<Kernel>,
        steered_out: u64,
    }

    #[derive(Serialize)]
    struct Counts {
        received: u64,
        received_bytes: u64,
        sent: u64,
        sent_bytes: u64,
        dropped: u64,
        missed: u64,
        damaged: u64,
    }

    #[derive(Serialize)]
    struct Kernel {
        received: u64,
        received_bytes: u64,
        filtered: u64,
        filtered_bytes: u64,
        cut: u64,
        cut_bytes: u64,
        shed: Vec<u64>,
        shed_bytes: u64,
        unsteered: u64,
        absent: u64,
        delivered: u64,
    }

    #[derive(Serialize)]
    struct Rings {
        received: u64,
        no_room: u64,
        failed: u64,
        calls: u64,
    }

    #[derive(Serialize)]
    struct Worker<'a> {
        worker: usize,
        cpu: Option<usize>,
        received: u64,
        out_of_order: u64,
        rings: Rings,
        ledger: &'a tidewire_core::Ledger,
    }

    impl From<&InterfaceCounts> for Counts {
        fn from(counts: &InterfaceCounts) -> Self {
            Self {
                received: counts.rx_packets,
                received_bytes: counts.rx_bytes,
                sent: counts.tx_packets,
                sent_bytes: counts.tx_bytes,
                dropped: counts.rx_dropped,
                missed: counts.rx_missed,
                damaged: counts.rx_errors,
            }
        }
    }

    impl From<&KernelCounters> for Kernel {
        fn from(kernel: &KernelCounters) -> Self {
            Self {
                received: kernel.received,
                received_bytes: kernel.received_bytes,
                filtered: kernel.filtered,
                filtered_bytes: kernel.filtered_bytes,
                cut: kernel.cut,
                cut_bytes: kernel.cut_bytes,
                shed: kernel.shed.to_vec(),
                shed_bytes: kernel.shed_bytes,
                unsteered: kernel.unsteered,
                absent: kernel.absent,
                delivered: kernel.delivered,
            }
        }
    }

    impl From<RingCounts> for Rings {
        fn from(rings: RingCounts) -> Self {
            Self { received: rings.received, no_room: rings.dropped, failed: rings.failed, calls: rings.calls }
        }
    }

    impl<'a> From<&'a InterfaceReport> for Interface<'a> {
        fn from(report: &'a InterfaceReport) -> Self {
            Self {
                name: &report.name,
                current_name: report.current_name.as_deref(),
                state: report.state.name(),
                engine: report.method.name(),
                engine_detail: &report.description,
                counts: report.counts.as_ref().map(Counts::from),
                kernel: report.kernel.as_ref().map(Kernel::from),
                steered_out: report.steered_out,
            }
        }
    }

    impl<'a> From<(usize, &'a WorkerReport)> for Worker<'a> {
        fn from((worker, report): (usize, &'a WorkerReport)) -> Self {
            Self {
                worker,
                cpu: report.cpu,
                received: report.ledger.received,
                out_of_order: report.late,
                rings: report.rings.into(),
                ledger: &report.ledger,
            }
        }
    }

    impl Serialize for LiveReport {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let report = Report {
                elapsed_ns: u64::try_from(self.elapsed.as_nanos()).unwrap_or(u64::MAX),
                interfaces: self.interfaces.iter().map(Interface::from).collect(),
                rings: self.rings().into(),
                workers: self.workers.iter().enumerate().map(Worker::from).collect(),
            };
            report.serialize(serializer)
        }
    }
}
