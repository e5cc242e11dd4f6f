//! How clients are served, and what happens to them.

use std::{collections::BTreeMap, time::Duration};

use crate::protocol::{Refusal, Window};

/// How clients are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// Users that may connect besides root and the server's own.
    pub users: Vec<u32>,
    /// Clients at a time. Default 256. One beyond it is refused. A sixteenth of them is for root and the server's own user, and
    /// another user may have half of the others.
    pub clients_max: usize,
    /// How long a client may take to say who it is. Default 5 s.
    pub hello_time: Duration,
    /// How much a client may send before it is acknowledged.
    pub window: Window,
    /// Events a second that an analyzer may send, with a burst of a second's worth; `None`: as many as are stored.
    pub rate: Option<u64>,
    /// The same by the analyzer's name.
    pub rates: BTreeMap<String, u64>,
    /// Names that belong to a user, as the kernel states it (`SO_PEERCRED`): of other clients only root's and those of the server's
    /// own user may have them. `None`: reserved for these. Names that are not here are for any user, and of each user another one.
    pub owners: BTreeMap<String, Option<u32>>,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            users: Vec::new(),
            clients_max: 256,
            hello_time: Duration::from_secs(5),
            window: Window::default(),
            rate: None,
            rates: BTreeMap::new(),
            owners: BTreeMap::new(),
        }
    }
}

/// An event of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerEvent {
    /// An analyzer connected.
    Connected {
        /// Its name.
        analyzer: String,
        /// Its user.
        user: u32,
    },
    /// An analyzer is gone.
    Gone {
        /// Its name.
        analyzer: String,
    },
    /// A client was turned away.
    Refused {
        /// Its name, if it gave one.
        analyzer: Option<String>,
        /// Its user.
        user: u32,
        /// Why.
        why: Refusal,
    },
}

/// Positions up to a moment: to be stored, and then passed to [`Server::acknowledge`](super::Server::acknowledge).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Sessions, and the number of the last event of each.
    pub positions: Vec<(String, u64)>,
    /// Sessions that are over: a store can forget them.
    pub over: Vec<String>,
}

/// Places of clients.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    pub max: usize,
    pub own_user: u32,
}

impl Places {
    /// Whether a user is root, or the server's own: the spooler is, and what the sensor starts.
    pub(super) fn is_own(self, user: u32) -> bool {
        user == 0 || user == self.own_user
    }

    /// Why a client of this user has no place beside those of these; no other user takes the places that root and the sensor need.
    pub(super) fn refusal(self, user: u32, others: &[u32]) -> Option<Refusal> {
        if others.len() >= self.max {
            return Some(Refusal::Full { max: self.max });
        }
        if self.is_own(user) {
            return None;
        }
        let open = self.max - self.max.div_ceil(16);
        let strangers = others.iter().filter(|other| !self.is_own(**other)).count();
        let of_user = others.iter().filter(|other| **other == user).count();
        if strangers >= open {
            return Some(Refusal::Full { max: self.max });
        }
        let max = open.div_ceil(2);
        (of_user >= max).then_some(Refusal::UserFull { user, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_user_takes_all_places() {
        let places = Places { max: 256, own_user: 500 };
        let mut users = Vec::new();
        let mut fill = |user: u32| {
            let before = users.len();
            while places.refusal(user, &users).is_none() {
                users.push(user);
            }
            (users.len() - before, places.refusal(user, &users))
        };
        assert_eq!(fill(1000), (120, Some(Refusal::UserFull { user: 1000, max: 120 })));
        assert_eq!(fill(1001), (120, Some(Refusal::Full { max: 256 })));
        assert_eq!(fill(1002).0, 0);
        assert_eq!(fill(500), (16, Some(Refusal::Full { max: 256 })), "the spooler's, and root's");
        assert_eq!(fill(0).0, 0);
    }
}
