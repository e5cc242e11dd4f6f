//! Members that are written from the description of their fields. Which they are, and their names with what is around these, is known when
//! this is compiled: a place without such members costs nothing.
//!
//! Most fields have their code in the encoder, with names that a test compares with the description: written by getters, 25 of them cost 1,250 instructions a record in the profile `quick`, 4.5 % of `flows --to eve:`.

use crate::{
    json::{Key, Object, push_number},
    records::{Absent, Description, Eve, Field, Get, RecordKind, push_value},
    table::Cell,
};

/// Most members in one place.
const MEMBERS_MAX: usize = 12;

/// Bytes of a name with what is around it.
const NAME_BYTES_MAX: usize = 40;

/// The name of a member, with the comma before it and the colon behind it.
struct Name {
    bytes: [u8; NAME_BYTES_MAX],
    len: usize,
}

impl Name {
    const fn of(name: &str) -> Self {
        let (mut bytes, name, mut at) = ([0; NAME_BYTES_MAX], name.as_bytes(), 0);
        (bytes[0], bytes[1]) = (b',', b'"');
        while at < name.len() {
            bytes[2 + at] = name[at];
            at += 1;
        }
        (bytes[2 + at], bytes[3 + at]) = (b'"', b':');
        Self { bytes, len: 4 + at }
    }
}

impl Key for &Name {
    #[inline]
    fn push(self, out: &mut Vec<u8>, is_first: bool) {
        out.extend_from_slice(&self.bytes[usize::from(is_first)..self.len]);
    }
}

/// The field that is in this place behind so many others, and its name there.
const fn member<D: Description>(place: u8, mut nth: usize) -> Option<(&'static Field<D::Kind>, &'static str)> {
    let mut index = 0;
    while index < D::FIELDS.len() {
        if let Some((of, name)) = D::FIELDS[index].aliases.eve
            && of as u8 == place
            && D::FIELDS[index].aliases.is_eve_simple
        {
            if nth == 0 {
                return Some((&D::FIELDS[index], name));
            }
            nth -= 1;
        }
        index += 1;
    }
    None
}

/// Appends the members of a place, an [`Eve`].
#[inline(always)]
pub(super) fn push_members<'r, D: Description, const PLACE: u8>(
    object: &mut Object<'_>,
    record: &'r <D::Kind as RecordKind>::Record<'r>,
) {
    const { assert!(PLACE != Eve::Composed as u8 && member::<D>(PLACE, MEMBERS_MAX).is_none()) }
    if const { member::<D>(PLACE, 0).is_none() } {
        return;
    }
    macro_rules! each {
        ($($nth:literal)*) => { $(push_member::<D, PLACE, $nth>(object, record);)* };
    }
    each!(0 1 2 3 4 5 6 7 8 9 10 11);
}

#[inline(always)]
fn push_member<'r, D: Description, const PLACE: u8, const NTH: usize>(
    object: &mut Object<'_>,
    record: &'r <D::Kind as RecordKind>::Record<'r>,
) {
    // Of a place with fewer fields, nothing is left of this.
    let known = const {
        match member::<D>(PLACE, NTH) {
            Some((field, name)) => Some((field.get, field.column.kind, field.is_word, Name::of(name))),
            None => None,
        }
    };
    let Some((get, kind, is_word, name)) = &known else { return };
    match *get {
        Get::Number(get) => push_number(object.key(name), get(record)),
        Get::Cell(get) => match get(record) {
            cell @ Cell::Null => cell.release(),
            cell => push_value(object.key(name), *kind, *is_word, Absent::Omitted, cell),
        },
        Get::Raw(push) => object.optional(name, |out| push(record, out)),
    }
}
