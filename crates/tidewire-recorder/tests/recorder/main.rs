//! Recordings of capture files, read back.

mod accounts;
mod directories;
mod look_back;
mod rig;
mod whole;
