//! The object `http`.

use tidewire_protocols::Http;

use crate::{json::Object, model::media_type};

pub(super) fn push_http(object: &mut Object<'_>, http: &Http) {
    text(object, "hostname", http.host.as_deref());
    text(object, "url", http.path.as_deref());
    text(object, "http_user_agent", http.user_agent.as_deref());
    text(object, "http_content_type", http.content_type.as_deref().map(media_type));
    text(object, "http_refer", http.referrer.as_deref());
    text(object, "http_method", http.method.as_deref());
    if let Some(version) = &http.version {
        object.text("protocol", &format!("HTTP/{version}"));
    }
    if let Some(status) = http.status {
        object.number("status", status.into());
    }
    if matches!(http.status, Some(300..=399)) {
        text(object, "redirect", http.location.as_deref());
    }
    object.number("length", http.response_bytes.unwrap_or(0));
}

/// Appends a text that is there.
pub(super) fn text(object: &mut Object<'_>, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        object.text(name, text);
    }
}
