//! Which buffer holds which value: those of dead values are used again.

/// The buffers of a plan, by their lengths in f32 elements.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    lens: Vec<usize>,
    free: Vec<usize>,
}

impl Buffers {
    /// A buffer for `len` elements: the smallest free one that is long enough, else the longest, made longer, else a
    /// new one.
    pub(super) fn acquire(&mut self, len: usize) -> usize {
        let lens = &self.lens;
        let fits = self.free.iter().filter(|buffer| lens[**buffer] >= len).min_by_key(|buffer| lens[**buffer]);
        let found = fits.or_else(|| self.free.iter().max_by_key(|buffer| lens[**buffer])).copied();
        let Some(buffer) = found else {
            self.lens.push(len);
            return self.lens.len() - 1;
        };
        self.free.retain(|free| *free != buffer);
        self.lens[buffer] = self.lens[buffer].max(len);
        buffer
    }

    /// The value in a buffer is dead.
    pub(super) fn release(&mut self, buffer: usize) {
        debug_assert!(!self.free.contains(&buffer), "a buffer is freed once");
        self.free.push(buffer);
    }

    pub(super) fn lens(self) -> Vec<usize> {
        self.lens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_of_dead_values_are_used_again() {
        let mut buffers = Buffers::default();
        let (a, b) = (buffers.acquire(10), buffers.acquire(20));
        buffers.release(a);
        assert_eq!(buffers.acquire(5), a);
        buffers.release(b);
        assert_eq!(buffers.acquire(30), b);
        assert_eq!(buffers.lens(), [10, 30]);
    }
}
