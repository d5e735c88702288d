//! Rust's operators for values, on every mix of value, reference, parameter, symbolic size and number.
//!
//! Each operator is recorded as the function of its name (`add`, not `__add__`), as in torch.fx. `+=` is an
//! out-of-place add. A generic function needs the operators of `V`, `&V` and the numbers: the first are supertraits
//! of [`Value`], the others are the bounds `for<'a> &'a V: RefOps<V>, f64: ScalarOps<V>, i64: ScalarOps<V>` that
//! `#[traceable]` writes.

use std::ops::{
    Add, AddAssign, BitAnd, BitOr, BitXor, Div, DivAssign, Mul, MulAssign, Neg, Not, Rem, RemAssign, Sub, SubAssign,
};

use crate::module::{Buffer, Parameter};
use crate::value::SymInt;

/// The operators of `V`, for a left-hand side `Self` that is `V` or `&V`.
///
/// Implemented one by one by [`value_operators!`](crate::value_operators), not for everything that has the operators:
/// while a value's type is still being inferred, the compiler must not search all operators of all crates for it.
pub trait RefOps<V>:
    Sized
    + Neg<Output = V>
    + Not<Output = V>
    + Arithmetic<V, V>
    + for<'b> Arithmetic<&'b V, V>
    + for<'b> Arithmetic<&'b Parameter, V>
    + for<'b> Arithmetic<&'b Buffer, V>
    + Arithmetic<SymInt<V>, V>
    + for<'b> Arithmetic<&'b SymInt<V>, V>
    + Arithmetic<f64, V>
    + Arithmetic<i64, V>
    + BitAnd<V, Output = V>
    + for<'b> BitAnd<&'b V, Output = V>
    + BitOr<V, Output = V>
    + for<'b> BitOr<&'b V, Output = V>
    + BitXor<V, Output = V>
    + for<'b> BitXor<&'b V, Output = V>
{
}

/// `+ - * / %` with a right-hand side `R`.
pub trait Arithmetic<R, V>:
    Add<R, Output = V> + Sub<R, Output = V> + Mul<R, Output = V> + Div<R, Output = V> + Rem<R, Output = V>
{
}

/// The operators of a number, a parameter or a buffer on the left of a `V`.
pub trait ScalarOps<V>: Sized + Arithmetic<V, V> + for<'b> Arithmetic<&'b V, V> {}

/// `+= -= *= /= %=`, which are recorded as the operators without `=`: nothing is changed in place.
pub trait AssignOps:
    Assign<Self>
    + for<'b> Assign<&'b Self>
    + Assign<f64>
    + Assign<i64>
    + for<'b> Assign<&'b Parameter>
    + Assign<SymInt<Self>>
    + for<'b> Assign<&'b SymInt<Self>>
    + Sized
{
}

/// `+= -= *= /= %=` with a right-hand side `R`.
pub trait Assign<R>: AddAssign<R> + SubAssign<R> + MulAssign<R> + DivAssign<R> + RemAssign<R> {}

impl<T, R> Assign<R> for T where T: AddAssign<R> + SubAssign<R> + MulAssign<R> + DivAssign<R> + RemAssign<R> {}

impl<T, R, V> Arithmetic<R, V> for T where
    T: Add<R, Output = V> + Sub<R, Output = V> + Mul<R, Output = V> + Div<R, Output = V> + Rem<R, Output = V>
{
}

/// Implements Rust's operators for a type that implements [`Value`](crate::value::Value).
#[macro_export]
macro_rules! value_operators {
    ($V:ty) => {
        $crate::value_operators!(@binary $V: Add add add AddAssign add_assign, Sub sub sub SubAssign sub_assign,
            Mul mul mul MulAssign mul_assign, Div div div DivAssign div_assign, Rem rem remainder RemAssign rem_assign);
        $crate::value_operators!(@mask $V: BitAnd bitand bitwise_and BitAndAssign bitand_assign,
            BitOr bitor bitwise_or BitOrAssign bitor_assign, BitXor bitxor bitwise_xor BitXorAssign bitxor_assign);
        $crate::value_operators!(@unary $V: Neg neg neg, Not not bitwise_not);

        impl $crate::value::AssignOps for $V {}
        impl $crate::value::RefOps<$V> for $V {}
        impl $crate::value::RefOps<$V> for &$V {}
        impl $crate::value::ScalarOps<$V> for f64 {}
        impl $crate::value::ScalarOps<$V> for i64 {}
        impl $crate::value::ScalarOps<$V> for &$crate::module::Parameter {}
        impl $crate::value::ScalarOps<$V> for &$crate::module::Buffer {}
    };
    (@unary $V:ty: $($Trait:ident $method:ident $op:ident),+) => { $(
        impl ::core::ops::$Trait for $V {
            type Output = $V;

            #[track_caller]
            fn $method(self) -> $V {
                $crate::value::Call::function($crate::ops::$op).operand(self).output()
            }
        }

        impl ::core::ops::$Trait for &$V {
            type Output = $V;

            #[track_caller]
            fn $method(self) -> $V {
                $crate::value::Call::function($crate::ops::$op).operand(self).output()
            }
        }
    )+ };
    (@binary $V:ty: $($Trait:ident $method:ident $op:ident $Assign:ident $assign:ident),+) => { $(
        $crate::value_operators!(@pair $V, $Trait $method $op:
            ($V, $V) ($V, &$V) (&$V, $V) (&$V, &$V)
            ($V, f64) (&$V, f64) (f64, $V) (f64, &$V)
            ($V, i64) (&$V, i64) (i64, $V) (i64, &$V)
            ($V, &$crate::module::Parameter) (&$V, &$crate::module::Parameter)
            (&$crate::module::Parameter, $V) (&$crate::module::Parameter, &$V)
            ($V, &$crate::module::Buffer) (&$V, &$crate::module::Buffer)
            (&$crate::module::Buffer, $V) (&$crate::module::Buffer, &$V)
            ($V, $crate::value::SymInt<$V>) (&$V, $crate::value::SymInt<$V>)
            ($V, &$crate::value::SymInt<$V>) (&$V, &$crate::value::SymInt<$V>)
        );
        $crate::value_operators!(@assign $V, $Assign $assign $Trait $method:
            $V, &$V, f64, i64, &$crate::module::Parameter, $crate::value::SymInt<$V>, &$crate::value::SymInt<$V>);
    )+ };
    (@mask $V:ty: $($Trait:ident $method:ident $op:ident $Assign:ident $assign:ident),+) => { $(
        $crate::value_operators!(@pair $V, $Trait $method $op: ($V, $V) ($V, &$V) (&$V, $V) (&$V, &$V));
        $crate::value_operators!(@assign $V, $Assign $assign $Trait $method: $V, &$V);
    )+ };
    (@pair $V:ty, $Trait:ident $method:ident $op:ident: $(($L:ty, $R:ty))+) => { $(
        impl ::core::ops::$Trait<$R> for $L {
            type Output = $V;

            #[track_caller]
            fn $method(self, rhs: $R) -> $V {
                $crate::value::Call::binary(
                    $crate::ops::$op,
                    $crate::value::Scalarlike::into_scalarlike(self),
                    $crate::value::Scalarlike::into_scalarlike(rhs),
                )
            }
        }
    )+ };
    (@assign $V:ty, $Assign:ident $assign:ident $Trait:ident $method:ident: $($R:ty),+) => { $(
        impl ::core::ops::$Assign<$R> for $V {
            #[track_caller]
            fn $assign(&mut self, rhs: $R) {
                *self = ::core::ops::$Trait::$method(&*self, rhs);
            }
        }
    )+ };
}

value_operators!(crate::tensor::Tensor);
value_operators!(crate::trace::Proxy);
value_operators!(crate::value::Meta);
