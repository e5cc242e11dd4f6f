//! Reattaches rings to a new interface of the same name.

use super::XskRing;
use crate::{Error, Interface};

impl XskRing {
    /// Reattaches to the interface that has the name now, if there is one and no frame of the old one is held; else returns
    /// false. Only rings that are alone on their receive queue can.
    pub(super) fn reattach(&mut self) -> Result<bool, Error> {
        let Some(attachment) = self.attachment.clone() else { return Ok(false) };
        if self.state.stopped || self.rx.held_count() > 0 || self.rx.available() > 0 {
            return Ok(false);
        }
        let Ok(interface) = Interface::find(&self.marks.interface) else { return Ok(false) };
        let index = interface.index;
        if !interface.up || (index == self.state.index && attachment.is_on(index)) {
            return Ok(false);
        }
        if index != self.state.index {
            let before = self.counted()?;
            let mut plan = attachment.plan.clone();
            plan.interface = interface;
            plan.open_again(self, attachment.mode)?;
            (self.state.before, self.state.index) = (before, index);
            self.state.losses.restart();
        }
        attachment.settle(index)?;
        (self.state.gone, self.state.empty) = (false, 0);
        Ok(true)
    }
}
