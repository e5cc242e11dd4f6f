//! Archives as a whole: what went in comes out, by any query, and after anything that can happen to files.
#![forbid(unsafe_code)]

mod crashes;
mod damage;
mod handles;
mod numbers;
mod queries;
mod remains;
mod retention;
mod rig;
mod seeds;
mod streams;
mod tcpdump;
mod verification;
mod whole;
