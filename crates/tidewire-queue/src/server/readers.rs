//! State of a queue and its readers at a server.

use std::{
    cell::Cell,
    os::fd::{AsFd as _, OwnedFd},
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    hold::Hold,
    members::{READERS_MAX, ReaderSlot, generation},
    page::{Page, Progress, Waits},
    protocol::{Answer, Refusal, Request},
    publisher::{Offer, PublisherCounts},
    socket::send,
};

/// Streams publish their opens again at most so often, whatever readers do.
const OPENS_TIME: Duration = Duration::from_millis(100);

/// Changes that a member of a group outlives, at most: generations are compared modulo 2^32.
const CHANGES_MAX: u64 = 1 << 30;

/// How a queue is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueSettings {
    /// Readers at a time, 1 to [`READERS_MAX`].
    pub readers_max: usize,
    /// Whether the publisher waits for slow readers ([`Publisher::publish_stream`](crate::Publisher::publish_stream)); `None`: they
    /// lose records.
    pub hold: Option<Hold>,
}

impl QueueSettings {
    /// With so many readers at a time at most.
    #[must_use]
    pub fn readers_max(self, readers_max: usize) -> Self {
        Self { readers_max, ..self }
    }

    /// With a publisher that waits for slow readers, or does not.
    #[must_use]
    pub fn hold(self, hold: Option<Hold>) -> Self {
        Self { hold, ..self }
    }
}

impl Default for QueueSettings {
    fn default() -> Self {
        Self { readers_max: READERS_MAX, hold: None }
    }
}

/// Who a reader is, and how far it came by its own account.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReaderStatus {
    /// The queue.
    pub queue: String,
    /// Name that it chose.
    pub name: String,
    /// Its group.
    pub group: Option<String>,
    /// Its process; 0: not known, because it has no number where the server runs.
    pub process: i32,
    /// Its user.
    pub user: u32,
    /// Its place, from 0.
    pub place: u32,
    /// The first record it could read.
    pub first: u64,
    /// Its own report; not to be trusted.
    pub progress: Progress,
    /// Whether it ever said so: otherwise it may have read, an unknown number.
    pub has_said: bool,
}

/// A queue that is served.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServedStatus {
    /// Its name.
    pub name: String,
    /// Records published.
    pub published: u64,
    /// Counters of its publisher.
    pub counts: PublisherCounts,
    /// Its readers, by place.
    pub readers: Vec<ReaderStatus>,
}

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asker {
    pub process: i32,
    pub user: u32,
}

#[derive(Debug)]
struct Reader {
    socket: OwnedFd,
    page: Arc<Page>,
    status: ReaderStatus,
    /// The figures that were whole when they were looked at last: what is shown never goes back.
    progress: Cell<Progress>,
    /// Position published when it was woken last.
    woken_at: u64,
    /// The change by which it was attached.
    attached_at: u64,
    /// Its losses when opens were last requested on its account.
    lost: u64,
}

impl Reader {
    fn status(&self) -> ReaderStatus {
        ReaderStatus { progress: self.progress(), has_said: self.page.has_progress(), ..self.status.clone() }
    }

    /// Its figures; those of before, while it is changing them.
    fn progress(&self) -> Progress {
        if let Some(progress) = self.page.progress() {
            self.progress.set(progress);
        }
        self.progress.get()
    }
}

#[derive(Debug)]
pub(super) struct Served {
    pub name: String,
    offer: Offer,
    settings: QueueSettings,
    /// By place.
    readers: [Option<Reader>; READERS_MAX],
    /// When streams were last requested to publish their opens again; and whether they are to be, as soon as they may.
    opens: (Option<Instant>, bool),
    /// [`Offer::state`] when it was last looked at.
    state: u64,
}

impl Served {
    pub(super) fn new(name: &str, offer: Offer, settings: QueueSettings) -> Self {
        offer.hold(settings.hold);
        Self {
            name: name.to_owned(),
            offer,
            settings,
            readers: std::array::from_fn(|_| None),
            opens: (None, false),
            state: 0,
        }
    }

    /// Places that are taken, with their sockets.
    pub(super) fn sockets(&self) -> impl Iterator<Item = (usize, &OwnedFd)> {
        self.readers.iter().enumerate().filter_map(|(at, reader)| Some((at, &reader.as_ref()?.socket)))
    }

    pub(super) fn status(&self) -> ServedStatus {
        ServedStatus {
            name: self.name.clone(),
            published: self.offer.published(),
            counts: self.offer.counts(),
            readers: self.readers.iter().flatten().map(Reader::status).collect(),
        }
    }

    /// The number of a group among those of the readers: that of its members, or the least that none has.
    fn group(&self, name: &str) -> u32 {
        let table = self.offer.members().table();
        let group = |place: usize| table.places[place].as_ref().and_then(|place| place.group);
        let mut all = self.readers.iter().enumerate();
        let member =
            all.find(|(_, reader)| reader.as_ref().is_some_and(|reader| reader.status.group.as_deref() == Some(name)));
        member.and_then(|(place, _)| group(place)).unwrap_or_else(|| {
            let is_free = |number: &u32| (0..READERS_MAX).all(|place| group(place) != Some(*number));
            (0..).find(is_free).unwrap_or(0)
        })
    }

    /// Gives a reader a place, and answers it.
    pub(super) fn attach(
        &mut self,
        socket: OwnedFd,
        request: Request,
        asker: Asker,
    ) -> Result<ReaderStatus, (Refusal, OwnedFd)> {
        let max = self.settings.readers_max.clamp(1, READERS_MAX);
        let Some(place) = self.readers[..max].iter().position(Option::is_none) else {
            return Err((Refusal::Full { max }, socket));
        };
        // Before the change: what is published from here on is for this reader as well.
        let (first, position) = self.offer.end();
        let page = match Page::new(first) {
            Ok(page) => Arc::new(page),
            Err(error) => return Err((Refusal::Resources(error.to_string()), socket)),
        };
        let group = request.group.as_deref().map(|name| self.group(name));
        let held = self.settings.hold.is_some().then(|| Arc::clone(&page));
        let change = self.offer.members().update(|table| {
            table.places[place] = Some(ReaderSlot { attached_at: table.change, group, page: held, first });
        });
        let answer = Answer::Attached {
            epoch: self.offer.epoch(),
            first,
            position,
            place: place as u32,
            generation: generation(change),
        };
        let files = [self.offer.file(), page.file()];
        if let Err(error) = send(socket.as_fd(), &answer.write(), &files) {
            self.leave(place);
            return Err((Refusal::Resources(error.to_string()), socket));
        }
        let Request { queue, name, group } = request;
        // Members of groups get the opens of the streams that they are given.
        self.opens.1 |= group.is_none();
        let Asker { process, user } = asker;
        let progress = Progress { sequence: first, ..Progress::default() };
        let (place_number, has_said) = (place as u32, false);
        let status = ReaderStatus { queue, name, group, process, user, place: place_number, first, progress, has_said };
        let woken_at = first;
        self.readers[place] = Some(Reader {
            socket,
            page,
            progress: Cell::new(status.progress),
            status: status.clone(),
            woken_at,
            attached_at: change,
            lost: 0,
        });
        Ok(status)
    }

    fn leave(&self, place: usize) {
        self.offer.members().update(|table| table.places[place] = None);
    }

    /// A reader said something or ended. There is nothing that it may say.
    pub(super) fn detach(&mut self, place: usize) -> Option<ReaderStatus> {
        let reader = self.readers.get_mut(place)?.take()?;
        self.leave(place);
        Some(reader.status())
    }

    /// Wakes readers that sleep while records are there which they did not see when they went to sleep, and has streams publish
    /// their opens again for those that came or lost records. Returns whether something was published since the last time.
    pub(super) fn serve(&mut self) -> bool {
        let state = self.offer.state();
        let has_changed = std::mem::replace(&mut self.state, state) != state;
        let (mut is_futex, mut needs_opens) = (false, false);
        for reader in self.readers.iter_mut().flatten() {
            if state != reader.woken_at {
                match reader.page.waits() {
                    Waits::No => {}
                    Waits::Futex => {
                        is_futex = true;
                        reader.woken_at = state;
                    }
                    Waits::Socket => {
                        // Where the socket is full, it is readable.
                        drop(send(reader.socket.as_fd(), b"w", &[]));
                        reader.woken_at = state;
                    }
                }
            }
            // Of one that never sleeps, too: it is the one that loses records.
            let progress = reader.progress();
            let lost = progress.lost.wrapping_add(progress.missed);
            needs_opens |= std::mem::replace(&mut reader.lost, lost) != lost;
        }
        self.offer.members().free();
        if is_futex {
            let _ = self.offer.wake();
        }
        self.opens.1 |= needs_opens;
        if self.opens.1 && self.opens.0.is_none_or(|last| last.elapsed() >= OPENS_TIME) {
            self.opens = (Some(Instant::now()), false);
            self.offer.members().update(|table| table.opens_at = table.change);
        }
        has_changed
    }

    /// The place of a member that attached so many changes ago that its generation could soon be taken for a later one.
    pub(super) fn outdated(&self) -> Option<usize> {
        let change = self.offer.members().change();
        self.readers.iter().position(|reader| {
            reader.as_ref().is_some_and(|reader| {
                reader.status.group.is_some() && change.saturating_sub(reader.attached_at) > CHANGES_MAX
            })
        })
    }

    /// When requested opens may be published again.
    pub(super) fn due(&self) -> Option<Duration> {
        let (last, are_due) = self.opens;
        are_due.then(|| last.map_or(Duration::ZERO, |last| OPENS_TIME.saturating_sub(last.elapsed())))
    }

    pub(super) fn want_bell(&self, is_wanted: bool) {
        self.offer.bell().want(is_wanted);
    }

    /// Whether there is no reader.
    pub(super) fn is_idle(&self) -> bool {
        self.readers.iter().all(Option::is_none)
    }
}
