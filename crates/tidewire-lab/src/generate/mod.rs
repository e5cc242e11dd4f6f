//! Generators of captures: lossy paths, many connections at once, and worst cases.

mod concurrent;
mod impair;
mod worst;

pub use concurrent::concurrent;
pub use impair::{Impaired, impair};
pub use worst::{Worst, worst};
