//! Setters of a live handle: filter, direction; and sending.
//!
//! JUSTIFICATION: see [`super`].

use std::{
    ffi::{c_int, c_void},
    io,
};

use tidewire_live::{Change, ClassicInstruction, Error, Interface, TrafficDirection};

use super::{Live, rings::Rings, user_filter::UserFilter};
use crate::{control::Control, system::system, types::BpfInstruction};

/// `pcap_direction_t`
mod direction {
    pub const BOTH: i32 = 0;
    pub const IN: i32 = 1;
    pub const OUT: i32 = 2;
}

impl Live {
    /// `pcap_setfilter`. Packets that wait are held against the new filter, too.
    pub fn set_filter(&self, handle: &Control, program: Option<&[BpfInstruction]>) -> c_int {
        let Some(program) = program else { return handle.failed("setfilter: No filter specified") };
        let length = c_int::try_from(program.len()).unwrap_or(c_int::MAX);
        // SAFETY: the pointer and the length are those of a slice.
        let valid = system().bpf_validate.map(|validate| unsafe { validate(program.as_ptr(), length) });
        if valid != Some(1) {
            return handle.failed("BPF program is not valid");
        }
        let classic: Vec<_> = program.iter().map(instruction).collect();
        let mut rings = match self.rings() {
            Ok(rings) => rings,
            Err(message) => return handle.failed(&message),
        };
        let in_kernel = match rings.worker.set_filter(Some(&classic)) {
            Ok(()) => true,
            // Filters in the process if the kernel cannot: the program has dropped the right to load programs, or this one is
            // too long. Not behind another kernel filter, which could not be removed either.
            Err(_) if !rings.has_filter || rings.worker.set_filter(None).is_ok() => false,
            Err(error) => return handle.failed(&error.with_hint().to_string()),
        };
        rings.has_filter = in_kernel;
        // The worker filters packets in the rings; those already collected are filtered here.
        let mut user_filter = UserFilter { program: program.to_vec(), stays: !in_kernel, until: 0 };
        // SAFETY: the thread that reads calls this, at most inside a callback, where nothing of the reader is borrowed.
        let reader = unsafe { &mut *self.reader.get() };
        let memory = rings.worker.batch().memory;
        // These passed the old filter, and count.
        let _ = user_filter.apply(memory, &reader.packets, &mut reader.order);
        let more = match &self.gather_thread {
            None => rings.worker.batch().frames.len() > reader.packets.len(),
            Some(gather_thread) => {
                user_filter.until = gather_thread.gathered();
                true
            }
        };
        reader.user_filter = (more || user_filter.stays).then_some(user_filter);
        0
    }

    /// `pcap_setdirection`. Packets that wait came when another direction was wanted, and are delivered.
    pub fn set_direction(&self, handle: &Control, wanted: c_int) -> c_int {
        let wanted = match wanted {
            direction::BOTH => TrafficDirection::Both,
            direction::IN => TrafficDirection::In,
            direction::OUT => TrafficDirection::Out,
            _ => return handle.failed("Invalid direction"),
        };
        let set = self
            .rings()
            .and_then(|mut rings| rings.worker.set_direction(wanted).map_err(|error| error.with_hint().to_string()));
        match set {
            Ok(()) => 0,
            Err(message) => handle.failed(&message),
        }
    }

    /// `pcap_inject`, on the first device: the bytes that were sent, or -1.
    ///
    /// # Safety
    /// There are so many bytes.
    pub unsafe fn inject(&self, handle: &Control, bytes: *const c_void, length: usize) -> c_int {
        if self.descriptors.len() > 1 {
            return handle.failed("send: the handle has several devices; open the one to send on alone");
        }
        let socket = self.descriptors.first().copied().unwrap_or(-1);
        // SAFETY: the bytes are the caller's.
        let sent = unsafe {
            match &self.sender {
                Some(sender) => sender.send(bytes, length),
                // As with the system's library, a packet socket does not see the frames that it sends.
                None => libc::send(socket, bytes, length, 0),
            }
        };
        if sent < 0 {
            return handle.failed(&format!("send: {}", io::Error::last_os_error()));
        }
        c_int::try_from(sent).unwrap_or(c_int::MAX)
    }

    /// Reports devices that failed permanently. A device that is down may come up again; one that is gone does not come back
    /// for this handle, as with the system's library.
    pub(super) fn check(&self, rings: &mut Rings) -> Result<(), String> {
        for trouble in rings.worker.troubles() {
            let Error::Interface { interface, .. } = &trouble else { return Err(trouble.with_hint().to_string()) };
            let was = self.settings.devices.iter().find(|device| device.name == *interface);
            let is_there = |was: &Interface| match Interface::all() {
                Ok(all) => all.iter().any(|is| is.index == was.index),
                // Unknown at the moment.
                Err(_) => true,
            };
            if !was.is_none_or(is_there) {
                return Err(format!("The interface disappeared: {interface}"));
            }
        }
        if !self.settings.is_silent {
            return Ok(());
        }
        for event in rings.monitor.events().unwrap_or_default() {
            if let Change::Gone = event.change {
                return Err(format!("The interface disappeared: {}", event.name));
            }
        }
        Ok(())
    }
}

fn instruction(instruction: &BpfInstruction) -> ClassicInstruction {
    let BpfInstruction { code, jt, jf, k } = *instruction;
    ClassicInstruction { code, jump_true: jt, jump_false: jf, k }
}
