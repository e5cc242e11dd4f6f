//! Interfaces that are removed and made anew.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{XskPlan, XskRing};
use crate::{
    Error, Interface,
    kernel::KernelXdp,
    sys::{
        bpf::{Link, XdpMode},
        packet::RingSocket,
    },
};

/// What is on an interface while it is captured.
#[derive(Debug)]
struct Attached {
    index: u32,
    link: Option<Link>,
    /// Keeps the interface taking frames for other machines.
    promiscuous: Option<RingSocket>,
    /// The capture is over.
    has_ended: bool,
}

/// An attached program. When this is dropped, or the process ends, however it ends, it is taken off.
#[derive(Debug)]
pub struct XdpAttachment(Arc<Home>);

impl XdpAttachment {
    /// What its rings need to go on elsewhere.
    pub(super) fn home(&self) -> &Arc<Home> {
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
pub(super) struct Home {
    plan: XskPlan,
    mode: XdpMode,
    kernel: KernelXdp,
    is_promiscuous: bool,
    attached: Mutex<Attached>,
}

impl Home {
    /// Attaches the program, whose sockets are in their places.
    pub fn attach(
        plan: &XskPlan,
        mode: XdpMode,
        kernel: &KernelXdp,
        is_promiscuous: bool,
    ) -> Result<XdpAttachment, Error> {
        let attached = Attached { index: 0, link: None, promiscuous: None, has_ended: false };
        let (plan, kernel) = (plan.clone(), kernel.clone());
        let home = Self { plan, mode, kernel, is_promiscuous, attached: Mutex::new(attached) };
        home.settle(home.plan.interface.index)?;
        Ok(XdpAttachment(Arc::new(home)))
    }

    fn attached(&self) -> MutexGuard<'_, Attached> {
        self.attached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_on(&self, index: u32) -> bool {
        self.attached().index == index
    }

    /// Puts the program on the interface of this number, if it is not there. Nothing where the capture is over.
    fn settle(&self, index: u32) -> Result<(), Error> {
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

impl XskRing {
    /// Goes on with the interface that has the name now, where there is one and nothing of the old one is held any more.
    /// False where that is not so. Only rings that are alone on their receive queue can.
    pub(super) fn come_back(&mut self) -> Result<bool, Error> {
        let Some(home) = self.home.clone() else { return Ok(false) };
        if self.state.stopped || self.rx.held_count() > 0 || self.rx.available() > 0 {
            return Ok(false);
        }
        let Ok(interface) = Interface::find(&self.marks.interface) else { return Ok(false) };
        let index = interface.index;
        if !interface.up || (index == self.state.index && home.is_on(index)) {
            return Ok(false);
        }
        if index != self.state.index {
            let before = self.counted()?;
            let mut plan = home.plan.clone();
            plan.interface = interface;
            plan.open_again(self, home.mode)?;
            (self.state.before, self.state.index) = (before, index);
        }
        home.settle(index)?;
        (self.state.gone, self.state.empty) = (false, 0);
        Ok(true)
    }
}
