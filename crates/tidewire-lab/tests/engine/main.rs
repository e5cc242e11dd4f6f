//! The engine over captures: several applications at once, evasion cases, honest connections among floods.
#![forbid(unsafe_code)]

mod applications;
mod evasion;
mod fairness;
