//! An application without its type.

use std::any::Any;

use tidewire_core::{
    Chunk, Class, Datagram, DirectionCutoff, EndReason, Gap, Handler, OutsidePacket, Stream, StreamPacket,
    Subscription, Unfinished,
};

use super::{Application, Delivered, expressions::Expressions};
use crate::{Error, Timestamp};

/// The states that a stream's applications keep of it, in the order of its joins.
pub type States = Vec<Box<dyn Any>>;

/// The calls of a [`Handler`], for a stream that keeps the state of several.
pub(super) trait Hosted: Send {
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
    fn name(&self) -> &str;
    fn delivered(&self) -> Delivered;
    fn subscription(&self) -> Subscription;
    /// The application's settings for a stream with these marks; `None`: it does not want the stream.
    fn class(&self, marks: u64) -> Option<Class>;
    /// A new stream's state.
    fn state(&self) -> Box<dyn Any>;
    fn open(&mut self, stream: &mut Stream<'_, States>, place: usize);
    fn data(&mut self, stream: &mut Stream<'_, States>, place: usize, chunk: Chunk<'_>);
    fn gap(&mut self, stream: &mut Stream<'_, States>, place: usize, gap: Gap);
    fn packet(&mut self, stream: &mut Stream<'_, States>, place: usize, packet: StreamPacket<'_>);
    fn wants_visits(&self) -> bool;
    fn visit(&mut self, stream: &mut Stream<'_, States>, place: usize, clock: Timestamp);
    fn close(&mut self, stream: &mut Stream<'_, States>, place: usize, reason: EndReason);
    fn datagram(&mut self, datagram: &Datagram<'_>);
    fn unfinished(&mut self, unfinished: &Unfinished);
    /// Whether [`outside`](Self::outside) has an effect.
    fn wants_outside(&self) -> bool;
    fn outside(&mut self, marks: u64, packet: OutsidePacket<'_>);
}

/// Settings that a class gives to streams with its mark.
struct Marked {
    mark: u64,
    priority: Option<u8>,
    cutoff: Option<DirectionCutoff>,
}

/// A handler in its place among others.
pub(super) struct Occupant<A> {
    pub(super) handler: A,
    name: String,
    /// `None`: all streams.
    wanted: Option<u64>,
    classes: Vec<Marked>,
    priority: u8,
    subscription: Subscription,
    delivered: Delivered,
}

impl<A> Occupant<A> {
    pub(super) fn new(mut application: Application<A>, expressions: &mut Expressions) -> Result<Self, Error> {
        application.settle()?;
        let Application { handler, name, filter, classes, priority, subscription } = application;
        let wanted = filter.map(|filter| expressions.mark(&filter)).transpose()?;
        let classes = classes.iter().map(|rule| {
            let mark = expressions.mark(&rule.expression)?;
            Ok(Marked { mark, priority: rule.priority, cutoff: rule.cutoff })
        });
        let classes = classes.collect::<Result<_, Error>>()?;
        Ok(Self { handler, name, wanted, classes, priority, subscription, delivered: Delivered::default() })
    }
}

/// The stream as one application sees it.
#[inline]
fn own<'b, D: 'static>(stream: &'b mut Stream<'_, States>, place: usize) -> Option<Stream<'b, D>> {
    stream.lend(|states| states.get_mut(place)?.downcast_mut::<D>())
}

impl<A: Handler<Data: 'static> + Send + 'static> Hosted for Occupant<A> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn delivered(&self) -> Delivered {
        self.delivered
    }

    fn subscription(&self) -> Subscription {
        self.subscription
    }

    fn class(&self, marks: u64) -> Option<Class> {
        if self.wanted.is_some_and(|wanted| marks & wanted == 0) {
            return None;
        }
        let mut class = Class::NONE;
        for marked in self.classes.iter().filter(|marked| marks & marked.mark != 0) {
            class.priority = class.priority.or(marked.priority);
            class.cutoff = class.cutoff.or(marked.cutoff);
        }
        class.priority = class.priority.or(Some(self.priority));
        Some(class)
    }

    fn state(&self) -> Box<dyn Any> {
        Box::new(A::Data::default())
    }

    fn open(&mut self, stream: &mut Stream<'_, States>, place: usize) {
        self.delivered.streams_opened += 1;
        if let Some(mut stream) = own(stream, place) {
            self.handler.open(&mut stream);
        }
    }

    fn data(&mut self, stream: &mut Stream<'_, States>, place: usize, chunk: Chunk<'_>) {
        self.delivered.chunks += 1;
        self.delivered.bytes += chunk.fresh().len() as u64;
        if let Some(mut stream) = own(stream, place) {
            self.handler.data(&mut stream, chunk);
        }
    }

    fn gap(&mut self, stream: &mut Stream<'_, States>, place: usize, gap: Gap) {
        self.delivered.gap_bytes += gap.bytes;
        if let Some(mut stream) = own(stream, place) {
            self.handler.gap(&mut stream, gap);
        }
    }

    fn packet(&mut self, stream: &mut Stream<'_, States>, place: usize, packet: StreamPacket<'_>) {
        if A::PACKETS
            && let Some(mut stream) = own(stream, place)
        {
            self.handler.packet(&mut stream, packet);
        }
    }

    fn wants_visits(&self) -> bool {
        A::VISITS
    }

    fn visit(&mut self, stream: &mut Stream<'_, States>, place: usize, clock: Timestamp) {
        if A::VISITS
            && let Some(mut stream) = own(stream, place)
        {
            self.handler.visit(&mut stream, clock);
        }
    }

    fn close(&mut self, stream: &mut Stream<'_, States>, place: usize, reason: EndReason) {
        self.delivered.streams_closed += 1;
        if let Some(mut stream) = own(stream, place) {
            self.handler.close(&mut stream, reason);
        }
    }

    fn datagram(&mut self, datagram: &Datagram<'_>) {
        if A::DATAGRAMS {
            self.handler.datagram(datagram);
        }
    }

    fn unfinished(&mut self, unfinished: &Unfinished) {
        if A::UNFINISHED {
            self.handler.unfinished(unfinished);
        }
    }

    fn wants_outside(&self) -> bool {
        A::OUTSIDE
    }

    fn outside(&mut self, marks: u64, packet: OutsidePacket<'_>) {
        if A::OUTSIDE && self.wanted.is_none_or(|wanted| marks & wanted != 0) {
            self.handler.outside(packet);
        }
    }
}
