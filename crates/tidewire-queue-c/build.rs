//! Names the shared library as programs ask the loader for it.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtidewire_queue.so.0");
}
