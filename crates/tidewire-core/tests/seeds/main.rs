//! Seeds and findings of the fuzz targets `tcp`, `defrag` and `engine`, replayed, and random inputs.
#![forbid(unsafe_code)]

mod engine;
mod tcp_defrag;
