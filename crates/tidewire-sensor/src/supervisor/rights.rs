//! Capabilities of the supervisor: those that its parts need, and no others.

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, remove_capability_from_bounding_set, set_capabilities,
};

/// Capabilities that the capture needs to open interfaces; to start and end programs of other users (`KILL`, `SETGID`, `SETUID`, also when
/// this process is killed); to give them a better nice value; to read captures and the configuration of other users.
const KEPT: CapabilitySet = CapabilitySet::NET_RAW
    .union(CapabilitySet::NET_ADMIN)
    .union(CapabilitySet::BPF)
    .union(CapabilitySet::PERFMON)
    .union(CapabilitySet::IPC_LOCK)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::SYS_NICE)
    .union(CapabilitySet::DAC_READ_SEARCH);

/// Gives up all other capabilities, for this process and those that it starts.
pub fn limit() -> rustix::io::Result<()> {
    let now = capabilities(None)?;
    if now.effective.contains(CapabilitySet::SETPCAP) {
        for capability in CapabilitySet::all().difference(KEPT).iter() {
            // One that this kernel does not know is in no set.
            let _ = remove_capability_from_bounding_set(capability);
        }
    }
    let permitted = now.permitted.intersection(KEPT);
    set_capabilities(
        None,
        CapabilitySets { effective: permitted, permitted, inheritable: now.inheritable.intersection(KEPT) },
    )
}

/// Whether this process may start programs as another user.
pub fn may_change_user() -> bool {
    let needed = CapabilitySet::SETUID | CapabilitySet::SETGID;
    capabilities(None).is_ok_and(|now| now.effective.contains(needed))
}
