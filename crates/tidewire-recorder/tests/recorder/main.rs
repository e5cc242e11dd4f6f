//! Recordings of capture files, read back.

mod accounts;
mod directories;
mod rig;
mod whole;
