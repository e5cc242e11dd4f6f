//! Protocol fields of streams: which settings gather them, and how they are kept.

use std::borrow::Cow;

use bytes::{Bytes, BytesMut};
use tidewire::Mode;
use tidewire_exports::push_app;
use tidewire_protocols::{App, CUTOFF_BYTES};

use crate::{
    error,
    options::Common,
    units::{Size, counted},
};

/// Use that a run of `flows` makes of the streams' bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    /// Who speaks which protocol: the beginning of each direction says it.
    Beginnings,
    /// Transactions to write: all of them, of files. Of interfaces the beginnings, as the kernel then discards the rest.
    Transactions,
    /// Fields to select by: as transactions, and also if no record is printed.
    Fields,
}

/// The options of `flows`, and its mode: what it wants is delivered, unless a cutoff is given. Mode `fast` would cost 2 % less, but a
/// segment that is late by 16 packets would count as missing, and as sent again.
pub fn of_flows(common: &Common, wants: Wants) -> (Cow<'_, Common>, Mode) {
    if common.delivers_nothing().is_some() || common.limit == Some(0) && wants != Wants::Fields {
        return (Cow::Borrowed(common), Mode::Track);
    }
    let is_whole = wants != Wants::Beginnings;
    if is_whole && !common.live.is_on() {
        return (Cow::Borrowed(common), Mode::Strict);
    }
    let mut common = common.clone();
    common.cutoff.get_or_insert(Size(CUTOFF_BYTES));
    if wants != Wants::Fields {
        // Different versions of the same bytes are not reported.
        common.history = Size(0);
    }
    (Cow::Owned(common), Mode::Strict)
}

/// Says how many streams have no protocol fields because of the memory limit.
pub fn say_refused(refused: u64) {
    if refused > 0 {
        let streams = counted(refused, "stream has", "streams have");
        error::notify(format_args!("memory limit of protocol fields: {streams} none (raise --memory)"));
    }
}

/// Texts of `app`, which take less memory than the fields that they are made of, and are made of them while they are at hand. They lie
/// one behind the other: allocated one by one, each between what lives for a packet, they would cost as much again as making them.
#[derive(Default)]
pub struct AppTexts {
    block: BytesMut,
    scratch: Vec<u8>,
}

/// Bytes of a block of texts.
const BLOCK_BYTES: usize = 64 << 10;

impl AppTexts {
    /// The value of `app`. `is_kept`: as long as all others; else it lies alone, so that none of many keeps a block.
    pub fn json(&mut self, app: &App, is_kept: bool) -> Bytes {
        self.scratch.clear();
        push_app(&mut self.scratch, app);
        if !is_kept {
            return Bytes::copy_from_slice(&self.scratch);
        }
        if self.block.capacity() < self.scratch.len() {
            self.block = BytesMut::with_capacity(BLOCK_BYTES.max(self.scratch.len()));
        }
        self.block.extend_from_slice(&self.scratch);
        self.block.split().freeze()
    }
}
