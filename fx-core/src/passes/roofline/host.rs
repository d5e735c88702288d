//! The machine that this runs on, as a device.

use std::sync::{Mutex, PoisonError};

use fx_kernels::threads::num_threads;
use fx_kernels::{peak_bandwidth, peak_flops};

use super::Device;

/// What it takes to begin a step of a plan, in seconds: measured on processors of 2.5 to 3.7 GHz.
const OVERHEAD: f64 = 0.2e-6;

impl Device {
    /// This machine with as many threads as plans use now: the FLOP/s of f32 products in registers, and the rate at which
    /// memory is read that is in no cache. Each is measured once for a number of threads, which takes some 0.1 s and 128 MiB.
    ///
    /// ```
    /// let device = fx_core::passes::Device::host();
    /// assert!(device.flops > 1e9 && device.bandwidth > 1e8);
    /// ```
    pub fn host() -> Self {
        static MEASURED: Mutex<Vec<(usize, Device)>> = Mutex::new(Vec::new());
        let threads = num_threads();
        let known = |measured: &Vec<(usize, Self)>| {
            measured.iter().find(|(of, _)| *of == threads).map(|(_, device)| device.clone())
        };
        if let Some(device) = known(&MEASURED.lock().unwrap_or_else(PoisonError::into_inner)) {
            return device;
        }
        // Without the lock, for a thread that waits for others may be given work that wants it too.
        let name = format!("this machine, {threads} thread{}", if threads == 1 { "" } else { "s" });
        let (flops, bandwidth) = (peak_flops(threads), peak_bandwidth(threads));
        let device = Self { name, flops, bandwidth, overhead: OVERHEAD };
        let mut measured = MEASURED.lock().unwrap_or_else(PoisonError::into_inner);
        known(&measured).unwrap_or_else(|| {
            measured.push((threads, device.clone()));
            device
        })
    }
}
