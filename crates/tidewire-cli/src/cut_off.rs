//! What a recorder cut off of a stream, in words.

use crate::{
    output,
    units::{Bytes, counted},
};

/// What was cut off of a direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    pub packets: u64,
    pub bytes: u64,
}

/// The bytes of both directions as a cell; empty: nothing was cut off.
pub fn cell(amounts: Option<&[Amount; 2]>) -> String {
    let bytes = |amounts: &[Amount; 2]| amounts.iter().fold(0_u64, |sum, amount| sum.saturating_add(amount.bytes));
    amounts.map_or_else(String::new, |amounts| Bytes(bytes(amounts)).to_string())
}

/// Names of what [`push_csv`] appends.
pub const CSV: &str = "cut_off_packets_c2s,cut_off_packets_s2c,cut_off_bytes_c2s,cut_off_bytes_s2c";

/// Appends what was cut off as comma-separated values; empty ones: nothing.
pub fn push_csv(out: &mut Vec<u8>, amounts: Option<&[Amount; 2]>) {
    let figures = [0, 1].map(|side: usize| amounts.map(|amounts| [amounts[side].packets, amounts[side].bytes]));
    for figure in 0..2 {
        for side in &figures {
            out.push(b',');
            if let Some(side) = side {
                output::push_number(out, side[figure]);
            }
        }
    }
}

/// A direction's as words.
pub fn words(amount: &Amount) -> String {
    format!("{} in {} cut off when it was recorded", Bytes(amount.bytes), counted(amount.packets, "packet", "packets"))
}
