use std::{
    io,
    os::fd::{AsRawFd, BorrowedFd, OwnedFd},
};

use super::{bpf, command, owned, pair};

/// `BPF_XDP` of `enum bpf_attach_type`.
const ATTACH_XDP: u32 = 37;

/// Where an interface runs an XDP program (`XDP_FLAGS_*`, include/uapi/linux/if_link.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XdpMode {
    /// In the driver.
    Native,
    /// Behind the driver, over the packets that it made: any interface.
    Generic,
}

/// A program's attachment. It goes away with its last descriptor: when this is dropped, or the process ends, however it ends.
#[derive(Debug)]
pub struct Link {
    descriptor: OwnedFd,
}

impl Link {
    /// Attaches an XDP program to an interface (`BPF_LINK_CREATE`, Linux 5.9).
    ///
    /// # Errors
    /// What the kernel says: `EBUSY` where another one is attached, `EOPNOTSUPP` where the driver has no XDP, `ERANGE` or
    /// `EINVAL` where its frames are too large for it.
    pub fn xdp(program: BorrowedFd<'_>, interface_index: u32, mode: XdpMode) -> io::Result<Self> {
        const SKB_MODE: u32 = 1 << 1;
        const DRIVER_MODE: u32 = 1 << 2;
        let flags = match mode {
            XdpMode::Native => DRIVER_MODE,
            XdpMode::Generic => SKB_MODE,
        };
        let mut attributes = [0; 18];
        attributes[0] = pair(program.as_raw_fd() as u32, interface_index);
        attributes[1] = pair(ATTACH_XDP, flags);
        Ok(Self { descriptor: owned(bpf(command::LINK_CREATE, &mut attributes)?) })
    }
}

impl Drop for Link {
    /// Takes the program off now, even where a process that is being started still holds the descriptor. An interface that
    /// is gone took its program with it.
    fn drop(&mut self) {
        let mut attributes = [0; 18];
        attributes[0] = pair(self.descriptor.as_raw_fd() as u32, 0);
        let _ = bpf(command::LINK_DETACH, &mut attributes);
    }
}
