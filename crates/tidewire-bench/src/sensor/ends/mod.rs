//! The two ends of a measured queue, each a process of its own (`queue-loop`).

mod clock;
mod latency;
mod publishing;
mod reading;

pub use latency::Latency;
pub use publishing::{Published, Publishing};
pub use reading::{Figures, Reading};
