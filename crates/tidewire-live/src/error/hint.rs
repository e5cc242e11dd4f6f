//! Advice for people, which the command line and the drop-in library print behind an error.

use std::fmt;

use super::{Error, InterfaceProblem, KernelError, Operation, SettingError, capabilities::how_to_grant};
use crate::packet::join_conflict;

/// Prints an error and, where there is one, its [hint](Error::hint).
#[derive(Clone, Copy, Debug)]
pub struct WithHint<'a>(&'a Error);

impl fmt::Display for WithHint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.hint() {
            Some(hint) => write!(f, "{}; {hint}", self.0),
            None => self.0.fmt(f),
        }
    }
}

impl Error {
    /// Advice on the error, for people: commands of the system, and settings of this crate. The text may depend on the
    /// state of the machine: of a fan-out group it says which settings its members have.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Privilege { capabilities, .. } => Some(how_to_grant(capabilities)),
            Self::Kernel(error) => error.hint(),
            Self::Setting(error) => error.hint(),
            Self::Interface { interface, problem: InterfaceProblem::OutputDown } => {
                Some(format!("switch it on: ip link set {interface} up"))
            }
            Self::Interface { problem: InterfaceProblem::LosesRedirected { .. }, .. } => {
                Some("or choose the generic hook".into())
            }
            _ => None,
        }
    }

    /// The error with its [hint](Self::hint).
    #[must_use]
    pub fn with_hint(&self) -> WithHint<'_> {
        WithHint(self)
    }
}

impl KernelError {
    /// See [`Error::hint`].
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let number = self.io_error().raw_os_error().unwrap_or(0);
        let hint = match (self.operation(), number) {
            (Operation::ReserveMemory, _) => "ask for smaller rings",
            (Operation::MakeRing, libc::ENOMEM) => {
                "the kernel has no free memory of that size in one piece: use smaller rings, or fewer workers"
            }
            (Operation::JoinGroup { group: Some(group), kind, index, .. }, libc::EINVAL) => {
                return Some(join_conflict(*group, *kind, *index));
            }
            (Operation::JoinGroup { .. }, libc::ENOSPC) => "the group is full: use fewer workers, or another number",
            (Operation::JoinGroup { .. }, libc::EALREADY) => "the socket is in a group already, which it cannot leave",
            (Operation::JoinGroup { incoming: true, .. }, libc::EINVAL) => {
                "a group that leaves out outgoing frames needs Linux 5.16"
            }
            (Operation::SteerGroup, libc::EINVAL) => "the kernel does not accept this program",
            (Operation::AttachFilter, libc::ENOMEM) => {
                "the program is larger than a socket may have: raise net.core.optmem_max"
            }
            (Operation::AttachFilter, libc::EINVAL) => "the kernel does not accept this program",
            (Operation::IgnoreOutgoing, _) => "it needs Linux 4.20",
            (Operation::HardwareTimestamps, _) => "use the host's time stamps",
            (Operation::SetChannels { .. }, libc::EPERM) => "it needs cap_net_admin",
            (Operation::SetChannels { interface }, libc::EINVAL) => {
                return Some(format!("ethtool -l {interface} shows how many are possible"));
            }
            (Operation::OpenXsk, libc::EAFNOSUPPORT) => {
                "this kernel was built without AF_XDP (CONFIG_XDP_SOCKETS): use packet sockets"
            }
            (Operation::RegisterXskMemory, libc::ENOBUFS) => {
                "this user may not lock that much memory: raise `ulimit -l`, grant cap_ipc_lock, or make the ring smaller"
            }
            (Operation::RegisterXskMemory, libc::ENOMEM) => "make the ring smaller",
            (Operation::BindXsk { .. }, libc::EBUSY) => {
                "another program has AF_XDP sockets there: end it, or use packet sockets"
            }
            (Operation::BindXsk { mtu_max: Some(mtu) }, libc::EINVAL) => {
                return Some(format!(
                    "frames of this MTU need several buffers and Linux 6.6: lower the MTU to {mtu}, or use packet sockets"
                ));
            }
            (Operation::BindXsk { .. }, libc::EINVAL) => "the queue may no longer exist: see ethtool -l",
            (Operation::BindXsk { .. }, libc::ENETDOWN) => "switch the interface on",
            (Operation::AttachXdp { interface }, libc::EBUSY) => {
                let interface = interface.as_deref().unwrap_or("…");
                return Some(format!("another XDP program is attached: ip link set {interface} xdp off"));
            }
            (Operation::AttachXdp { .. }, libc::EOPNOTSUPP) => "the driver runs no XDP programs: use the generic hook",
            (Operation::AttachXdp { .. }, libc::ERANGE | libc::EINVAL) => {
                "its frames may be too large, or its rings too few: use the generic hook"
            }
            (Operation::LoadFilter, libc::EPERM | libc::EACCES) => "it needs cap_bpf and cap_net_admin",
            (Operation::LoadPrograms { kernel, log }, _) => {
                return Some(format!("it needs {kernel}; the verifier's last lines: {log}"));
            }
            (Operation::InstallProgram, _) => {
                "all programs of an array must be of one kind, XDP programs loaded for frames of several buffers"
            }
            (Operation::MakeFlowTables, _) => "ask for fewer flows",
            (Operation::ReadRules, _) => {
                "the driver may have none, or they are off (ethtool -K … ntuple on): the kernel drops instead"
            }
            (Operation::ReadBootId, _) => "a steering program in a cross-process group needs it",
            (Operation::Confine, _) => "or run without confinement",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

impl SettingError {
    /// See [`Error::hint`].
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoInterfaces => "give at least one",
            Self::NoInterfaceUp => "ip link set eth0 up switches one on",
            Self::TooManyInterfaces { .. } => "name fewer",
            Self::FilterTwice => "leave one of them out",
            Self::FilterTooLong { .. } => "make it shorter",
            Self::FilterNotPlanned { .. } => "open the capture with replaceable_filter set",
            Self::GroupIncomingOnly { .. } => "open the capture for both directions to choose later",
            Self::GroupUnsupported => "use packet sockets",
            Self::CutoffsWithDuplicates => "leave cutoffs to the engine (`InKernel::Never`), or steer to one worker",
            Self::SteeringNeedsEthernet { .. } => "choose another fan-out mode, such as hash",
            Self::SlotRingTooSmall { .. } => "give it some MiB, or a smaller snap length",
            Self::StampUnsupported { .. } => "use the host's time stamps",
            Self::SteeringMode => "choose that mode, or no steering program",
            Self::RolloverWithDrops => "leave rollover out, or let the program pass what it drops",
            Self::JoinWithTwoRings => "join the group when the capture is opened",
            Self::XdpOnHost { .. } => "use packet sockets, or `Role::Tap` on a mirror port",
            Self::XdpOutgoing { .. } | Self::XdpNeedsEthernet { .. } => "use packet sockets",
            Self::XdpLosesTags { interface } => return Some(format!("ethtool -K {interface} rxvlan off")),
            Self::XdpUnavailable { generic: true, .. } => "the generic hook is available",
            Self::XdpStamps { .. } => "use packet sockets, or the host's time stamps",
            Self::XdpSharing { .. } => "use packet sockets, or one process with several workers",
            Self::XdpFanoutMode { .. } => "use hash, ebpf with a steering program, or qm, or packet sockets",
            Self::SteeringWithQueues => "leave one of them out",
            Self::XdpMemory { fits_bytes, .. } => {
                return Some(format!("ask for smaller rings, of {} MiB or less", fits_bytes >> 20));
            }
            Self::RingMemory { fits_bytes, .. } => {
                return Some(format!("a ring of {} MiB would fit", fits_bytes >> 20));
            }
            Self::OutputMtu { output, input_mtu, .. } => return Some(format!("ip link set {output} mtu {input_mtu}")),
            Self::UnsupportedHardware { .. } => {
                "Ethernet, loopback and plain IP interfaces work: capture on what it runs over, or what runs over it"
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }
}
