//! VLAN ids of a packet.

use std::fmt::{self, Debug, Display, Formatter};

/// No tag in this place: above every id, which has 12 bits.
const NONE: u16 = 0xffff;
/// Greatest id (IEEE 802.1Q, table 9-2).
const ID_MAX: u16 = 0x0fff;

/// The VLAN ids of a packet, outermost first: at most two. Priority tags (id 0) name no VLAN and are left out.
///
/// ```
/// use tidewire_types::Vlans;
/// let vlans = Vlans::new([5, 6]);
/// assert_eq!((vlans.outer(), vlans.inner()), (Some(5), Some(6)));
/// assert_eq!(vlans.iter().collect::<Vec<_>>(), [5, 6]);
/// assert!(Vlans::NONE.is_empty());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Vlans([u16; 2]);

impl Vlans {
    /// No VLAN.
    pub const NONE: Self = Self([NONE; 2]);

    /// The first two of these ids that are 1 to 4095; others are left out.
    #[must_use]
    pub fn new(ids: impl IntoIterator<Item = u16>) -> Self {
        let mut vlans = Self::NONE;
        ids.into_iter().for_each(|id| {
            vlans.push(id);
        });
        vlans
    }

    /// The id of the outermost tag.
    #[must_use]
    #[inline]
    pub const fn outer(self) -> Option<u16> {
        some(self.0[0])
    }

    /// The id of the second tag.
    #[must_use]
    #[inline]
    pub const fn inner(self) -> Option<u16> {
        some(self.0[1])
    }

    /// The ids, outermost first.
    pub fn iter(self) -> impl Iterator<Item = u16> + use<> {
        self.0.into_iter().filter_map(some)
    }

    /// Whether one of the ids is `id`.
    #[must_use]
    pub fn contains(self, id: u16) -> bool {
        self.iter().any(|own| own == id)
    }

    /// Number of ids, 0 to 2.
    #[must_use]
    pub fn len(self) -> usize {
        self.iter().count()
    }

    /// Whether there is no id.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.outer().is_none() && self.inner().is_none()
    }

    /// Adds the id of the next tag inwards. `false`: it is not 1 to 4095, or there are two already.
    #[inline]
    pub fn push(&mut self, id: u16) -> bool {
        let is_id = id != 0 && id <= ID_MAX;
        match self.0.iter_mut().find(|slot| **slot == NONE) {
            Some(free) if is_id => {
                *free = id;
                true
            }
            _ => false,
        }
    }

    /// Both places as formats of this project store them: 0xffff where there is no tag.
    #[doc(hidden)]
    #[must_use]
    #[inline(always)]
    pub const fn raw(self) -> [u16; 2] {
        self.0
    }

    /// From both places as [`raw`](Self::raw) returns them.
    #[doc(hidden)]
    #[must_use]
    #[inline(always)]
    pub const fn from_raw(places: [u16; 2]) -> Self {
        Self(places)
    }
}

#[inline]
const fn some(place: u16) -> Option<u16> {
    if place == NONE { None } else { Some(place) }
}

impl Default for Vlans {
    fn default() -> Self {
        Self::NONE
    }
}

impl FromIterator<u16> for Vlans {
    fn from_iter<I: IntoIterator<Item = u16>>(ids: I) -> Self {
        Self::new(ids)
    }
}

impl Debug for Vlans {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// `5.6`; empty without VLANs.
impl Display for Vlans {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (at, id) in self.iter().enumerate() {
            write!(f, "{}{id}", if at == 0 { "" } else { "." })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_are_kept() {
        assert_eq!(Vlans::new([0, 5, 4096, 0xffff, 4095, 6]), Vlans::new([5, 4095]));
        let mut vlans = Vlans::default();
        assert!(!vlans.push(0) && vlans.push(7) && vlans.push(8) && !vlans.push(9));
        assert_eq!((format!("{vlans:?}"), vlans.to_string(), vlans.len()), ("[7, 8]".into(), "7.8".into(), 2));
        assert!(vlans.contains(8) && !vlans.contains(0xffff) && !Vlans::NONE.contains(0xffff));
        assert_eq!((Vlans::NONE.to_string(), Vlans::from_raw(vlans.raw())), (String::new(), vlans));
    }
}
