/// A capability that capturing may need (capabilities(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Capability {
    /// `CAP_BPF`: maps and programs in the kernel.
    Bpf,
    /// `CAP_IPC_LOCK`: memory of AF_XDP beyond `RLIMIT_MEMLOCK`.
    IpcLock,
    /// `CAP_NET_ADMIN`: XDP programs, busy polling.
    NetAdmin,
    /// `CAP_NET_RAW`: packet sockets and AF_XDP sockets.
    NetRaw,
    /// `CAP_PERFMON`: programs that look at packets.
    Perfmon,
}

impl Capability {
    /// Its name, as setcap(8) takes it: `cap_net_raw`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bpf => "cap_bpf",
            Self::IpcLock => "cap_ipc_lock",
            Self::NetAdmin => "cap_net_admin",
            Self::NetRaw => "cap_net_raw",
            Self::Perfmon => "cap_perfmon",
        }
    }
}

impl From<Capability> for caps::Capability {
    fn from(capability: Capability) -> Self {
        match capability {
            Capability::Bpf => Self::CAP_BPF,
            Capability::IpcLock => Self::CAP_IPC_LOCK,
            Capability::NetAdmin => Self::CAP_NET_ADMIN,
            Capability::NetRaw => Self::CAP_NET_RAW,
            Capability::Perfmon => Self::CAP_PERFMON,
        }
    }
}
