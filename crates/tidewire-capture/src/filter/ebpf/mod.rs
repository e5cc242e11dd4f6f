//! Filter expressions in the kernel: libpcap's program (classic BPF) translated to eBPF, for sockets and for XDP.
//!
//! What a filter says of a frame is what it says of the same frame in a file. So loads see the frame as it was on the wire,
//! with the tag that the kernel has taken out of a packet, and `len` is the length on the wire. A load past the end and a
//! division by zero refuse the frame, as [`Filter::matches`] does.

mod assembler;
mod load;
#[cfg(test)]
mod tests;
mod translate;

use std::os::fd::RawFd;

use tidewire_wire::LinkType;

use super::{Filter, Instruction, bpf, classic, filter_error};
use crate::{
    Error,
    sys::bpf::{Load, Program, SOCKET_FILTER, XDP},
};

/// Where a filter runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterHook {
    /// A packet socket's filter, or what it calls.
    Socket,
    /// XDP, for frames of any number of buffers (Linux 5.18). A tag that the card took out of the frame is not seen.
    Xdp,
}

/// How a filter ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterEnding {
    /// It returns a number: how many bytes to take for sockets (`u32::MAX` and 0), an action for XDP.
    Return {
        /// For frames that match.
        matched: u32,
        /// For the others.
        refused: u32,
    },
    /// It goes on in another program.
    Jump {
        /// The map of programs (`BPF_MAP_TYPE_PROG_ARRAY`).
        programs: RawFd,
        /// The place of the program for frames that match.
        matched: u32,
        /// The place of the one for the others.
        refused: u32,
        /// What is returned where no program is there.
        otherwise: u32,
    },
}

impl Filter {
    /// The filter as a program for the kernel, for Ethernet frames.
    ///
    /// # Errors
    /// [`Error::Filter`] where the expression has no meaning for Ethernet or cannot run in the kernel (`protochain` loops);
    /// [`Error::Kernel`] with the verifier's last lines where the kernel refuses the program.
    pub fn load(&self, hook: FilterHook, ending: FilterEnding) -> Result<Program, Error> {
        load_code(&self.code(hook, ending)?, hook, &format!("loading the filter \"{}\"", self.expression()))
    }

    /// The program's instructions, as the kernel takes them.
    fn code(&self, hook: FilterHook, ending: FilterEnding) -> Result<Vec<u8>, Error> {
        let link = LinkType::ETHERNET;
        let refused = |what: &str| filter_error(self.expression(), link, what);
        let program = bpf::Program::new(&classic(self.expression(), link)?).map_err(|what| refused(&what))?;
        translate::translate(program.steps(), hook, ending).map_err(refused)
    }
}

/// A filter that was made elsewhere as a program for the kernel, for frames that arrive: it may ask for what the kernel knows
/// of them beside their bytes (`SKF_AD_PKTTYPE`, `…_IFINDEX`, `…_PROTOCOL`, `…_VLAN_TAG` and the like).
///
/// # Errors
/// [`Error::Setting`] where it is no program, or jumps back; [`Error::Kernel`] where the kernel refuses it.
pub(crate) fn load_program(program: &[Instruction], hook: FilterHook, ending: FilterEnding) -> Result<Program, Error> {
    let program = super::check(program)?;
    let refused = |what| Error::Setting(format!("the filter program cannot be used: {what}"));
    let code = translate::translate(program.steps(), hook, ending).map_err(refused)?;
    load_code(&code, hook, "loading the filter program")
}

fn load_code(code: &[u8], hook: FilterHook, doing: &str) -> Result<Program, Error> {
    // Programs that call each other are loaded alike: the other XDP programs are made for BPF_XDP.
    let (kind, settings) = match hook {
        FilterHook::Socket => (SOCKET_FILTER, Load::default()),
        FilterHook::Xdp => (XDP, Load { frags: true, attach: ATTACH_XDP }),
    };
    Program::load_with(kind, code, settings).map_err(|source| Error::Kernel {
        what: format!("{doing} into the kernel"),
        hint: match source.kind() {
            std::io::ErrorKind::PermissionDenied => "; it needs cap_bpf and cap_net_admin".into(),
            _ => String::new(),
        },
        source,
    })
}

/// `BPF_XDP` of `enum bpf_attach_type`.
const ATTACH_XDP: u32 = 37;
