//! Handles by which a program emits events.

use std::{ffi::c_int, net::IpAddr, path::Path, time::Duration};

use tidewire_event_socket::{Emitted, Events};
use tidewire_events::{Direction, Event, FlowKey, Severity, StreamPosition, Value};
use tidewire_types::clock::wall_ns;

use crate::{
    error::{Failure, code},
    program::{program, said},
};

/// Where a sensor listens.
pub const SOCKET: &str = "/run/tidewire/events.sock";
/// One wait without end is many of these.
const TICK: Duration = Duration::from_secs(3600);

/// `tidewire_events_t`
pub struct Sender {
    events: Events,
    name: String,
    /// The event that is being made, and whether it has a time.
    event: Option<(Event, bool)>,
}

fn address(text: &str, what: &str) -> Result<IpAddr, Failure> {
    let shown = || text.escape_debug();
    text.parse().map_err(|_| Failure::argument(format!("the {what} '{}' is no IP address", shown())))
}

impl Sender {
    /// Connects. What is not given is what the environment says.
    pub fn open(socket: Option<&str>, name: Option<&str>) -> Result<Self, Failure> {
        let socket = said(socket, "TIDEWIRE_EVENTS").unwrap_or_else(|| SOCKET.into());
        let name = said(name, "TIDEWIRE_NAME").unwrap_or_else(program);
        Ok(Self { events: Events::connect(Path::new(&socket), &name)?, name, event: None })
    }

    /// Begins an event.
    pub fn begin(&mut self, kind: &str, severity: c_int) -> Result<c_int, Failure> {
        let known = u8::try_from(severity).ok().and_then(Severity::by_number);
        let severity = known.ok_or_else(|| Failure::argument(format!("{severity} is no severity: expected 0 to 4")))?;
        let event = Event { analyzer: self.name.clone(), kind: kind.to_owned(), severity, ..Event::default() };
        self.event = Some((event, false));
        Ok(0)
    }

    fn event(&mut self) -> Result<&mut Event, Failure> {
        let begun = self.event.as_mut().map(|event| &mut event.0);
        begun.ok_or_else(|| Failure::argument("no event was begun: call tidewire_event_begin before"))
    }

    pub fn time(&mut self, time_ns: u64) -> Result<c_int, Failure> {
        self.event()?.time_ns = time_ns;
        if let Some((_, has_time)) = &mut self.event {
            *has_time = true;
        }
        Ok(0)
    }

    pub fn key(&mut self, protocol: u32, ends: [(&str, u32); 2]) -> Result<c_int, Failure> {
        let protocol = u8::try_from(protocol);
        let protocol = protocol.map_err(|_| Failure::argument("an IP protocol is at most 255"))?;
        let port = |port: u32| u16::try_from(port).map_err(|_| Failure::argument("a port is at most 65,535"));
        let [(client, client_port), (server, server_port)] = ends;
        let key = FlowKey {
            protocol,
            client_addr: address(client, "client's address")?,
            client_port: port(client_port)?,
            server_addr: address(server, "server's address")?,
            server_port: port(server_port)?,
        };
        self.event()?.key = Some(key);
        Ok(0)
    }

    pub fn stream(&mut self, stream: u64) -> Result<c_int, Failure> {
        self.event()?.stream = Some(stream);
        Ok(0)
    }

    pub fn place(&mut self, direction: c_int, offset: u64) -> Result<c_int, Failure> {
        let direction = match direction {
            0 => Direction::ClientToServer,
            1 => Direction::ServerToClient,
            _ => return Err(Failure::argument(format!("{direction} is no direction: expected 0 or 1"))),
        };
        self.event()?.place = Some(StreamPosition { direction, offset });
        Ok(0)
    }

    pub fn excerpt(&mut self, data: &[u8]) -> Result<c_int, Failure> {
        self.event()?.excerpt = Some(data.to_vec());
        Ok(0)
    }

    /// Adds a field.
    pub fn field(&mut self, name: &str, value: Value) -> Result<c_int, Failure> {
        self.event()?.fields.push(tidewire_events::Field { name: name.to_owned(), value });
        Ok(0)
    }

    pub fn address_field(&mut self, name: &str, text: &str) -> Result<c_int, Failure> {
        let value = Value::Addr(address(text, "value")?);
        self.field(name, value)
    }

    /// Emits the event that was begun. It is kept where there was no room in time.
    pub fn emit(&mut self) -> Result<c_int, Failure> {
        let Some((mut event, has_time)) = self.event.take() else { return self.event().map(|_| 0) };
        if !has_time {
            event.time_ns = wall_ns();
        }
        let emitted = self.events.emit(&event).map_err(Failure::from);
        if emitted.as_ref().is_err_and(|failure| failure.code == code::TIMEOUT) {
            self.event = Some((event, has_time));
        }
        emitted.map(|()| 0)
    }

    /// As [`emit`](Self::emit) without waiting. 1: there was no room.
    pub fn try_emit(&mut self) -> Result<c_int, Failure> {
        let Some((mut event, has_time)) = self.event.take() else { return self.event().map(|_| 0) };
        if !has_time {
            event.time_ns = wall_ns();
        }
        Ok(match self.events.try_emit(&event)? {
            Emitted::Sent => 0,
            Emitted::Full => 1,
        })
    }

    /// Emits an event with one field.
    pub fn simple(&mut self, kind: &str, severity: c_int, text: Option<&str>) -> Result<c_int, Failure> {
        self.begin(kind, severity)?;
        if let Some(text) = text {
            self.field("text", Value::Text(text.to_owned()))?;
        }
        let emitted = self.emit();
        self.event = None;
        emitted
    }

    /// Emits an event that is JSON.
    pub fn json(&mut self, json: &str) -> Result<c_int, Failure> {
        let failed = |error: tidewire_events::JsonError| Failure::argument(format!("no event: {error}"));
        let event = Event::from_json(json, wall_ns()).map_err(failed)?;
        self.events.emit(&event)?;
        Ok(0)
    }

    /// Waits until all is durable.
    pub fn flush(&mut self, milliseconds: c_int) -> Result<c_int, Failure> {
        match u64::try_from(milliseconds) {
            Ok(most) => self.events.flush(Duration::from_millis(most))?,
            Err(_) => loop {
                match self.events.flush(TICK) {
                    Err(tidewire_event_socket::EventsError::Timeout { .. }) => {}
                    flushed => break flushed?,
                }
            },
        }
        Ok(0)
    }
}
