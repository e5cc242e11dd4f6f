//! The engine's values as events have them.

use tidewire::FlowKey;
use tidewire_events as events;

/// A key.
pub(crate) fn key(key: &FlowKey) -> events::FlowKey {
    let port = |port: u16| if key.has_ports() { port } else { 0 };
    events::FlowKey {
        protocol: key.proto,
        client_addr: key.client.address,
        client_port: port(key.client.port),
        server_addr: key.server.address,
        server_port: port(key.server.port),
    }
}

/// The kind of an event of an anomaly by its name.
pub(crate) fn anomaly(name: &str) -> String {
    format!("anomaly.{name}")
}
