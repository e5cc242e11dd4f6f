//! How bad each kind of anomaly is.

use tidewire::AnomalyKind;
use tidewire_events::Severity;

/// The severity of what a stream shows.
///
/// `info` is what ordinary hosts, captures that begin in the middle, several routers and checksum offload show all the time; `low` is unusual;
/// `medium` changes what two readers of the traffic may see, or is what attacks look like.
#[must_use]
pub(crate) fn of(kind: AnomalyKind) -> Severity {
    use AnomalyKind as Kind;
    match kind {
        Kind::KeepAlive
        | Kind::ZeroWindowProbe
        | Kind::AckedUnseen
        | Kind::Unacknowledged
        | Kind::Urgent
        | Kind::BadChecksum
        | Kind::SynData
        | Kind::OldTimestamp
        | Kind::OutOfWindow
        | Kind::AfterReset
        | Kind::InvalidReset
        | Kind::InvalidAck
        | Kind::LinkMismatch
        | Kind::ListFull => Severity::Info,
        Kind::OverlapConflict
        | Kind::BlindReset
        | Kind::BlindSyn
        | Kind::ChangedIsn
        | Kind::UnexpectedSignature
        | Kind::InvalidFlags
        | Kind::LowTtl
        | Kind::BufferLimit
        | Kind::HoleLimit => Severity::Medium,
        // Those that are left, and kinds of later versions.
        _ => Severity::Low,
    }
}
