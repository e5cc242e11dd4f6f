//! Generated traffic: all frames that are sent arrive, and the engine has the expected result. Tests over interfaces need root and say so
//! otherwise.
#![forbid(unsafe_code)]

mod common;
mod flows;
mod fragments;
mod replay;
mod split;
mod tcp;
