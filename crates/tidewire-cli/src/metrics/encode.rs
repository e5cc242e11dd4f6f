//! Encodes metric families: OpenMetrics 1.0, and the older Prometheus text format 0.0.4.

use std::fmt::{self, Write as _};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text},
    metrics::MetricType,
    registry::Registry,
};

use super::{Family, MetricKind, families::Sample};

/// Media type of [`encode`].
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Media type of [`encode_plain`].
pub const PLAIN_MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

#[derive(Debug)]
struct All(Vec<Family>);

impl Collector for All {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for Family { name, help, kind, samples } in &self.0 {
            let form = match kind {
                MetricKind::Counter => MetricType::Counter,
                MetricKind::Gauge => MetricType::Gauge,
            };
            let mut family = encoder.encode_descriptor(name, help, None, form)?;
            for Sample { labels, value } in samples {
                let labelled = if labels.is_empty() { None } else { Some(family.encode_family(labels)?) };
                let one = match labelled {
                    Some(mut one) => write(&mut one, *kind, *value),
                    None => write(&mut family, *kind, *value),
                };
                one?;
            }
        }
        Ok(())
    }
}

fn write(figure: &mut MetricEncoder<'_>, kind: MetricKind, value: f64) -> fmt::Result {
    match kind {
        MetricKind::Counter => figure.encode_counter::<NoLabelSet, _, f64>(&value, None),
        MetricKind::Gauge => figure.encode_gauge(&value),
    }
}

/// Encodes families; a `String` never fails.
pub fn encode(families: Vec<Family>) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(All(families)));
    let mut text = String::new();
    match text::encode(&mut text, &registry) {
        Ok(()) => text,
        Err(_) => String::new(),
    }
}

/// Encodes families in the Prometheus format before OpenMetrics: names of counters always end in `_total`, and there is no end
/// mark.
pub fn encode_plain(families: &[Family]) -> String {
    let mut text = String::new();
    for Family { name, help, kind, samples } in families {
        let (suffix, form) = match kind {
            MetricKind::Counter => ("_total", "counter"),
            MetricKind::Gauge => ("", "gauge"),
        };
        let _ = writeln!(text, "# HELP {name}{suffix} {help}.\n# TYPE {name}{suffix} {form}");
        for Sample { labels, value } in samples {
            text.push_str(name);
            text.push_str(suffix);
            for (at, (label, value)) in labels.iter().enumerate() {
                let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
                let _ = write!(text, "{}{label}=\"{escaped}\"", if at == 0 { '{' } else { ',' });
            }
            let _ = writeln!(text, "{} {value}", if labels.is_empty() { "" } else { "}" });
        }
    }
    text
}
