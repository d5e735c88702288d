//! Every operation on vectors, of every level, against the same operation on numbers.

use super::*;

/// Applies every operation to `x` and `y` in all lanes.
struct All<T> {
    x: T,
    y: T,
}

macro_rules! for_type {
    ($test:ident, $T:ty) => {
        impl All<$T> {
            #[inline(always)]
            fn results<L: Lanes<Elem = $T>>(&self) -> [(&'static str, L); 20] {
                let (x, y) = (L::splat(self.x), L::splat(self.y));
                let (one, zero) = (L::splat(1.0), L::zero());
                [
                    ("add", x + y),
                    ("sub", x - y),
                    ("mul", x * y),
                    ("div", x / y),
                    ("neg", -x),
                    ("min", x.min(y)),
                    ("max", x.max(y)),
                    ("abs", x.abs()),
                    ("sqrt", x.sqrt()),
                    ("round", x.round()),
                    ("floor", x.floor()),
                    ("lt", L::select(x.lt(y), one, zero)),
                    ("le", L::select(x.le(y), one, zero)),
                    ("eq", L::select(x.eq(y), one, zero)),
                    ("mul_add", x.mul_add(y, one)),
                    ("exponent", L::splat(self.x.abs().clamp(1e-30, 1e30)).exponent()),
                    ("scale", x.scale(L::splat(self.y.clamp(-140.0, 140.0).round()))),
                    ("scale_normal", x.scale_normal(L::splat(self.y.clamp(-126.0, 127.0).round()))),
                    ("any", if L::any(x.lt(y)) { one } else { zero }),
                    ("each", x.each(|x| x + 1.0)),
                ]
            }
        }

        impl Kernel for All<$T> {
            type Elem = $T;
            type Output = Vec<(&'static str, Vec<$T>)>;

            #[inline(always)]
            fn run<V: Vector<Elem = $T>>(self) -> Self::Output {
                let mut all: Vec<_> = self.results::<V>().map(|(name, x)| (name, vec![0.0; V::LANES], x)).into();
                all.iter_mut().for_each(|(_, lanes, x)| x.store(lanes));
                let mut all: Vec<_> = all.into_iter().map(|(name, lanes, _)| (name, lanes)).collect();
                for (name, several) in self.results::<Beside<V>>() {
                    let mut lanes = vec![0.0; BESIDE * V::LANES];
                    // SAFETY: there are as many numbers.
                    unsafe { several.store_each(lanes.as_mut_ptr(), Beside::<V>::from(0)) };
                    all.push((name, lanes));
                }
                all
            }
        }

        #[test]
        fn $test() {
            let numbers = [
                0.0,
                -0.0,
                1.0,
                -1.5,
                2.5,
                3.5,
                -2.5,
                7.25,
                (1_u64 << 40) as $T,
                <$T>::INFINITY,
                -<$T>::INFINITY,
                <$T>::NAN,
            ];
            let truth = |holds: bool| if holds { 1.0 } else { 0.0 };
            for level in Level::available() {
                for (x, y) in numbers.into_iter().flat_map(|x| numbers.map(|y| (x, y))) {
                    for (name, lanes) in dispatch(level, All { x, y }) {
                        let want: $T = match name {
                            "add" => x + y,
                            "sub" => x - y,
                            "mul" => x * y,
                            "div" => x / y,
                            "neg" => -x,
                            "min" => {
                                if x < y {
                                    x
                                } else {
                                    y
                                }
                            }
                            "max" => {
                                if x > y {
                                    x
                                } else {
                                    y
                                }
                            }
                            "abs" => x.abs(),
                            "sqrt" => x.sqrt(),
                            "round" => x.round_ties_even(),
                            "floor" => x.floor(),
                            "lt" => truth(x < y),
                            "le" => truth(x <= y),
                            "eq" => truth(x == y),
                            "any" => truth(x < y),
                            "each" => x + 1.0,
                            "mul_add" => x * y + 1.0,
                            "exponent" if x.is_nan() => continue,
                            "exponent" => x.abs().clamp(1e-30, 1e30).log2().floor(),
                            "scale" | "scale_normal" if y.is_nan() => continue,
                            "scale" => (f64::from(x) * f64::from(y.clamp(-140.0, 140.0).round()).exp2()) as $T,
                            "scale_normal" => (f64::from(x) * f64::from(y.clamp(-126.0, 127.0).round()).exp2()) as $T,
                            _ => unreachable!("{name} has no definition"),
                        };
                        for got in lanes {
                            let same = got == want && got.is_sign_negative() == want.is_sign_negative();
                            assert!(
                                same || got.is_nan() && want.is_nan(),
                                "{level:?} {name} {x} {y}: {got}, not {want}"
                            );
                        }
                    }
                }
            }
        }

        impl Kernel for &[[$T; 2]] {
            type Elem = $T;
            type Output = ();

            /// Bits in common and in either, and moved by every distance.
            #[inline(always)]
            fn run<V: Vector<Elem = $T>>(self) {
                for [x, y] in self {
                    let (a, b) = (x.to_bits(), y.to_bits());
                    let mut checks =
                        vec![(V::splat(*x).and(V::splat(*y)), a & b), (V::splat(*x).or(V::splat(*y)), a | b)];
                    for by in 0..a.count_zeros() + a.count_ones() {
                        checks.push((V::splat(*x).bits_up(by), a << by));
                        checks.push((V::splat(*x).bits_down(by), a >> by));
                    }
                    for (got, want) in checks {
                        let mut lanes = vec![0.0; V::LANES];
                        got.store(&mut lanes);
                        assert!(lanes.iter().all(|x: &$T| x.to_bits() == want), "{x} {y}: {lanes:?}, not {want:x}");
                    }
                }
            }
        }

        impl Kernel for &[$T] {
            type Elem = $T;
            type Output = ();

            /// Copies every beginning of itself, and checks that nothing else is written; puts lanes in other orders.
            #[inline(always)]
            fn run<V: Vector<Elem = $T>>(self) {
                for count in 0..=V::LANES {
                    let mut out = vec![9.0; V::LANES + 1];
                    V::load_part(&self[..count]).store_part(&mut out[..count]);
                    assert!(out[..count] == self[..count] && out[count..].iter().all(|&x| x == 9.0));
                    V::load_part(&self[..count]).store(&mut out);
                    assert!(out[count..V::LANES].iter().all(|&x| x == 0.0) && out[V::LANES] == 9.0);
                    assert_eq!(V::load_part(&self[..count]).sum(), self[..count].iter().sum());
                }
                for by in 0..V::LANES {
                    let mut order = vec![0.0; V::LANES];
                    V::load(self).swapped(by).store(&mut order);
                    assert!(order.iter().enumerate().all(|(lane, &x)| x == self[lane ^ by]), "{order:?}");
                }
                let (n, wide) = (V::LANES, V::LANES + 3);
                let square: Vec<$T> = (0..wide * n).map(|i| i as $T).collect();
                let mut turned = vec![0.0; wide * n];
                // SAFETY: both have `n` rows of more than `n` numbers.
                unsafe { V::transpose(square.as_ptr(), wide, turned.as_mut_ptr(), wide) };
                let expected = |i: usize| if i % wide < n { square[i % wide * wide + i / wide] } else { 0.0 };
                assert!(turned.iter().enumerate().all(|(i, &x)| x == expected(i)));
            }
        }
    };
}

for_type!(single_precision, f32);
for_type!(double_precision, f64);

#[test]
fn bits() {
    for level in Level::available() {
        let pairs = [[1.5_f32, -2.25], [-0.0, 1e-42], [1e30, 7.7], [3.3, 3.3]];
        dispatch(level, &pairs[..]);
        dispatch(level, &pairs.map(|pair| pair.map(f64::from))[..]);
    }
}

#[test]
fn parts_of_vectors() {
    for level in Level::available() {
        dispatch(level, &(1..=16_u8).map(f32::from).collect::<Vec<_>>()[..]);
        dispatch(level, &(1..=16_u8).map(f64::from).collect::<Vec<_>>()[..]);
    }
}
