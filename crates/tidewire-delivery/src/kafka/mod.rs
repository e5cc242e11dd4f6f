//! A Kafka topic as a destination.
//!
//! Librdkafka sends, from threads of its own; a record counts as delivered when the brokers have acknowledged each of its messages, and
//! all records before it. What was sent and not acknowledged before a crash is sent again, with the same sequence: `tw-seq` grows within
//! each partition but for these repetitions, so that a consumer drops what is not greater than the last one it has.

#[cfg(any(feature = "kafka", test))]
mod key;
#[cfg(any(feature = "kafka", test))]
mod messages;
#[cfg(feature = "kafka")]
mod reports;
mod settings;
#[cfg(feature = "kafka")]
mod topic;

#[cfg(test)]
mod tests;

pub use settings::{COMPRESSIONS, KafkaSettings, KafkaTls, MESSAGE_BYTES_MAX, MESSAGE_BYTES_MIN};

use crate::destination::Destination;

/// A topic, for the destination of this name.
///
/// # Errors
/// The settings have a mistake, or this build has no Kafka.
#[cfg_attr(not(feature = "kafka"), allow(unused_variables, reason = "nothing to make it of"))]
pub(crate) fn destination(settings: KafkaSettings, name: &str) -> Result<Box<dyn Destination>, String> {
    settings.check()?;
    #[cfg(feature = "kafka")]
    return topic::Topic::new(settings, name).map(|topic| Box::new(topic) as Box<dyn Destination>);
    #[cfg(not(feature = "kafka"))]
    Err(settings::WITHOUT.into())
}
