//! The decoder against others: etherparse, tshark, and the counts of public captures.
#![forbid(unsafe_code)]

mod corpus;
mod etherparse;
mod tshark;
