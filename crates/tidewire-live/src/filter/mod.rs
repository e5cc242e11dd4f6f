//! Filters as programs in the kernel.

use tidewire_filter::{Filter, FilterEnding, FilterHook, Instruction, translate};

use crate::{
    Error, KernelError, Operation,
    sys::bpf::{Load, Program, SOCKET_FILTER, XDP},
};

#[cfg(test)]
mod tests;

/// Loads an expression, for Ethernet frames.
///
/// # Errors
/// [`Error::Filter`] where the expression has no meaning for Ethernet or cannot run in the kernel (`protochain` loops);
/// [`Error::Kernel`] with the verifier's last lines where the kernel refuses the program.
pub(crate) fn load_expression(filter: &Filter, hook: FilterHook, ending: FilterEnding) -> Result<Program, Error> {
    load_code(&filter.ebpf(hook, ending)?, hook, &format!("loading the filter \"{}\"", filter.expression()))
}

/// Loads a program that was made elsewhere, for frames that arrive: it may ask for what the kernel knows of them beside their
/// bytes (`SKF_AD_PKTTYPE`, `…_IFINDEX`, `…_PROTOCOL`, `…_VLAN_TAG` and the like).
///
/// # Errors
/// [`Error::Filter`] where it is no program, or jumps back; [`Error::Kernel`] where the kernel refuses it.
pub(crate) fn load_program(program: &[Instruction], hook: FilterHook, ending: FilterEnding) -> Result<Program, Error> {
    load_code(&translate(program, hook, ending)?, hook, "loading the filter program")
}

fn load_code(code: &[u8], hook: FilterHook, doing: &str) -> Result<Program, Error> {
    // Programs that call each other are loaded alike: the other XDP programs are made for BPF_XDP.
    let (kind, settings) = match hook {
        FilterHook::Socket => (SOCKET_FILTER, Load::default()),
        FilterHook::Xdp => (XDP, Load { frags: true, attach: ATTACH_XDP }),
    };
    Program::load_with(kind, code, settings)
        .map_err(|source| KernelError::new(Operation::LoadFilter, format!("{doing} into the kernel"), source).into())
}

/// `BPF_XDP` of `enum bpf_attach_type`.
const ATTACH_XDP: u32 = 37;
