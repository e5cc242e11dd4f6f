//! The class of a new stream.

use super::{Engine, delivery::Delivery};
use crate::{Class, Handler, connection::Connection, flow::half, packet::Packet};

impl<H: Handler> Engine<H> {
    pub(crate) fn classify(&mut self, packet: &Packet<'_>) -> Class {
        let mut class = match &mut self.classifier {
            Some(classifier) => classifier.classify(packet.frame, packet.bytes),
            None => Class::NONE,
        };
        if H::APPLICATIONS
            && let Some(membership) = self.outputs.handler.membership()
        {
            class.marks = membership.marks(packet.frame, packet.bytes);
        }
        class
    }
}

impl<H: Handler> Delivery<'_, H> {
    /// Applies the class of a new stream.
    pub(crate) fn apply(&mut self, connection: &mut Connection<'_>, class: Class) {
        if H::APPLICATIONS {
            self.outputs.subscribers.marks = class.marks;
            return;
        }
        let flow = &mut *connection.flow;
        if let Some(priority) = class.priority {
            flow.priority = priority.min(connection.shared.config.priorities.saturating_sub(1));
        }
        if let Some(cutoff) = class.cutoff {
            flow.slow_state().cutoff = cutoff.0;
            for half in &mut flow.halves {
                half.flags |= half::OWN_CUTOFF;
            }
        }
    }
}
