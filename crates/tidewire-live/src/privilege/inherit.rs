//! Capabilities for programs that a command starts.

use caps::{CapSet, Capability, CapsHashSet};

/// The set that a process passes on to programs that it starts, whatever its user (capabilities(7), ambient set).
fn ambient() -> CapsHashSet {
    caps::read(None, CapSet::Ambient).unwrap_or_default()
}

/// Puts into the ambient set the capabilities that the process has *and* may pass on (its inheritable set, which only a
/// privileged process fills, as `setpriv --inh-caps` does). Needed where the command's own file has capabilities: starting it
/// emptied the ambient set. Users whose inheritable set is empty cannot pass on anything by that.
pub fn pass_on_inheritable() {
    let read = |set| caps::read(None, set).unwrap_or_default();
    for capability in read(CapSet::Inheritable).intersection(&read(CapSet::Permitted)) {
        // A capability that cannot be passed on is missed where it is needed.
        let _ = caps::raise(None, CapSet::Ambient, *capability);
    }
}

/// Whether programs that this process starts may open packet sockets.
#[must_use]
pub fn programs_may_capture() -> bool {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    let bounded = caps::read(None, CapSet::Bounding).unwrap_or_default().contains(&Capability::CAP_NET_RAW);
    bounded && (is_root || ambient().contains(&Capability::CAP_NET_RAW))
}
