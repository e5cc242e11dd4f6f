//! Losses of captures in the time that is searched, as statistics of their interfaces say.

use std::collections::BTreeMap;

use tidewire_files::CaptureLoss;
use tidewire_wire::LinkType;

use super::{entry::Entry, interfaces::INTERFACES_MAX};
use crate::{index::Summary, query::Query};

/// Losses of an interface in the captures that have packets of the searched time, whatever else is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InterfaceLoss {
    /// The name of the interface.
    pub name: String,
    /// Its link type.
    pub link: LinkType,
    /// Packets that the interface dropped.
    pub dropped: u64,
    /// Packets that the operating system dropped.
    pub system_dropped: u64,
    /// When counting began, nanoseconds since the epoch: with the first of those captures, or the time that is looked for.
    pub from_ns: u64,
    /// When it ended.
    pub to_ns: u64,
}

/// Losses by interface, in the order of their captures.
#[derive(Debug, Default)]
pub(super) struct InterfaceLosses {
    all: Vec<InterfaceLoss>,
    places: BTreeMap<(String, u16), usize>,
}

impl InterfaceLosses {
    /// Those of captures whose packets are of the query's time.
    pub fn of<'e>(entries: impl Iterator<Item = &'e Entry>, query: &Query) -> Vec<InterfaceLoss> {
        let mut losses = Self::default();
        entries.filter_map(|entry| entry.summary.as_ref()).for_each(|summary| losses.add(summary, query));
        losses.all
    }

    /// Adds what the index of a capture says, if its packets are of the query's time.
    fn add(&mut self, summary: &Summary, query: &Query) {
        if !query.may_be_in(summary) {
            return;
        }
        let from_ns = query.from_ns.map_or(summary.first_ns, |from| from.max(summary.first_ns));
        let to_ns = query.to_ns.map_or(summary.last_ns, |to| to.min(summary.last_ns));
        for interface in summary.interfaces.iter().filter(|one| one.dropped > 0 || one.system_dropped > 0) {
            let key = (interface.name.clone(), interface.link);
            let place = match self.places.get(&key) {
                Some(&place) => place,
                None if self.all.len() == INTERFACES_MAX => continue,
                None => {
                    let (name, link) = (interface.name.clone(), LinkType(interface.link));
                    self.all.push(InterfaceLoss { name, link, dropped: 0, system_dropped: 0, from_ns, to_ns });
                    self.places.insert(key, self.all.len() - 1);
                    self.all.len() - 1
                }
            };
            if let Some(loss) = self.all.get_mut(place) {
                loss.dropped = loss.dropped.saturating_add(interface.dropped);
                loss.system_dropped = loss.system_dropped.saturating_add(interface.system_dropped);
                (loss.from_ns, loss.to_ns) = (loss.from_ns.min(from_ns), loss.to_ns.max(to_ns));
            }
        }
    }
}

/// Adds losses of interfaces to those that packets state, which are of the interface with the same name.
pub(super) fn joined(mut stated: Vec<CaptureLoss>, of_interfaces: &[InterfaceLoss]) -> Vec<CaptureLoss> {
    for loss in of_interfaces {
        let place = stated.iter().position(|one| one.interface == loss.name).unwrap_or_else(|| {
            let mut new = CaptureLoss::default();
            new.interface.clone_from(&loss.name);
            stated.push(new);
            stated.len() - 1
        });
        if let Some(one) = stated.get_mut(place) {
            one.interface_dropped = one.interface_dropped.saturating_add(loss.dropped);
            one.system_dropped = one.system_dropped.saturating_add(loss.system_dropped);
        }
    }
    stated
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::InterfaceSummary;

    fn summary(first_ns: u64, losses: &[(&str, u64, u64)]) -> Summary {
        let interface = |&(name, dropped, system_dropped): &(&str, u64, u64)| InterfaceSummary {
            name: name.into(),
            link: 1,
            dropped,
            system_dropped,
        };
        let interfaces = losses.iter().map(interface).collect();
        Summary { packets: 1, first_ns, last_ns: first_ns + 10, interfaces, ..Summary::default() }
    }

    #[test]
    fn losses_are_those_of_the_captures_in_the_searched_time() {
        let captures = [
            summary(100, &[("eth0", 1, 0), ("eth1", 0, 0)]),
            summary(200, &[("eth0", 2, 5), ("eth1", 0, 7)]),
            summary(300, &[("eth0", 4, 0)]),
        ];
        let found = |from_ns, to_ns| {
            let query = Query { from_ns, to_ns, ..Query::default() };
            let mut losses = InterfaceLosses::default();
            captures.iter().for_each(|summary| losses.add(summary, &query));
            losses.all
        };
        let loss = |name: &str, dropped, system_dropped, from_ns, to_ns| InterfaceLoss {
            name: name.into(),
            link: LinkType(1),
            dropped,
            system_dropped,
            from_ns,
            to_ns,
        };
        assert_eq!(found(None, None), [loss("eth0", 7, 5, 100, 310), loss("eth1", 0, 7, 200, 210)]);
        assert_eq!(found(Some(205), Some(300)), [loss("eth0", 2, 5, 205, 210), loss("eth1", 0, 7, 205, 210)]);
        assert_eq!(found(Some(305), None), [loss("eth0", 4, 0, 305, 310)]);
        assert!(found(None, Some(100)).is_empty());
    }
}
