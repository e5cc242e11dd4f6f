//! States of interfaces while they are used: one table of states and changes for all commands.
//!
//! | what happens | change | state then |
//! |---|---|---|
//! | it is switched off, or has no carrier | [`Change::Down`] | [`InterfaceState::Down`] |
//! | it is switched on and has a carrier | [`Change::Up`] | [`InterfaceState::Up`] |
//! | it is removed, or moved to another network namespace | [`Change::Gone`] | [`InterfaceState::Gone`] |
//! | one of its first name exists again | [`Change::Back`], and [`Change::Up`] once it is up | as it is |
//! | it is renamed | [`Change::Renamed`] | as before |
//!
//! An interface is known by its index as long as it exists, and is found again by the name that it had first.

use std::fmt;

use tidewire_wire::legible::legible;

use super::{Interface, link_message::Link};

/// State of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InterfaceState {
    /// It is switched on and has a carrier.
    #[default]
    Up,
    /// It exists, and is switched off or has no carrier: no frame arrives.
    Down,
    /// It does not exist: it is used again when one of its name does.
    Gone,
}

impl InterfaceState {
    /// `up`, `down` or `gone`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Gone => "gone",
        }
    }
}

/// A change of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// It was switched off, or lost its carrier: no frame arrives.
    Down,
    /// It is switched on and has a carrier.
    Up,
    /// It was removed, or moved to another network namespace.
    Gone,
    /// An interface of its name exists again; [`Change::Up`] follows once it is up.
    Back,
    /// It was renamed to this.
    Renamed(String),
    /// It appeared or was switched on while every interface is captured, and is captured from now on.
    Joined,
    /// It appeared, and cannot be captured: the reason.
    LeftOut(String),
}

/// The use of an interface, from which the meaning of a change follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Its frames are captured.
    Capture,
    /// Its frames are split over others.
    SplitInput,
    /// It sends its share of them.
    SplitOutput,
}

impl Change {
    /// A line about it: what happened, and what follows until it is over.
    #[must_use]
    pub fn describe(&self, name: &str, purpose: Purpose) -> String {
        let name = legible(name);
        let lasting = |state: &str, until: &str| match purpose {
            Purpose::Capture if until == "back" => {
                format!("{name} is gone; the packets it had received were delivered")
            }
            Purpose::Capture => format!("{name} is {state}; capture continues when it is {until}"),
            Purpose::SplitInput => format!("{name} is {state}; nothing is split until it is {until}"),
            Purpose::SplitOutput => format!("{name} is {state}; its share is lost until it is {until}"),
        };
        match self {
            Self::Down => lasting("down", "up again"),
            Self::Up => format!("{name} is up"),
            Self::Gone => lasting("gone", "back"),
            Self::Back => format!("{name} is back"),
            Self::Renamed(now) => format!("{name} was renamed to {}", legible(now)),
            Self::Joined => format!("{name} is up; it is captured, too"),
            Self::LeftOut(reason) => format!("{name} is up, and is not captured: {}", legible(reason)),
        }
    }
}

/// A change of one of the watched interfaces.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InterfaceEvent {
    /// The interface's index, in the order given.
    pub interface: usize,
    /// Its name when the watch began.
    pub name: String,
    /// The change.
    pub change: Change,
}

/// A line about it, for an interface that is captured.
impl fmt::Display for InterfaceEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.change.describe(&self.name, Purpose::Capture))
    }
}

/// An interface that exists.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'s> {
    pub index: u32,
    pub name: &'s str,
    /// Whether frames can come.
    pub works: bool,
}

impl<'s> From<&'s Interface> for Seen<'s> {
    fn from(interface: &'s Interface) -> Self {
        Self { index: interface.index, name: &interface.name, works: interface.up && interface.carrier }
    }
}

impl<'s> From<&'s Link> for Seen<'s> {
    fn from(link: &'s Link) -> Self {
        Self { index: link.index, name: &link.name, works: link.is_up() && link.has_carrier() }
    }
}

/// An interface and what was seen of it last.
#[derive(Clone, Debug)]
pub(super) struct Followed {
    /// Its first name.
    name: String,
    now: String,
    /// `None` while it is gone.
    index: Option<u32>,
    works: bool,
}

impl Followed {
    pub(super) fn new<'s>(seen: impl Into<Seen<'s>>) -> Self {
        let Seen { index, name, works } = seen.into();
        Self { name: name.into(), now: name.into(), index: Some(index), works }
    }

    /// Its first name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Its index, while it exists.
    pub(super) fn index(&self) -> Option<u32> {
        self.index
    }

    /// Its name now, if that is another one.
    pub(super) fn current_name(&self) -> Option<&str> {
        self.index.and(Some(self.now.as_str())).filter(|now| *now != self.name)
    }

    pub(super) fn state(&self) -> InterfaceState {
        match (self.index, self.works) {
            (None, _) => InterfaceState::Gone,
            (Some(_), true) => InterfaceState::Up,
            (Some(_), false) => InterfaceState::Down,
        }
    }

    /// The interface of this index does not exist any more.
    pub(super) fn removed(&mut self, index: u32) -> Option<Change> {
        if self.index != Some(index) {
            return None;
        }
        (self.index, self.works) = (None, false);
        Some(Change::Gone)
    }

    /// An interface exists, which may be this one.
    pub(super) fn see<'s>(&mut self, seen: impl Into<Seen<'s>>) -> Vec<Change> {
        let seen = seen.into();
        let mut changes = Vec::new();
        match self.index {
            None if seen.name == self.name => changes.push(Change::Back),
            Some(index) if index == seen.index => {
                if seen.name != self.now {
                    changes.push(Change::Renamed(seen.name.into()));
                }
            }
            _ => return changes,
        }
        self.index = Some(seen.index);
        seen.name.clone_into(&mut self.now);
        if seen.works != self.works {
            self.works = seen.works;
            changes.push(if seen.works { Change::Up } else { Change::Down });
        }
        changes
    }

    /// Compares it with all interfaces that exist.
    pub(super) fn look(&mut self, all: &[Interface]) -> Vec<Change> {
        let mut changes = Vec::new();
        if let Some(index) = self.index.filter(|index| !all.iter().any(|one| one.index == *index)) {
            changes.extend(self.removed(index));
        }
        for one in all {
            changes.extend(self.see(one));
        }
        changes
    }

    /// It among all that exist.
    pub(super) fn among<'a>(&self, all: &'a [Interface]) -> Option<&'a Interface> {
        all.iter().find(|one| Some(one.index) == self.index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(index: u32, name: &str, works: bool) -> Seen<'_> {
        Seen { index, name, works }
    }

    /// Each row of the table.
    #[test]
    fn each_change_leads_to_its_state() {
        let mut port = Followed::new(seen(3, "a0", true));
        let mut step = |found: Seen<'_>, changes: &[Change], state: InterfaceState, now: Option<&str>| {
            assert_eq!(port.see(found), changes);
            assert_eq!((port.state(), port.current_name(), port.name()), (state, now, "a0"));
        };
        let renamed = |name: &str| Change::Renamed(name.into());
        step(seen(3, "a0", true), &[], InterfaceState::Up, None);
        step(seen(3, "a0", false), &[Change::Down], InterfaceState::Down, None);
        step(seen(3, "b0", true), &[renamed("b0"), Change::Up], InterfaceState::Up, Some("b0"));
        // Another one has its first name now.
        step(seen(4, "a0", false), &[], InterfaceState::Up, Some("b0"));
        assert_eq!((port.removed(4), port.removed(3)), (None, Some(Change::Gone)));
        assert_eq!((port.state(), port.index(), port.current_name()), (InterfaceState::Gone, None, None));
        assert_eq!(port.removed(3), None, "it is gone once");
        assert_eq!(port.see(seen(3, "c0", true)), [], "a number is given again");
        assert_eq!(port.see(seen(9, "a0", false)), [Change::Back]);
        assert_eq!(port.state(), InterfaceState::Down);
        assert_eq!(port.see(seen(9, "a0", true)), [Change::Up]);
    }

    #[test]
    fn what_follows_is_said_for_each_purpose() {
        let all = [Purpose::Capture, Purpose::SplitInput, Purpose::SplitOutput];
        let said = |change: &Change| all.map(|purpose| change.describe("a\u{1b}0", purpose));
        assert_eq!(
            said(&Change::Down),
            [
                "a\\u{1b}0 is down; capture continues when it is up again",
                "a\\u{1b}0 is down; nothing is split until it is up again",
                "a\\u{1b}0 is down; its share is lost until it is up again",
            ]
        );
        assert_eq!(
            said(&Change::Gone),
            [
                "a\\u{1b}0 is gone; the packets it had received were delivered",
                "a\\u{1b}0 is gone; nothing is split until it is back",
                "a\\u{1b}0 is gone; its share is lost until it is back",
            ]
        );
        assert!(said(&Change::Up).iter().all(|line| line == "a\\u{1b}0 is up"));
        assert!(said(&Change::Renamed("\u{1b}".into())).iter().all(|line| line.ends_with("was renamed to \\u{1b}")));
    }
}
