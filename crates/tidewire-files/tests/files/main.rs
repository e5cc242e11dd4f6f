//! Captures read and merged: every form, damage, the shared corpus, and the seeds of the fuzz target.

mod common;
mod concatenated;
mod corpus;
mod damage;
mod forms;
mod merge;
mod others;
mod seeds;
