//! The attached XDP program of an interface that may be removed and recreated.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::XskPlan;
use crate::{
    Error,
    kernel::KernelXdp,
    sys::{
        bpf::{Link, XdpMode},
        packet::RingSocket,
    },
};

/// State of an interface while it is captured.
#[derive(Debug)]
struct Attached {
    index: u32,
    link: Option<Link>,
    /// Keeps the interface in promiscuous mode.
    promiscuous: Option<RingSocket>,
    /// The capture is over.
    has_ended: bool,
}

/// An attached program, detached when this is dropped or the process ends.
#[derive(Debug)]
pub struct XdpAttachment(Arc<AttachedProgram>);

impl XdpAttachment {
    /// The attached program, through which rings reattach.
    pub(super) fn attachment(&self) -> &Arc<AttachedProgram> {
        &self.0
    }
}

impl Drop for XdpAttachment {
    fn drop(&mut self) {
        let mut attached = self.0.attached();
        (attached.link, attached.promiscuous, attached.has_ended) = (None, None, true);
    }
}

/// An interface with its program, by name.
#[derive(Debug)]
pub(super) struct AttachedProgram {
    pub(super) plan: XskPlan,
    pub(super) mode: XdpMode,
    kernel: KernelXdp,
    is_promiscuous: bool,
    attached: Mutex<Attached>,
}

impl AttachedProgram {
    /// Attaches the program, whose sockets are in their places.
    pub fn attach(
        plan: &XskPlan,
        mode: XdpMode,
        kernel: &KernelXdp,
        is_promiscuous: bool,
    ) -> Result<XdpAttachment, Error> {
        let attached = Attached { index: 0, link: None, promiscuous: None, has_ended: false };
        let (plan, kernel) = (plan.clone(), kernel.clone());
        let attachment = Self { plan, mode, kernel, is_promiscuous, attached: Mutex::new(attached) };
        attachment.settle(attachment.plan.interface.index)?;
        Ok(XdpAttachment(Arc::new(attachment)))
    }

    fn attached(&self) -> MutexGuard<'_, Attached> {
        self.attached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_on(&self, index: u32) -> bool {
        self.attached().index == index
    }

    /// Attaches the program to the interface of this number, unless it is there or the capture has ended.
    pub(super) fn settle(&self, index: u32) -> Result<(), Error> {
        let mut attached = self.attached();
        if attached.index == index || attached.has_ended {
            return Ok(());
        }
        let on = || -> io::Result<RingSocket> {
            let socket = RingSocket::open()?;
            socket.promiscuous(index)?;
            Ok(socket)
        };
        let promiscuous = self.is_promiscuous.then(on).transpose();
        let promiscuous = promiscuous.map_err(|source| self.plan.failed("taking frames for other machines", source))?;
        let link = self.kernel.attach(index, self.mode)?;
        *attached = Attached { index, link: Some(link), promiscuous, has_ended: false };
        Ok(())
    }
}
