//! What a processor says of itself.

use std::sync::OnceLock;

/// The family of a processor of AMD's, or 0.
pub(super) fn amd_family() -> u32 {
    static FAMILY: OnceLock<u32> = OnceLock::new();
    *FAMILY.get_or_init(|| {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use std::arch::x86_64::__cpuid;
            let vendor = __cpuid(0);
            let name = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
            let version = __cpuid(1).eax;
            // The base family, and what is added to it where it is the largest.
            if name.as_flattened() == b"AuthenticAMD" { (version >> 8 & 0xf) + (version >> 20 & 0xff) } else { 0 }
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        0
    })
}

/// How many lines of memory with the same place the first-level cache holds; 1 if the processor does not say.
pub(crate) fn ways() -> usize {
    static WAYS: OnceLock<usize> = OnceLock::new();
    *WAYS.get_or_init(|| {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use std::arch::x86_64::{__cpuid, __cpuid_count};
            // Both describe the first-level cache of data first.
            let leaf: u32 = if amd_family() > 0 { 0x8000_001d } else { 4 };
            if __cpuid(leaf & 0x8000_0000).eax >= leaf { (__cpuid_count(leaf, 0).ebx >> 22) as usize + 1 } else { 1 }
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        1
    })
}
