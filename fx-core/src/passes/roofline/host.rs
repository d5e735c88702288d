//! The machine that this runs on, as a device.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use fx_kernels::memory::zeroed;
use fx_kernels::threads::{for_each, num_threads};
use fx_kernels::{peak_flops, read_all};

use super::Device;

/// What it takes to begin a step of a plan, in seconds: measured on processors of 2.5 to 3.7 GHz.
const OVERHEAD: f64 = 0.2e-6;
/// Rounds of each measurement, of which the fastest counts: others use the machine too.
const ROUNDS: usize = 5;

impl Device {
    /// This machine with as many threads as plans use now: the FLOP/s of f32 products in registers, and the rate at which
    /// memory is read that is in no cache. Each is measured once for a number of threads, which takes some 0.1 s.
    ///
    /// ```
    /// let device = fx_core::passes::Device::host();
    /// assert!(device.flops > 1e9 && device.bandwidth > 1e8);
    /// ```
    pub fn host() -> Self {
        static MEASURED: Mutex<Vec<(usize, Device)>> = Mutex::new(Vec::new());
        let threads = num_threads();
        let mut measured = MEASURED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, device)) = measured.iter().find(|(of, _)| *of == threads) {
            return device.clone();
        }
        let name = format!("this machine, {threads} thread{}", if threads == 1 { "" } else { "s" });
        let device = Self { name, flops: flops(threads), bandwidth: bandwidth(threads), overhead: OVERHEAD };
        measured.push((threads, device.clone()));
        device
    }
}

/// The highest rate of some rounds; each says how much it did.
fn rate(round: impl Fn() -> usize) -> f64 {
    let rates = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        let done = round();
        done as f64 / start.elapsed().as_secs_f64()
    });
    rates.fold(0.0, f64::max)
}

fn flops(threads: usize) -> f64 {
    const STEPS: usize = 20_000;
    rate(|| {
        let done = AtomicUsize::new(0);
        for_each(threads, usize::MAX, |_| {
            done.fetch_add(peak_flops(black_box(STEPS)), Ordering::Relaxed);
        });
        done.into_inner()
    })
}

fn bandwidth(threads: usize) -> f64 {
    /// More than most caches hold.
    const NUMBERS: usize = 32 << 20;
    let mut memory = zeroed(NUMBERS);
    // Pages that were never written are all the same zeros.
    memory.fill(1.0);
    let part = NUMBERS.div_ceil(threads);
    rate(|| {
        for_each(threads, usize::MAX, |index| {
            black_box(read_all(&memory[(index * part).min(NUMBERS)..((index + 1) * part).min(NUMBERS)]));
        });
        NUMBERS * size_of::<f32>()
    })
}
