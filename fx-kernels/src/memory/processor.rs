//! What a processor says of itself.

use std::sync::OnceLock;

/// Who made the processor, where something depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(all(target_arch = "x86_64", not(miri))), allow(dead_code, reason = "others do not say who made them"))]
pub(crate) enum Maker {
    /// AMD, with the processor's family.
    Amd(u32),
    Intel,
    Other,
}

/// The processor's maker.
pub(crate) fn maker() -> Maker {
    static MAKER: OnceLock<Maker> = OnceLock::new();
    *MAKER.get_or_init(|| {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use std::arch::x86_64::__cpuid;
            let vendor = __cpuid(0);
            let name = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
            let version = __cpuid(1).eax;
            match name.as_flattened() {
                // The base family, and what is added to it where it is the largest.
                b"AuthenticAMD" => Maker::Amd((version >> 8 & 0xf) + (version >> 20 & 0xff)),
                b"GenuineIntel" => Maker::Intel,
                _ => Maker::Other,
            }
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        Maker::Other
    })
}

/// A cache for data, if the processor says what it is.
#[derive(Clone, Copy, Debug, Default)]
struct Cache {
    /// How many lines of memory with the same place it holds.
    ways: usize,
    bytes: usize,
}

/// The caches for data of the first and the second level.
fn caches() -> [Cache; 2] {
    static CACHES: OnceLock<[Cache; 2]> = OnceLock::new();
    *CACHES.get_or_init(|| {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use std::arch::x86_64::{__cpuid, __cpuid_count};
            let leaf: u32 = if let Maker::Amd(_) = maker() { 0x8000_001d } else { 4 };
            if __cpuid(leaf & 0x8000_0000).eax < leaf {
                return Default::default();
            }
            // Between the two comes the first-level cache of instructions.
            [(0, 1), (2, 2)].map(|(index, level)| {
                let cache = __cpuid_count(leaf, index);
                let [ways, partitions, line] =
                    [(22, 0x3ff), (12, 0x3ff), (0, 0xfff)].map(|(low, mask)| (cache.ebx >> low & mask) as usize + 1);
                let bytes = ways * partitions * line * (cache.ecx as usize + 1);
                if cache.eax >> 5 & 7 == level { Cache { ways, bytes } } else { Cache::default() }
            })
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        Default::default()
    })
}

/// How many lines of memory with the same place the first-level cache holds; 1 if the processor does not say.
pub(crate) fn ways() -> usize {
    caches()[0].ways.max(1)
}

/// The bytes of a core's second-level cache; 0 if the processor does not say.
pub(crate) fn second_level() -> usize {
    caches()[1].bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_larger_the_further_they_are() {
        let [first, second] = caches();
        assert!(first.bytes <= second.bytes, "{first:?} {second:?}");
        assert!(second.bytes.is_multiple_of(second.ways.max(1)), "{second:?}");
        // What the system says, where it does; cores may differ.
        for (index, cache) in [(0, first), (2, second)] {
            let file = |cpu: usize| format!("/sys/devices/system/cpu/cpu{cpu}/cache/index{index}/size");
            let mut sizes = (0..).map_while(|cpu| std::fs::read_to_string(file(cpu)).ok()).peekable();
            if cache.bytes > 0 && sizes.peek().is_some() {
                let size = format!("{}K", cache.bytes / 1024);
                assert!(sizes.any(|own| own.trim() == size), "no cache {index} has {size}");
            }
        }
    }
}
