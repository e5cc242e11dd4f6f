//! Recovery from interfaces that are switched off, removed, or recreated.

use std::time::{Duration, Instant};

use super::{Outage, PacketRing};
use crate::{Error, InterfaceProblem};

/// Interval of checks of an interface that is down or gone.
const RETRY: Duration = Duration::from_millis(50);

impl PacketRing {
    /// Checks the socket for errors.
    pub(super) fn check(&mut self) -> Result<(), Error> {
        self.empty = 0;
        self.counts.calls += 1;
        match self.socket.take_error() {
            Ok(None) => Ok(()),
            Ok(Some(error)) if error.raw_os_error() == Some(libc::ENETDOWN) => {
                self.counts.calls += 1;
                let gone = matches!(self.socket.bound(), Ok(None));
                self.outage = Some((if gone { Outage::Gone } else { Outage::Down }, Instant::now()));
                Err(self.outage_error())
            }
            Ok(Some(error)) | Err(error) => Err(self.kernel("receiving", error)),
        }
    }

    pub(super) fn outage_error(&self) -> Error {
        let problem = match self.outage {
            Some((Outage::Gone, _)) => InterfaceProblem::Gone,
            _ => InterfaceProblem::Down,
        };
        Error::Interface { interface: self.marks.name.clone(), problem }
    }

    /// Tries to recover.
    pub(super) fn recover(&mut self, outage: Outage, since: Instant) -> Result<(), Error> {
        let waited = since.elapsed();
        if waited < RETRY {
            return Err(self.outage_error());
        }
        self.counts.calls += 1;
        let found = match outage {
            Outage::Down => match self.socket.bound() {
                Ok(Some(index)) => self.members.is_up(index).map(|up| up.then_some(())),
                Ok(None) => None,
                Err(error) => return Err(self.kernel("asking for the interface", error)),
            },
            Outage::Gone => Some(None),
        };
        match found {
            Some(Some(())) => {
                self.outage = None;
                // Discard the pending error of the outage that has ended.
                let _ = self.socket.take_error();
                Ok(())
            }
            Some(None) if outage == Outage::Down => {
                self.outage = Some((Outage::Down, Instant::now()));
                Err(self.outage_error())
            }
            _ => {
                let again = if self.stopped { Ok(false) } else { self.reopen() };
                self.outage = match again {
                    Ok(true) => None,
                    _ => Some((Outage::Gone, Instant::now())),
                };
                match again {
                    Ok(true) => Ok(()),
                    Ok(false) => Err(self.outage_error()),
                    Err(error) => Err(error),
                }
            }
        }
    }

    /// Reopens the ring on a new interface of the old name. False: not possible yet.
    fn reopen(&mut self) -> Result<bool, Error> {
        if !self.released && !self.members.is_group() {
            return self.members.rebind(&self.socket);
        }
        if !self.released {
            // A socket cannot leave a group, and a ring cannot leave its socket: both are released once no frame is held.
            if !self.held.is_empty() {
                return Ok(false);
            }
            self.count()?;
            self.blocks.unmap();
            self.socket = self.members.release(self.member)?;
            self.released = true;
            self.left = 0;
            self.ahead.set(0);
        }
        let Some(socket) = self.members.again(self.member)? else { return Ok(false) };
        self.blocks.map(&socket).map_err(|error| self.kernel("mapping the ring", error))?;
        self.socket = socket;
        self.released = false;
        if let Some(occupant) = self.slot.as_ref().and_then(|slot| slot.occupant()) {
            (self.marks.name, self.marks.link, self.marks.number) = (occupant.name, occupant.link, occupant.number);
        }
        Ok(true)
    }
}
