//! The command as a user meets it: options, output, exit codes, messages, documents. Nothing here needs privileges.
#![forbid(unsafe_code)]

mod attach;
mod columns;
mod comments;
#[path = "../common/mod.rs"]
mod common;
mod config;
mod content;
mod contract;
#[cfg(feature = "live")]
mod cut_off;
mod documents;
#[cfg(feature = "live")]
mod events;
mod examples;
mod exports;
mod flows_reads;
mod forms;
mod fragments;
mod growing;
mod hostile;
mod http;
mod interim;
mod manual;
mod notices;
mod open_segments;
mod own_input;
mod places;
mod protocols;
#[cfg(feature = "live")]
mod recall;
#[cfg(feature = "live")]
mod recorder_faults;
#[cfg(feature = "live")]
mod recorder_kills;
#[cfg(feature = "live")]
mod recording;
mod segments;
mod signals;
mod sorted;
mod steering;
#[cfg(feature = "live")]
mod supplements;
mod tables;
mod terminal;
#[cfg(feature = "live")]
mod upkeep;
mod usage;
mod where_test;
mod written;
