//! What a sensor is configured to do. docs/sensor.md has every key.

mod types;

pub use types::{
    AnalyzerConfig, CaptureConfig, CaptureInput, ClassConfig, Distribution, QueueConfig, Restart, SensorConfig,
    SlowReaders, Unit,
};
