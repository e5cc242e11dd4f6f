//! A store from outside: what is kept, found, removed, and what is left of it after damage, full disks and kills.
#![forbid(unsafe_code)]

mod basics;
mod common;
mod damage;
mod disk;
mod joining;
mod kills;
mod reading;
mod recovery;
mod retention;
mod rows;
mod running;
mod sealing;
mod writer;
