//! Selects the media type of an answer (RFC 9110 section 12.5.1).

/// Whether `text/plain` is preferred to OpenMetrics, the default for clients that accept both equally, or name neither.
pub fn prefers_plain(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let fields = text.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
    let accepted: Vec<&str> = fields
        .filter(|(name, _)| name.eq_ignore_ascii_case("accept"))
        .flat_map(|(_, ranges)| ranges.split(','))
        .collect();
    quality(&accepted, "text", "plain") > quality(&accepted, "application", "openmetrics-text")
}

/// The quality of a media type in thousandths: that of the most specific matching range.
fn quality(accepted: &[&str], kind: &str, subtype: &str) -> u32 {
    let mut best = None;
    for range in accepted {
        let mut parts = range.split(';').map(str::trim);
        let Some((range_kind, range_subtype)) = parts.next().and_then(|name| name.split_once('/')) else { continue };
        let specific = match (range_kind, range_subtype) {
            ("*", "*") => 0,
            (one, "*") if one.eq_ignore_ascii_case(kind) => 1,
            (one, two) if one.eq_ignore_ascii_case(kind) && two.eq_ignore_ascii_case(subtype) => 2,
            _ => continue,
        };
        let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        let weight = weight.map_or(1.0, |weight| weight.parse::<f64>().unwrap_or(0.0).clamp(0.0, 1.0));
        let candidate = (specific, (weight * 1000.0) as u32);
        // Of equal ranges (with other parameters) the highest quality counts.
        if best.is_none_or(|best| candidate > best) {
            best = Some(candidate);
        }
    }
    best.map_or(0, |best| best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_format_is_answered() {
        let prefers = |accept: &str| prefers_plain(format!("GET /metrics HTTP/1.1\r\n{accept}\r\n\r\n").as_bytes());
        for plain in [
            "Accept: text/plain",
            "accept:TEXT/PLAIN;version=0.0.4",
            "Accept: text/*",
            "Accept: application/openmetrics-text;q=0.3, text/plain;version=0.0.4;q=0.5",
            "Accept: text/plain;q=0.4\r\nAccept: */*;q=0.1",
            "Accept: */*, application/openmetrics-text;q=0",
        ] {
            assert!(prefers(plain), "{plain}");
        }
        // Requests of Prometheus, curl and a browser; and invalid ones.
        for open in [
            "Accept: application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4,*/*;q=0.1",
            "Accept: */*",
            "Accept: text/html,application/xml;q=0.9,*/*;q=0.8",
            "Host: text/plain",
            "Accept: text/plain;q=0",
            "Accept: text/plain;q=x",
            "Accept: ,;/",
            "",
        ] {
            assert!(!prefers(open), "{open}");
        }
    }
}
