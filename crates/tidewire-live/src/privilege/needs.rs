//! Capabilities that a live capture needs, and the reasons.
//!
//! | what | capability | where the kernel asks |
//! |---|---|---|
//! | a packet socket, an AF_XDP socket | `CAP_NET_RAW` | `packet_create`, `xsk_create` |
//! | eBPF maps and programs, where unprivileged ones are off (`kernel.unprivileged_bpf_disabled`, the usual) | `CAP_BPF` | `map_create`, `bpf_prog_load` |
//! | programs that look at packets | `CAP_PERFMON` too | the verifier (`allow_ptr_leaks`): compilers compare addresses within a packet as they like |
//! | XDP programs | `CAP_NET_ADMIN` too | `bpf_prog_load` (`is_net_admin_prog_type`) |
//! | busy polling | `CAP_NET_ADMIN` | `sk_setsockopt` (`SO_PREFER_BUSY_POLL`, more `SO_BUSY_POLL`) |
//! | AF_XDP memory beyond `RLIMIT_MEMLOCK` | `CAP_IPC_LOCK` | `xdp_umem_account_pages` |
//!
//! None is needed any more once they are open: looking up, changing and deleting elements of a map takes its descriptor
//! (`kernel.unprivileged_bpf_disabled` stops creation only, since Linux 5.19), a link is detached by closing it.
//! `CAP_SYS_ADMIN` is not needed: nothing is looked up by number.

use caps::CapSet;

use super::Capability;
use crate::{Error, FanoutMode, LiveEngine, LiveSettings};

/// A capability, and what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Need {
    /// The capability.
    pub capability: Capability,
    /// The operation that it is needed for.
    pub what: &'static str,
    /// Without it another engine is used, if the engine is [`LiveEngine::Auto`].
    pub optional: bool,
}

/// Capabilities that `settings` need.
#[must_use]
pub fn needs(settings: &LiveSettings) -> Vec<Need> {
    let need = |capability, what, optional| Need { capability, what, optional };
    let mut needs = vec![need(Capability::NetRaw, "capturing frames", false)];
    let auto = settings.engine == LiveEngine::Auto;
    if settings.engine != LiveEngine::Packet {
        needs.push(need(Capability::Bpf, "programs in the kernel", auto));
        needs.push(need(Capability::Perfmon, "programs in the kernel", auto));
        needs.push(need(Capability::NetAdmin, "XDP programs", auto));
        needs.push(need(Capability::IpcLock, "AF_XDP rings of more than RLIMIT_MEMLOCK", true));
    }
    let steers = settings.fanout.is_some_and(|fanout| fanout.mode == FanoutMode::Ebpf) && settings.steering.is_some();
    if steers {
        needs.push(need(Capability::Bpf, "a steering program", false));
        needs.push(need(Capability::Perfmon, "a steering program", false));
    }
    if settings.busy_poll_us != 0 {
        needs.push(need(Capability::NetAdmin, "busy polling", false));
    }
    needs
}

/// Of these, what the calling thread does not have.
///
/// # Errors
/// [`Error::Kernel`]: the kernel does not say what it has.
pub fn missing(needs: &[Need]) -> Result<Vec<Need>, Error> {
    let has = |need: &Need| {
        caps::has_cap(None, CapSet::Effective, need.capability.into()).map_err(|error| {
            Error::kernel("reading the process's capabilities", std::io::Error::other(error.to_string()))
        })
    };
    needs.iter().filter_map(|need| has(need).map(|has| (!has).then_some(*need)).transpose()).collect()
}

/// Checks, before anything is opened, that what cannot be done without is there.
///
/// # Errors
/// [`Error::Privilege`] with all missing capabilities.
pub fn check(settings: &LiveSettings) -> Result<(), Error> {
    let mut lacking = missing(&needs(settings))?;
    lacking.retain(|need| !need.optional);
    if lacking.is_empty() {
        return Ok(());
    }
    let mut what: Vec<_> = lacking.iter().map(|need| need.what).collect();
    let mut names: Vec<_> = lacking.iter().map(|need| need.capability.name()).collect();
    names.sort();
    names.dedup();
    what.dedup();
    let (last, others) = what.split_last().expect("something is lacking");
    let what = if others.is_empty() { (*last).to_owned() } else { format!("{} and {last}", others.join(", ")) };
    Err(Error::privilege(what, names.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fanout;

    fn names(settings: &LiveSettings, optional: bool) -> Vec<Capability> {
        needs(settings).iter().filter(|need| need.optional == optional).map(|need| need.capability).collect()
    }

    #[test]
    fn each_engine_has_its_needs() {
        use Capability::{Bpf, IpcLock, NetAdmin, NetRaw, Perfmon};
        let mut settings = LiveSettings::new(["lo"]);
        assert_eq!(names(&settings, false), [NetRaw]);
        assert_eq!(names(&settings, true), [Bpf, Perfmon, NetAdmin, IpcLock]);
        settings.engine = LiveEngine::Xdp;
        assert_eq!(names(&settings, false), [NetRaw, Bpf, Perfmon, NetAdmin]);
        settings.engine = LiveEngine::Packet;
        assert_eq!(needs(&settings).len(), 1);
        settings.busy_poll_us = 50;
        assert_eq!(names(&settings, false), [NetRaw, NetAdmin]);
    }

    #[test]
    fn group_modes_of_others_need_nothing_more() {
        let mut settings = LiveSettings::new(["lo"]);
        settings.engine = LiveEngine::Packet;
        settings.fanout = Some(Fanout { group: Some(7), mode: FanoutMode::Ebpf, defrag: false, rollover: false });
        assert_eq!(needs(&settings).len(), 1);
    }

    /// In a thread of its own: capabilities are a thread's.
    #[test]
    fn what_is_missing_is_named_with_the_way_to_grant_it() {
        let hints = std::thread::spawn(|| {
            caps::clear(None, CapSet::Effective).expect("giving up is always allowed");
            let mut settings = LiveSettings::new(["lo"]);
            let packet = check(&settings).expect_err("it has none").with_hint().to_string();
            settings.engine = LiveEngine::Xdp;
            (packet, check(&settings).expect_err("it has none").with_hint().to_string())
        });
        let (packet, xdp) = hints.join().expect("the thread ends");
        // One command that is enough for everything, or the next refusal would follow, and take the first away.
        let command = "sudo setcap cap_bpf,cap_ipc_lock,cap_net_admin,cap_net_raw,cap_perfmon+ep /";
        assert!(packet.contains("capturing frames needs cap_net_raw; run it as root, or"), "{packet}");
        assert!(packet.contains(command) || packet.contains("setcap cap_audit_control,"), "{packet}");
        assert!(xdp.starts_with("capturing frames, programs in the kernel and XDP programs need cap_bpf,cap_net_admin,cap_net_raw,cap_perfmon; "), "{xdp}");
    }
}
