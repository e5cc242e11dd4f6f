//! Reports of librdkafka while it is polled: deliveries, errors, figures.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use rdkafka::{
    ClientContext, Message as _, Statistics,
    config::RDKafkaLogLevel,
    error::{KafkaError, RDKafkaErrorCode},
    producer::{DeliveryResult, ProducerContext},
};

/// Reports since the last look.
#[derive(Debug, Default)]
pub(super) struct News {
    /// The tickets of messages that all brokers in sync have.
    pub delivered: Vec<usize>,
    /// A message that no broker will take, and why.
    pub refused: Option<String>,
}

/// Collects reports.
#[derive(Default)]
pub(super) struct Reports {
    news: Mutex<News>,
    last_error: Mutex<Option<String>>,
    sent_bytes: AtomicU64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Reports {
    pub(super) fn take(&self) -> News {
        std::mem::take(&mut *locked(&self.news))
    }

    /// The last error with a broker: librdkafka tries again by itself.
    pub(super) fn last_error(&self) -> Option<String> {
        locked(&self.last_error).clone()
    }

    /// Bytes sent to all brokers.
    pub(super) fn sent_bytes(&self) -> u64 {
        self.sent_bytes.load(Ordering::Relaxed)
    }
}

impl ClientContext for Reports {
    /// Ignores log lines: each that matters is reported as an error as well.
    fn log(&self, _: RDKafkaLogLevel, _: &str, _: &str) {}

    fn stats(&self, statistics: Statistics) {
        self.sent_bytes.store(u64::try_from(statistics.tx_bytes).unwrap_or(0), Ordering::Relaxed);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        // It says only that there was another one for each broker.
        if error.rdkafka_error_code() != Some(RDKafkaErrorCode::AllBrokersDown) {
            *locked(&self.last_error) = Some(reason.to_owned());
        }
    }
}

impl ProducerContext for Reports {
    type DeliveryOpaque = usize;

    fn delivery(&self, result: &DeliveryResult<'_>, ticket: usize) {
        let mut news = locked(&self.news);
        match result {
            Ok(_) => news.delivered.push(ticket),
            Err((error, message)) if news.refused.is_none() => {
                let why = error.rdkafka_error_code().map_or_else(|| error.to_string(), |code| code.to_string());
                news.refused = Some(format!("topic {}, partition {}: {why}", message.topic(), message.partition()));
            }
            Err(_) => {}
        }
    }
}
