//! Functions of f64, number by number: those that take long without vectors.

use super::Unary;
use crate::math::{self, double};
use crate::simd::{Kernel, Level, Vector, dispatch};
use crate::threads::for_each_piece;

/// The numbers that a thread takes at a time, and the operations on each, nearly.
const PIECE: usize = 4096;
const OPERATIONS: usize = 30;

/// What writes a function of each number, which are as many.
type Run = fn(Level, &mut [f64], &[f64]);

macro_rules! functions {
    ($($Name:ident: $function:expr;)+) => {
        /// What writes a function of each number, with instructions of a level, if there is a kernel of f64 for it.
        fn run(op: Unary) -> Option<Run> {
            match op {
                $(Unary::$Name => {
                    struct Function<'a> {
                        out: &'a mut [f64],
                        x: &'a [f64],
                    }

                    impl Kernel for Function<'_> {
                        type Elem = f64;
                        type Output = ();

                        #[inline(always)]
                        fn run<V: Vector<Elem = f64>>(self) {
                            for (out, x) in self.out.chunks_mut(V::LANES).zip(self.x.chunks(V::LANES)) {
                                if x.len() == V::LANES {
                                    $function(V::load(x)).store(out);
                                } else {
                                    $function(V::load_part(x)).store_part(out);
                                }
                            }
                        }
                    }
                    Some(|level, out, x| dispatch(level, Function { out, x }))
                })+
                _ => None,
            }
        }

        /// Those that there are.
        #[cfg(test)]
        pub(super) const FUNCTIONS: &[Unary] = &[$(Unary::$Name),+];
    };
}

functions! {
    Exp: double::exp;
    Expm1: double::expm1;
    Log: double::log;
    Log2: double::log2;
    Log10: double::log10;
    Log1p: math::log1p;
    Sin: double::sin;
    Cos: double::cos;
    Sinh: math::hyperbolic::sinh;
    Cosh: math::hyperbolic::cosh;
    Asinh: math::hyperbolic::asinh;
    Acosh: math::hyperbolic::acosh;
    Atanh: math::hyperbolic::atanh;
    Tanh: double::tanh;
    Sigmoid: math::sigmoid;
}

/// What writes a function of each of some f64, if there is a kernel for it; it panics if there are not as many results as numbers.
pub fn unary_f64(op: Unary) -> Option<impl Fn(&mut [f64], &[f64])> {
    unary_at(Level::detect(), op)
}

/// As [`unary_f64`], with instructions of the given level.
pub(super) fn unary_at(level: Level, op: Unary) -> Option<impl Fn(&mut [f64], &[f64])> {
    let run = run(op)?;
    Some(move |out: &mut [f64], x: &[f64]| {
        assert_eq!(out.len(), x.len(), "there are as many results as numbers");
        for_each_piece(out, PIECE, OPERATIONS * x.len(), |piece, out| {
            run(level, out, &x[piece * PIECE..][..out.len()]);
        });
    })
}
