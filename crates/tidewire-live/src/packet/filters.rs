//! The filters of an interface's rings.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    sync::Arc,
};

use crate::ClassicInstruction;

/// A program that decides in the kernel which frames reach a ring.
#[derive(Clone, Debug)]
pub enum SocketFilter {
    /// Classic BPF, for frames as they are on the wire: their VLAN tag is where it was, although the kernel takes it out.
    Classic(Vec<ClassicInstruction>),
    /// A loaded eBPF program of the type socket filter, which sees frames as the kernel has them.
    Program(Arc<OwnedFd>),
}

/// The filters of an interface's rings.
#[derive(Clone, Debug, Default)]
pub struct Filters {
    /// Of the rings that get each frame first, and of what steering drops.
    pub first: Option<SocketFilter>,
    /// Of the rings that get the second copy of frames that are steered twice. Every frame passes these, too: a filter that
    /// counts counts twice if it is the same.
    pub second: Option<SocketFilter>,
}

impl SocketFilter {
    /// A filter that is this loaded program.
    ///
    /// # Errors
    /// The process has no room for one more descriptor.
    pub fn program(program: &impl AsFd) -> io::Result<Self> {
        Ok(Self::Program(Arc::new(program.as_fd().try_clone_to_owned()?)))
    }
}
