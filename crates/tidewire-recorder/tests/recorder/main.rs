//! Recordings of capture files, read back.

mod accounts;
mod directories;
mod indexes;
mod look_back;
mod rig;
mod whole;
