//! Programs in the kernel: what they count, cut off and shed; and compiled steering programs, alone and in fan-out groups. Needs
//! root; each test says so otherwise.
#![forbid(unsafe_code)]

mod agree;
mod attached;
#[path = "../../../tidewire-steer/tests/common/mod.rs"]
mod common;
mod cut;
#[path = "../../../tidewire-steer/tests/common/decode.rs"]
mod decode;
mod loaded;
mod races;
mod shed;
mod steering;
mod steering_corpus;
mod steering_groups;
