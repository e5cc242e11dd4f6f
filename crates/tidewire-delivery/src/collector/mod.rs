//! The collector: receives events from many sensors, and stores them by sensor.

mod bounds;
mod log;
mod sensors;
mod server;
mod session;
mod settings;
mod shared;
mod status;

pub use server::{CollectError, Listening, Server};
pub use settings::CollectSettings;
pub use status::{CollectStatus, SensorFigures};
