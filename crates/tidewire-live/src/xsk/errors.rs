//! Errors of AF_XDP sockets.

use std::io;

use super::{XskPlan, plan::single_buffer_max};
use crate::{Error, KernelError, Operation};

impl XskPlan {
    pub(super) fn failed(&self, what: &str, source: io::Error) -> Error {
        Error::kernel(format!("{}: {what}", self.interface.name), source)
    }

    fn refused(&self, operation: Operation, what: &str, source: io::Error) -> Error {
        KernelError::new(operation, format!("{}: {what}", self.interface.name), source).into()
    }

    pub(super) fn no_socket(&self, source: io::Error) -> Error {
        match source.raw_os_error() {
            Some(libc::EPERM) => Error::privilege(
                format!("{}: opening an AF_XDP socket", self.interface.name),
                "cap_net_raw,cap_net_admin,cap_bpf",
            ),
            _ => self.refused(Operation::OpenXsk, "opening an AF_XDP socket", source),
        }
    }

    pub(super) fn no_memory(&self, source: io::Error) -> Error {
        let what = format!("giving the kernel {} MiB of memory", self.memory_bytes() >> 20);
        self.refused(Operation::RegisterXskMemory, &what, source)
    }

    pub(super) fn not_bound(&self, queue: u32, source: io::Error) -> Error {
        let operation = Operation::BindXsk { mtu_max: self.needs_frags.then(single_buffer_max) };
        self.refused(operation, &format!("binding an AF_XDP socket to receive queue {queue}"), source)
    }
}
