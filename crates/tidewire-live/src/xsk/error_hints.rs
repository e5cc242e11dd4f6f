//! What the kernel refuses, and what to do about it.

use std::io;

use super::{XskPlan, plan::single_buffer_max};
use crate::Error;

impl XskPlan {
    pub(super) fn failed(&self, what: &str, source: io::Error) -> Error {
        Error::Kernel { what: format!("{}: {what}", self.interface.name), source, hint: String::new() }
    }

    pub(super) fn no_socket(&self, source: io::Error) -> Error {
        match source.raw_os_error() {
            Some(libc::EPERM) => Error::Privilege {
                what: format!("{}: opening an AF_XDP socket", self.interface.name),
                capability: "cap_net_raw,cap_net_admin,cap_bpf",
            },
            Some(libc::EAFNOSUPPORT) => Error::Kernel {
                what: format!("{}: opening an AF_XDP socket", self.interface.name),
                source,
                hint: "; this kernel was built without AF_XDP (CONFIG_XDP_SOCKETS): use packet sockets".into(),
            },
            _ => self.failed("opening an AF_XDP socket", source),
        }
    }

    pub(super) fn no_memory(&self, source: io::Error) -> Error {
        let hint = match source.raw_os_error() {
            Some(libc::ENOBUFS) => "; more memory would be locked than this user may: raise `ulimit -l`, grant \
                                    cap_ipc_lock, or make the ring smaller"
                .into(),
            Some(libc::ENOMEM) => "; make the ring smaller".into(),
            _ => String::new(),
        };
        let what = format!("{}: giving the kernel {} MiB of memory", self.interface.name, self.memory_bytes() >> 20);
        Error::Kernel { what, source, hint }
    }

    pub(super) fn not_bound(&self, queue: u32, source: io::Error) -> Error {
        let hint = match source.raw_os_error() {
            Some(libc::EBUSY) => "; another program has AF_XDP sockets there: end it, or use packet sockets".into(),
            Some(libc::EINVAL) if self.needs_frags => format!(
                "; frames of this interface (MTU {}) need several buffers, which Linux 6.6 can: lower the MTU to {}, or \
                 use packet sockets",
                self.interface.mtu,
                single_buffer_max()
            ),
            Some(libc::EINVAL) => "; is there still such a queue?".into(),
            Some(libc::ENETDOWN) => "; switch the interface on".into(),
            _ => String::new(),
        };
        let what = format!("{}: binding an AF_XDP socket to receive queue {queue}", self.interface.name);
        Error::Kernel { what, source, hint }
    }
}
