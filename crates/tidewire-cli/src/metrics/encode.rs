//! Families of figures as text (OpenMetrics 1.0).

use std::fmt;

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, NoLabelSet, text},
    metrics::MetricType,
    registry::Registry,
};

use super::{Family, Kind};

/// The media type of [`encode`]'s text.
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Debug)]
struct All(Vec<Family>);

impl Collector for All {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for Family { name, help, kind, samples } in &self.0 {
            let form = match kind {
                Kind::Counter => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
            };
            let mut family = encoder.encode_descriptor(name, help, None, form)?;
            for sample in samples {
                let mut one = family.encode_family(&sample.labels)?;
                match kind {
                    Kind::Counter => one.encode_counter::<NoLabelSet, _, f64>(&sample.value, None)?,
                    Kind::Gauge => one.encode_gauge(&sample.value)?,
                }
            }
        }
        Ok(())
    }
}

/// The text of some families; empty where they cannot be written, which a `String` never refuses.
pub fn encode(families: Vec<Family>) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(All(families)));
    let mut text = String::new();
    match text::encode(&mut text, &registry) {
        Ok(()) => text,
        Err(_) => String::new(),
    }
}
