//! Traffic of NCAP's figures: fragments, valid and not; connections, normal and hostile.

mod fragments;
mod segments;

pub(super) use fragments::{Fault, Fragments, Order};
pub(super) use segments::{Segments, write as write_segments};
