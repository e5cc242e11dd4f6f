//! The object `http`.

use tidewire_protocols::Http;

use crate::{
    json::{Key, Object, member},
    model::media_type,
};

pub(super) fn push_http(object: &mut Object<'_>, http: &Http) {
    text(object, member!("hostname"), http.host.as_deref());
    if let Some(port) = http.port {
        object.number(member!("http_port"), port.into());
    }
    text(object, member!("url"), http.path.as_deref());
    text(object, member!("http_user_agent"), http.user_agent.as_deref());
    text(object, member!("http_content_type"), http.content_type.as_deref().map(media_type));
    text(object, member!("http_refer"), http.referrer.as_deref());
    text(object, member!("http_method"), http.method.as_deref());
    if let Some(version) = &http.version {
        match &**version {
            "1.1" => object.plain(member!("protocol"), "HTTP/1.1"),
            "1.0" => object.plain(member!("protocol"), "HTTP/1.0"),
            // A request that named none.
            "0.9" => {}
            other => object.text(member!("protocol"), &format!("HTTP/{other}")),
        }
    }
    if let Some(status) = http.status {
        object.number(member!("status"), status.into());
    }
    text(object, member!("redirect"), http.location.as_deref());
    object.number(member!("length"), http.response_bytes.unwrap_or(0));
}

/// Appends a text that is there.
pub(super) fn text(object: &mut Object<'_>, name: impl Key, text: Option<&str>) {
    if let Some(text) = text {
        object.text(name, text);
    }
}
