use std::{
    os::fd::AsFd as _,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    ClassicInstruction, Error,
    filter_spec::FilterSpec,
    kernel::{Jump, Kernel},
    sys::bpf,
};
use tidewire_filter::FilterHook;

/// `XDP_DROP`
const DROP: u32 = 1;

/// The filter of an interface's program, which all rings there share.
#[derive(Debug)]
pub(super) struct FilterSlot {
    kernel: Arc<Kernel>,
    /// The current filter, if it is known.
    current: Mutex<Option<Option<Vec<ClassicInstruction>>>>,
}

impl FilterSlot {
    /// Puts the first filter there.
    pub fn new(kernel: &Arc<Kernel>, wanted: &FilterSpec) -> Result<Self, Error> {
        put(kernel, wanted)?;
        Ok(Self { kernel: Arc::clone(kernel), current: Mutex::new(None) })
    }

    /// Replaces it. When this returns, no frame is on its way that the one before took.
    pub fn set(&self, program: Option<&[ClassicInstruction]>) -> Result<(), Error> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.as_ref().is_some_and(|current| current.as_deref() == program) {
            return Ok(());
        }
        let wanted = program.map_or(FilterSpec::Everything, |program| FilterSpec::Program(program.to_vec()));
        put(&self.kernel, &wanted)?;
        bpf::runs_ended();
        *current = Some(program.map(<[_]>::to_vec));
        Ok(())
    }
}

fn put(kernel: &Kernel, wanted: &FilterSpec) -> Result<(), Error> {
    kernel.set_jump(Jump::Filter, wanted.load(FilterHook::Xdp, kernel.filter_ending(DROP))?.as_fd())
}
