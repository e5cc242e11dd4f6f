//! Generated traffic: what is sent arrives, and the engine makes of it what it should. Tests over interfaces need root and say so
//! otherwise.
#![forbid(unsafe_code)]

mod common;
mod flows;
mod fragments;
mod replay;
mod split;
mod tcp;
