//! Spooler and collector from outside: what arrives where, through what, and what is refused.
#![forbid(unsafe_code)]

mod certificates;
mod delivery;
mod disk;
mod edges;
mod encrypted;
mod hostile;
mod kills;
mod network;
mod proxy;
mod repairs;
mod rig;
mod seeds;
