//! Distinguishes calls of the program from calls of the system's library, whose own calls of exported functions arrive here as well.
//!
//! JUSTIFICATION: where a call comes from is known to the processor only.

/// Exports a function that creates a handle. Its implementation gets the return address as one more argument; the registers are
/// those of that argument.
macro_rules! with_caller {
    ($(#[$meta:meta])* $name:ident($($argument:ident: $type:ty),*) = $inner:ident, $x86_64:literal, $aarch64:literal) => {
        $(#[$meta])*
        ///
        /// # Safety
        /// As its manual page says.
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> *mut Pcap {
            #[cfg(target_arch = "x86_64")]
            std::arch::naked_asm!(concat!("mov ", $x86_64, ", [rsp]"), "jmp {}", sym $inner);
            #[cfg(target_arch = "aarch64")]
            std::arch::naked_asm!(concat!("mov ", $aarch64, ", x30"), "b {}", sym $inner);
        }

        $(#[$meta])*
        ///
        /// # Safety
        /// As its manual page says.
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> *mut Pcap {
            // SAFETY: as the caller promises.
            unsafe { $inner($($argument,)* std::ptr::null()) }
        }
    };
}

pub(super) use with_caller;
