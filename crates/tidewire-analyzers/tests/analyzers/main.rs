//! The analyzers over captures that are made here: what becomes an event, and what does not.

mod anomalies;
mod matches;
mod rig;
mod scans;
