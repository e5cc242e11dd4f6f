//! Parts of a stream that a recorder cut off, in words.

pub use tidewire_exports::CutOff as Amount;

use crate::units::{Bytes, counted};

/// The bytes of both directions as a cell; empty: nothing was cut off.
pub fn cell(amounts: Option<&[Amount; 2]>) -> String {
    let bytes = |amounts: &[Amount; 2]| amounts.iter().fold(0_u64, |sum, amount| sum.saturating_add(amount.bytes));
    amounts.map_or_else(String::new, |amounts| Bytes(bytes(amounts)).to_string())
}

/// A direction's as words.
pub fn words(amount: &Amount) -> String {
    format!("{} in {} cut off when it was recorded", Bytes(amount.bytes), counted(amount.packets, "packet", "packets"))
}
