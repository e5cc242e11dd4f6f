//! Groups: events of the same severity and shape, which may be folded.

use std::collections::HashMap;

use tidewire_types::siphash::Hasher;

use super::{
    profile::Profile,
    settings::{FoldSettings, FolderSettings},
};
use crate::{cursor::Cursor, error::DecodeError, event::Severity, lanes::Plan, message::Shape};

/// Groups that are kept. An analyzer has a few kinds with a few shapes; a broken or hostile one could invent more.
pub(super) const GROUPS_MAX: usize = 1024;

/// Events of the same severity and shape.
pub(super) struct Group {
    pub severity: u8,
    pub shape: Vec<u8>,
    pub plan: Plan,
    pub settings: FoldSettings,
    pub profile: Profile,
}

/// All groups by their keyed hash.
#[derive(Default)]
pub(super) struct Groups {
    by_hash: HashMap<u64, usize>,
    all: Vec<Group>,
    bytes: usize,
}

impl Groups {
    pub(super) fn is_full(&self) -> bool {
        self.all.len() >= GROUPS_MAX
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Group> {
        self.all.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn charged_bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn get(&mut self, group: usize) -> &mut Group {
        &mut self.all[group]
    }

    /// The hash of a group, and the group if it is known.
    pub(super) fn find(&self, key: [u64; 2], severity: Severity, shape: &[u8]) -> (u64, Option<usize>) {
        let mut hasher = Hasher::new(key);
        hasher.word(severity.number().into());
        hasher.bytes(shape);
        let hash = hasher.finish();
        let is_it = |group: &Group| group.severity == severity.number() && group.shape == shape;
        (hash, self.by_hash.get(&hash).copied().filter(|group| is_it(&self.all[*group])))
    }

    pub(super) fn add(
        &mut self,
        key: [u64; 2],
        severity: Severity,
        shape: &[u8],
        settings: &FolderSettings,
        now_ns: u64,
    ) -> Result<usize, DecodeError> {
        let mut cursor = Cursor::new(shape);
        let read = Shape::read(&mut cursor)?;
        cursor.end()?;
        let plan = Plan::new(&read);
        let settings = settings.of(read.kind);
        let profile = Profile::new(&plan, &settings.identity, now_ns);
        let names: usize = plan.lanes.iter().map(|lane| size_of_val(lane) + lane.name.len()).sum();
        self.bytes += size_of::<Group>() + 32 + names + shape.len() + profile.charged_bytes();
        self.by_hash.insert(self.find(key, severity, shape).0, self.all.len());
        self.all.push(Group { severity: severity.number(), shape: shape.to_vec(), plan, settings, profile });
        Ok(self.all.len() - 1)
    }
}
