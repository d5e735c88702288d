//! Random numbers: a seedable generator for the process.
//!
//! The algorithm is xoshiro256++ (Blackman and Vigna, 2019), seeded through splitmix64. The numbers differ from
//! PyTorch's for the same seed; their distributions do not.

use std::sync::{Mutex, PoisonError};

/// A source of random numbers.
#[derive(Clone, Debug)]
pub struct Generator {
    state: [u64; 4],
}

static DEFAULT: Mutex<Option<Generator>> = Mutex::new(None);

/// The seed of a process that sets none.
const DEFAULT_SEED: u64 = 0x5eed;

impl Generator {
    /// A generator that always gives the same numbers for the same seed.
    pub fn new(seed: u64) -> Self {
        let mut state = seed;
        Self { state: std::array::from_fn(|_| splitmix64(&mut state)) }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in `[0, 1)`, with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Uniform in `[0, 1)`, with the 24 bits that an `f32` holds.
    pub fn uniform_f32(&mut self) -> f32 {
        (self.bits() >> 40) as f32 * (1.0 / (1_u64 << 24) as f32)
    }

    /// Normal with mean 0 and standard deviation 1 (Box and Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Uniform in `low..high`.
    pub fn integer(&mut self, low: i64, high: i64) -> i64 {
        let range = high.wrapping_sub(low) as u64;
        low.wrapping_add(((u128::from(self.bits()) * u128::from(range)) >> 64) as i64)
    }
}

/// Seeds the generator of the process, as `torch.manual_seed`.
pub fn manual_seed(seed: u64) {
    *DEFAULT.lock().unwrap_or_else(PoisonError::into_inner) = Some(Generator::new(seed));
}

/// Runs `f` with the generator of the process.
pub fn with_default<R>(f: impl FnOnce(&mut Generator) -> R) -> R {
    let mut guard = DEFAULT.lock().unwrap_or_else(PoisonError::into_inner);
    f(guard.get_or_insert_with(|| Generator::new(DEFAULT_SEED)))
}

fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
