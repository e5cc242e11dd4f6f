//! Several applications over one input.
//!
//! A handler that hosts others, each with its own filter, cutoff, chunks and classes. The engine runs once with the
//! union of their needs; each application gets the calls that it would get alone.

mod application;
mod expressions;
mod hosted;

use std::marker::PhantomData;

use tidewire_core::{
    Chunk, Datagram, EndReason, Frame, Gap, Handler, Join, Membership, OutsidePacket, Stream, StreamPacket,
    Subscription, Unfinished,
};

use crate::{Error, SettingError, Timestamp};
pub use application::{Application, Delivered};
use expressions::Expressions;
pub use hosted::States;
use hosted::{Hosted, Occupant};

/// Most applications of one run: what each delivery costs grows with them.
pub const APPLICATIONS_MAX: usize = 256;

/// Several applications that share one run: packets are read, decoded, tracked and reassembled once, and delivered to each as
/// its own settings say.
///
/// It is a [`Handler`] itself, so it runs wherever one does: [`Capture::run_with`](crate::Capture::run_with), over files and
/// interfaces alike. The engine does the union of what its applications need: the greatest cutoff, the highest priority.
/// Streams that no application wants are tracked and counted only.
///
#[cfg_attr(feature = "filter", doc = "```")]
#[cfg_attr(not(feature = "filter"), doc = "```ignore")]
/// use tidewire::{Application, Applications, Capture, Chunk, Handler, Stream};
///
/// #[derive(Default)]
/// struct Bytes(Vec<u8>);
///
/// impl Handler for Bytes {
///     type Data = ();
///     fn data(&mut self, _: &mut Stream<'_, ()>, chunk: Chunk<'_>) {
///         self.0.extend_from_slice(chunk.fresh());
///     }
/// }
///
/// # fn main() -> Result<(), tidewire::Error> {
/// # let capture: &[u8] = include_bytes!("../../tests/corpus/hello/hello.pcap");
/// let mut applications = Applications::new();
/// let all = applications.add(Application::new(Bytes::default()))?;
/// let beginnings = applications.add(Application::new(Bytes::default()).filter("tcp port 80").cutoff(2))?;
/// let others = applications.add(Application::new(Bytes::default()).filter("not port 80"))?;
/// let outcome = Capture::reader(capture).run_with(applications)?;
/// let applications = outcome.handler();
/// assert_eq!(applications.get(all).0, b"hellogood day");
/// assert_eq!(applications.get(beginnings).0, b"hego");
/// assert_eq!(applications.get(others).0, b"");
/// # Ok(())
/// # }
/// ```
///
/// # Which application gets a stream
///
/// A filter is applied once for each stream, to its first packet: if that matches, the stream is the application's,
/// whole, with both directions. (This differs from `Capture::filter`, which drops single
/// packets before anyone sees them and stands before all applications here. Where an expression says the same of all
/// packets of a stream, as `port 80` or `host 192.0.2.1` do, both come to the same.)
///
/// # What is separate for each application
///
/// Calls and all that they carry, cutoffs, chunks, overlap, flush timeouts, kept chunks, priorities as it sees and sets
/// them, the list of gaps, [`delivered_bytes`](crate::DirectionStats::delivered_bytes),
/// [`cutoff_bytes`](crate::DirectionStats::cutoff_bytes), [`chunks`](crate::DirectionStats::chunks), and its
/// [`Handler::Data`]. Each gets, call for call, what it would get alone. What a run is bounded by is shared: memory for
/// out-of-order bytes and chunks, the tables, and what is shed by priority (a stream has the highest that any of its
/// applications gives it).
///
/// Three things an application can notice of the others. Bytes beyond its own cutoff are compared on their account, so
/// that conflicts and anomalies there are reported as for the application with the larger cutoff. If it raises its cutoff while
/// bytes beyond the old one wait behind a hole, it gets them if another application had wanted them, instead of a gap. And with
/// packets (below) a stream is opened for every application with its first packet, a lone SYN too.
///
/// The same fields of the [`Capture`](crate::Capture) (cutoff, classes, chunks, overlap, flush timeout) are not used;
/// all others count for everyone.
///
/// # Packets
///
/// Applications with [`Handler::PACKETS`] need `Applications::with_packets()`; adding one to others does not compile.
pub struct Applications<const PACKETS: bool = false> {
    members: Vec<Box<dyn Hosted>>,
    expressions: Expressions,
    current: usize,
    place: usize,
}

/// Names an application that was added, for [`Applications::get`].
pub struct ApplicationId<A> {
    index: usize,
    of: PhantomData<fn() -> A>,
}

impl<A> Clone for ApplicationId<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for ApplicationId<A> {}

impl<A> ApplicationId<A> {
    /// Its index, in the order of addition, from 0.
    #[must_use]
    pub fn index(self) -> usize {
        self.index
    }
}

impl Applications {
    /// No application yet; applications with packets cannot be added.
    #[must_use]
    pub fn new() -> Self {
        Self::empty()
    }
}

impl Applications<true> {
    /// No application yet; applications with packets can be added.
    #[must_use]
    pub fn with_packets() -> Self {
        Self::empty()
    }
}

impl Default for Applications {
    fn default() -> Self {
        Self::new()
    }
}

impl<const PACKETS: bool> Applications<PACKETS> {
    fn empty() -> Self {
        Self { members: Vec::new(), expressions: Expressions::default(), current: 0, place: 0 }
    }

    /// Adds an application.
    ///
    /// # Errors
    /// [`Error`]: an expression that is not valid, settings that contradict each other, too many applications or
    /// different expressions.
    pub fn add<A>(&mut self, application: Application<A>) -> Result<ApplicationId<A>, Error>
    where
        A: Handler<Data: 'static> + Send + 'static,
    {
        const { assert!(PACKETS || !A::PACKETS, "an application that wants packets needs Applications::with_packets()") };
        const { assert!(!A::APPLICATIONS, "applications are not one application of others") };
        let index = self.members.len();
        if index == APPLICATIONS_MAX {
            return Err(SettingError::Applications { limit: APPLICATIONS_MAX }.into());
        }
        let occupant = Occupant::new(application, &mut self.expressions)?;
        self.members.push(Box::new(occupant));
        Ok(ApplicationId { index, of: PhantomData })
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether no application was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// An application's handler.
    ///
    /// # Panics
    /// Where `id` was given out by other `Applications` that hold something else in its place.
    #[must_use]
    pub fn get<A: Handler<Data: 'static> + Send + 'static>(&self, id: ApplicationId<A>) -> &A {
        let occupant = self.members.get(id.index).and_then(|member| member.as_any().downcast_ref::<Occupant<A>>());
        &occupant.expect("an id of these applications").handler
    }

    /// An application's handler.
    ///
    /// # Panics
    /// As [`get`](Self::get).
    pub fn get_mut<A: Handler<Data: 'static> + Send + 'static>(&mut self, id: ApplicationId<A>) -> &mut A {
        let member = self.members.get_mut(id.index);
        let occupant = member.and_then(|member| member.as_any_mut().downcast_mut::<Occupant<A>>());
        &mut occupant.expect("an id of these applications").handler
    }

    /// The handlers of one type, in the order of addition.
    pub fn handlers<A: Handler<Data: 'static> + Send + 'static>(&self) -> impl Iterator<Item = &A> {
        let members = self.members.iter();
        members.filter_map(|member| Some(&member.as_any().downcast_ref::<Occupant<A>>()?.handler))
    }

    /// Counts of what was delivered to each, in the order of addition.
    pub fn delivered(&self) -> impl Iterator<Item = (&str, Delivered)> {
        self.members.iter().map(|member| (member.name(), member.delivered()))
    }

    #[inline]
    fn turned(&mut self) -> Option<(&mut (dyn Hosted + 'static), usize)> {
        let place = self.place;
        self.members.get_mut(self.current).map(|member| (&mut **member, place))
    }
}

impl<const PACKETS: bool> Membership for Applications<PACKETS> {
    fn subscriptions(&self) -> Vec<Subscription> {
        self.members.iter().map(|member| member.subscription()).collect()
    }

    fn marks(&mut self, frame: &Frame, bytes: &[u8]) -> u64 {
        self.expressions.matching(frame.link, bytes, frame.wire_bytes)
    }

    fn join(&mut self, marks: u64, joins: &mut Vec<Join>) {
        let members = self.members.iter().enumerate();
        joins.extend(members.filter_map(|(subscriber, member)| Some(Join { subscriber, class: member.class(marks)? })));
    }

    fn select(&mut self, joined: usize, place: usize) {
        (self.current, self.place) = (joined, place);
    }

    fn wants_visits(&self) -> bool {
        self.members.iter().any(|member| member.wants_visits())
    }
}

impl<const PACKETS: bool> Handler for Applications<PACKETS> {
    type Data = States;
    const PACKETS: bool = PACKETS;
    const DATAGRAMS: bool = true;
    const UNFINISHED: bool = true;
    const OUTSIDE: bool = true;
    const VISITS: bool = true;
    const APPLICATIONS: bool = true;

    fn membership(&mut self) -> Option<&mut dyn Membership> {
        Some(self)
    }

    fn open(&mut self, stream: &mut Stream<'_, States>) {
        let Some((member, place)) = self.turned() else { return };
        // Joins are opened in their order, and all of them are: each finds its state in its place.
        let states = stream.data();
        states.resize_with(states.len().max(place), || Box::new(()));
        states.push(member.state());
        member.open(stream, place);
    }

    fn data(&mut self, stream: &mut Stream<'_, States>, chunk: Chunk<'_>) {
        if let Some((member, place)) = self.turned() {
            member.data(stream, place, chunk);
        }
    }

    fn gap(&mut self, stream: &mut Stream<'_, States>, gap: Gap) {
        if let Some((member, place)) = self.turned() {
            member.gap(stream, place, gap);
        }
    }

    fn packet(&mut self, stream: &mut Stream<'_, States>, packet: StreamPacket<'_>) {
        if let Some((member, place)) = self.turned() {
            member.packet(stream, place, packet);
        }
    }

    fn visit(&mut self, stream: &mut Stream<'_, States>, clock: Timestamp) {
        if let Some((member, place)) = self.turned() {
            member.visit(stream, place, clock);
        }
    }

    fn close(&mut self, stream: &mut Stream<'_, States>, reason: EndReason) {
        if let Some((member, place)) = self.turned() {
            member.close(stream, place, reason);
        }
    }

    /// Datagrams belong to no stream yet: every application with datagrams gets all.
    fn datagram(&mut self, datagram: &Datagram<'_>) {
        for member in &mut self.members {
            member.datagram(datagram);
        }
    }

    /// As with datagrams: filters are not applied, because the stream may not have been opened.
    fn unfinished(&mut self, unfinished: &Unfinished) {
        for member in &mut self.members {
            member.unfinished(unfinished);
        }
    }

    /// Filters are applied to the packet itself.
    fn outside(&mut self, packet: OutsidePacket<'_>) {
        if !self.members.iter().any(|member| member.wants_outside()) {
            return;
        }
        let marks = self.expressions.matching(packet.link, packet.bytes, packet.wire_bytes);
        for member in &mut self.members {
            member.outside(marks, packet);
        }
    }
}
