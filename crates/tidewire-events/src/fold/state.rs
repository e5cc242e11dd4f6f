//! Open folds as bytes, so that folding continues where it was before a restart.
//!
//! A version (1 byte), the next number and the next fold, counts, groups (severity, shape, what identifies), and folds (group,
//! id, part, events given out, age, what identifies, first message). No event waits: they are given out before.

use super::{
    folder::{Counts, Folder, Output},
    groups::GROUPS_MAX,
    open::Fold,
    profile::{Mask, places},
    settings::FolderSettings,
};
use crate::{
    cursor::{Cursor, put_sized, put_varint},
    error::DecodeError,
    event::Severity,
    lanes::Values,
    message::Message,
};

const VERSION: u8 = 1;

fn put_mask(mask: Mask, out: &mut Vec<u8>) {
    for half in [mask.ints, mask.blobs] {
        put_varint(out, half as u64);
        put_varint(out, (half >> 64) as u64);
    }
}

fn read_mask(cursor: &mut Cursor<'_>) -> Result<Mask, DecodeError> {
    let mut half = || -> Result<u128, DecodeError> {
        Ok(u128::from(cursor.varint("a mask")?) | u128::from(cursor.varint("a mask")?) << 64)
    };
    Ok(Mask { ints: half()?, blobs: half()? })
}

impl Folder {
    /// Gives out every event that waits, as [`cut`](Self::cut) does, and then what is open as bytes. Records and state belong
    /// together: a store takes both in one transaction.
    ///
    /// # Errors
    /// None, as for [`push`](Self::push).
    pub fn state(&mut self, now_ns: u64, out: &mut Output) -> Result<Vec<u8>, DecodeError> {
        self.cut(out)?;
        let mut bytes = vec![VERSION];
        let Counts { events, given, records, folds, evicted } = self.counts;
        for number in [self.next_number, self.next_fold, events, given, records, folds, evicted] {
            put_varint(&mut bytes, number);
        }
        put_varint(&mut bytes, self.groups.len() as u64);
        for group in self.groups.iter() {
            // As a message of the group begins, to be read by the same checks.
            bytes.push(group.severity);
            put_sized(&mut bytes, &group.shape);
            put_mask(group.profile.mask, &mut bytes);
        }
        for fold in self.folds.iter().flatten() {
            let age_ns = now_ns.saturating_sub(fold.opened_ns);
            for number in [fold.group as u64, fold.id, fold.part, fold.given, age_ns] {
                put_varint(&mut bytes, number);
            }
            put_mask(fold.mask, &mut bytes);
            put_sized(&mut bytes, fold.first());
        }
        Ok(bytes)
    }

    /// Continues with a state. Folds that do not fit the settings are closed, which loses nothing: they have no events that wait.
    ///
    /// # Errors
    /// The bytes are no state.
    pub fn with_state(settings: FolderSettings, key: [u64; 2], now_ns: u64, state: &[u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(state);
        let version = cursor.byte("the version")?;
        if version != VERSION {
            return Err(DecodeError::Version { found: version, known: VERSION });
        }
        let mut number = || cursor.varint("a number");
        let mut folder = Self::new(settings, key, number()?, number()?);
        let [events, given, records, folds, evicted] = [number()?, number()?, number()?, number()?, number()?];
        folder.counts = Counts { events, given, records, folds, evicted };
        let groups = number()?;
        if groups > GROUPS_MAX as u64 {
            return Err(DecodeError::Value("a count of groups"));
        }
        for _ in 0..groups {
            folder.read_group(now_ns, &mut cursor)?;
        }
        while !cursor.is_empty() {
            folder.read_fold(now_ns, &mut cursor)?;
        }
        Ok(folder)
    }

    fn read_group(&mut self, now_ns: u64, cursor: &mut Cursor<'_>) -> Result<(), DecodeError> {
        let severity = Severity::by_number(cursor.byte("a severity")?).ok_or(DecodeError::Value("a severity"))?;
        let shape = cursor.sized("a shape")?;
        let mask = read_mask(cursor)?;
        if self.groups.find(self.key, severity, shape).1.is_some() {
            return Err(DecodeError::Value("a shape"));
        }
        let group = self.groups.add(self.key, severity, shape, &self.settings, now_ns)?;
        self.groups.get(group).profile.restore(mask);
        Ok(())
    }

    fn read_fold(&mut self, now_ns: u64, cursor: &mut Cursor<'_>) -> Result<(), DecodeError> {
        let mut number = || cursor.varint("a number");
        let [group, id, part, given, age_ns] = [number()?, number()?, number()?, number()?, number()?];
        let mask = read_mask(cursor)?;
        let message = Message::new(cursor.sized("a message")?)?;
        let group = usize::try_from(group).ok().filter(|group| *group < self.groups.len());
        let group = group.ok_or(DecodeError::Value("a group"))?;
        let of = self.groups.get(group);
        if of.severity != message.severity().number() || of.shape != message.shape_bytes() {
            return Err(DecodeError::Value("a fold's message"));
        }
        let mut values = Values::default();
        of.plan.split(message.time_ns(), message.values(), &mut values)?;
        let has = |bits: u128, count: usize| places(bits).all(|place| place < count);
        if !has(mask.ints, values.ints.len()) || !has(mask.blobs, values.blobs.len()) || id >= self.next_fold {
            return Err(DecodeError::Value("a fold"));
        }
        let opened_ns = now_ns.saturating_sub(age_ns);
        let (age_max_ns, count_max) = (of.settings.age_ns, of.settings.count_max);
        let deadline_ns = opened_ns.saturating_add(age_max_ns);
        let hash = self.hash(group, mask, &values);
        if given >= count_max || self.is_open(hash) {
            return Ok(());
        }
        let mut fold = Fold::new(id, group, mask, hash, opened_ns, deadline_ns);
        (fold.part, fold.given) = (part, given);
        fold.begin(0, &message, &values);
        // Folds without events that wait give nothing out when they are closed.
        self.open_fold(fold, &mut Output::default()).map(drop)
    }
}
