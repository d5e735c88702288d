//! Random numbers: a seedable generator for the process.
//!
//! The algorithm is xoshiro256++ (Blackman and Vigna, 2019), seeded through splitmix64. The numbers differ from
//! PyTorch's for the same seed; their distributions do not.

use std::sync::{Mutex, PoisonError};

use fx_kernels::elementwise::Operand::Cycle;
use fx_kernels::elementwise::{Unary, unary};

use super::{Tensor, numel};

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
    #[inline]
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

    /// A generator that goes on from here on its own.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self::new(self.bits())
    }

    /// An f32 tensor uniform in `low..high`, as `torch.nn.init.uniform_`.
    pub fn uniform_tensor(&mut self, shape: &[usize], low: f64, high: f64) -> Tensor {
        let (low, range) = (low as f32, (high - low) as f32);
        let elements = (0..numel(shape)).map(|_| self.uniform_f32() * range + low).collect();
        Tensor::from_vec::<f32>(shape, elements)
    }

    /// A normal f32 tensor, as `torch.nn.init.normal_`.
    pub fn normal_tensor(&mut self, shape: &[usize], mean: f64, std: f64) -> Tensor {
        let mut elements: Vec<f32> = vec![0.0; numel(shape)];
        self.fill_normal(&mut elements);
        let (mean, std) = (mean as f32, std as f32);
        elements.iter_mut().for_each(|x| *x = *x * std + mean);
        Tensor::from_vec(shape, elements)
    }

    /// Normal numbers with mean 0 and standard deviation 1: the two coordinates of points (Box and Muller, 1958), many at once.
    pub(crate) fn fill_normal(&mut self, elements: &mut [f32]) {
        const POINTS: usize = 512;
        const UNIT: f32 = 1.0 / (1_u32 << 24) as f32;
        let (mut radii, mut angles) = ([0.0; POINTS], [0.0; POINTS]);
        let (mut held, mut turned) = ([0.0; POINTS], [0.0; POINTS]);
        for out in elements.chunks_mut(2 * POINTS) {
            let points = out.len().div_ceil(2);
            for (radius, angle) in radii.iter_mut().zip(&mut angles).take(points) {
                let bits = self.bits();
                // In (0, 1], so that the logarithm is finite.
                *radius = (bits >> 40) as f32 * UNIT + UNIT;
                *angle = std::f32::consts::TAU * UNIT * ((bits >> 8) & 0xff_ffff) as f32;
            }
            unary(Unary::Log, &mut held[..points], Cycle(&radii[..points]));
            radii.iter_mut().zip(&held).for_each(|(radius, log)| *radius = (-2.0 * log).sqrt());
            for (op, out) in [Unary::Cos, Unary::Sin].into_iter().zip(out.chunks_mut(points)) {
                unary(op, &mut turned[..points], Cycle(&angles[..points]));
                out.iter_mut()
                    .zip(radii.iter().zip(&turned))
                    .for_each(|(out, (radius, turned))| *out = radius * turned);
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers() {
        let draw = || {
            manual_seed(7);
            with_default(|generator| (0..4).map(|_| generator.integer(0, 1 << 40)).collect::<Vec<_>>())
        };
        // Other tests may draw numbers in between.
        assert!((0..1000).any(|_| draw() == draw()));
    }

    /// Moments of the normal distribution, and numbers that do not depend on their neighbours.
    #[test]
    fn normal_numbers_are_normal() {
        // Not a multiple of what is drawn at once, and odd.
        const COUNT: usize = 200_001;
        let mut numbers = vec![f32::NAN; COUNT];
        Generator::new(3).fill_normal(&mut numbers);
        let mean = |f: &dyn Fn(&[f64]) -> f64, len: usize| {
            let numbers: Vec<f64> = numbers.iter().map(|x| f64::from(*x)).collect();
            numbers.windows(len).map(f).sum::<f64>() / COUNT as f64
        };
        for (power, want) in [(1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0)] {
            let got = mean(&|x| x[0].powi(power), 1);
            assert!((got - want).abs() < 0.05, "moment {power}: {got}");
        }
        for distance in [1, 512] {
            let got = mean(&|x| x[0] * x[distance], distance + 1);
            assert!(got.abs() < 0.01, "{distance} apart: {got}");
        }
        let within = mean(&|x| f64::from(u8::from(x[0].abs() < 1.0)), 1);
        assert!((within - 0.6827).abs() < 0.005, "{within} within a standard deviation");
    }
}
