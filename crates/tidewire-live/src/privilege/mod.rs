//! Which privileges a live capture needs, and how it gets rid of them once it has what it needs.
//!
//! Rings and programs are opened with capabilities; what follows works on descriptors alone. So before the first packet is
//! looked at, [`Confinement`] gives up every capability, the means to get any back, files, programs and most system calls:
//! everything that an attacker who takes over the process through a packet could use.

mod capability;
mod confine;
mod connections;
mod files;
mod inherit;
mod needs;
mod sends;
mod system_calls;
#[cfg(test)]
mod tests;

pub use capability::Capability;
pub use confine::{Confined, Confinement};
pub use connections::Connections;
pub use inherit::{pass_on_inheritable, programs_may_capture};
pub use needs::{Need, check, missing, needs};
