//! `tidewire sensor`: one capture for many programs.

pub mod capture;
