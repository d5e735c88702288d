//! The vocabulary of the op table: what an operand or an attribute of each kind may be written as, how it is
//! recorded, and what the op's functions get.
//!
//! A kind is a marker type with the name that rows use. [`Encode`] says what a caller may write for it,
//! [`Kind`] and [`OperandKind`] say what the recorded argument is read as. Reading is generic in [`Concrete`], so
//! that `eval` (on tensors) and `infer` (on shapes) get the same signature in their own terms.

#![allow(non_camel_case_types, reason = "kinds are the table's keywords")]

use std::borrow::Cow;
use std::marker::PhantomData;

use smallvec::SmallVec;

use super::function;
use crate::arg::Arg;
use crate::tensor::{DType, Scalar, Tensor};
use crate::value::{self, Dim, Meta, OptOperand, Scalarlike, SymInt, TensorMeta, Value};

/// A value that an op's own functions are written for: tensors (`eval`) or their shapes (`infer`).
pub trait Concrete: Value + function::Describe {
    /// What a tensor operand is.
    type Data: 'static;
    /// What a size is: an integer, or a symbolic dimension.
    type Size: Clone + PartialEq + std::fmt::Debug;

    /// The tensor in a value.
    fn data(&self) -> Option<&Self::Data>;

    /// The size that an argument stands for.
    fn size_of(arg: &Arg<Self>) -> Option<Self::Size>;
}

impl Concrete for Tensor {
    type Data = Tensor;
    type Size = i64;

    fn data(&self) -> Option<&Tensor> {
        Some(self)
    }

    fn size_of(arg: &Arg<Self>) -> Option<i64> {
        int_of(arg)
    }
}

impl Concrete for Meta {
    type Data = TensorMeta;
    type Size = Dim;

    fn data(&self) -> Option<&TensorMeta> {
        self.as_tensor()
    }

    fn size_of(arg: &Arg<Self>) -> Option<Dim> {
        match arg {
            Arg::Value(Meta::Int(dim)) => Some(dim.clone()),
            other => int_of(other).map(Dim::from),
        }
    }
}

/// How a caller may write an argument of kind `K`.
pub trait Encode<K, V> {
    /// The argument to record.
    fn encode(self) -> Arg<V>;
}

/// A kind of attribute.
pub trait Kind {
    /// What the op's functions get.
    type Held<C: Concrete>;
    /// What it is called in messages.
    const EXPECTED: &'static str;

    /// Reads a recorded argument.
    fn read<C: Concrete>(arg: &Arg<C>) -> Option<Self::Held<C>>;
}

/// A kind of operand.
pub trait OperandKind {
    /// What the op's functions get.
    type Held<'a, C: Concrete>;
    /// The kind as data.
    const KIND: function::OperandKind;

    /// Reads a recorded argument; an absent one is `Arg::None`.
    fn read<C: Concrete>(arg: &Arg<C>) -> Option<Self::Held<'_, C>>;
}

/// A number or a tensor, as the functions of an op get it.
pub enum Num<'a, C: Concrete> {
    /// A tensor.
    Tensor(&'a C::Data),
    /// A number.
    Scalar(Scalar),
    /// A size that is not known yet.
    Size(C::Size),
}

/// A size or a number that is none, as in `arange(x.size(0))`.
#[derive(Clone, Debug, PartialEq)]
pub enum Number<C: Concrete> {
    /// An integer, perhaps symbolic.
    Size(C::Size),
    /// A floating-point number.
    Float(f64),
}

// --- operands ----------------------------------------------------------------------------------------------

/// One tensor.
pub struct one;
/// A tensor or nothing.
pub struct opt;
/// A list of tensors.
pub struct many;
/// A tensor or a number.
pub struct num;
/// Anything, as it was recorded.
pub struct any;

impl OperandKind for one {
    type Held<'a, C: Concrete> = &'a C::Data;
    const KIND: function::OperandKind = function::OperandKind::One;

    fn read<C: Concrete>(arg: &Arg<C>) -> Option<&C::Data> {
        arg.as_value()?.data()
    }
}

impl OperandKind for opt {
    type Held<'a, C: Concrete> = Option<&'a C::Data>;
    const KIND: function::OperandKind = function::OperandKind::Opt;

    fn read<C: Concrete>(arg: &Arg<C>) -> Option<Option<&C::Data>> {
        if arg.is_none() { Some(None) } else { one::read(arg).map(Some) }
    }
}

impl OperandKind for many {
    type Held<'a, C: Concrete> = Vec<&'a C::Data>;
    const KIND: function::OperandKind = function::OperandKind::Many;

    fn read<C: Concrete>(arg: &Arg<C>) -> Option<Vec<&C::Data>> {
        arg.as_items()?.iter().map(one::read).collect()
    }
}

impl OperandKind for num {
    type Held<'a, C: Concrete> = Num<'a, C>;
    const KIND: function::OperandKind = function::OperandKind::Num;

    fn read<C: Concrete>(arg: &Arg<C>) -> Option<Num<'_, C>> {
        match arg {
            Arg::Value(value) => match value.data() {
                Some(data) => Some(Num::Tensor(data)),
                None => C::size_of(arg).map(Num::Size),
            },
            other => scalar_of(other).map(Num::Scalar),
        }
    }
}

impl OperandKind for any {
    type Held<'a, C: Concrete> = &'a Arg<C>;
    const KIND: function::OperandKind = function::OperandKind::Any;

    fn read<C: Concrete>(arg: &Arg<C>) -> Option<&Arg<C>> {
        Some(arg)
    }
}

impl<V, T: value::Operand<V>> Encode<one, V> for T {
    #[track_caller]
    fn encode(self) -> Arg<V> {
        self.into_operand()
    }
}

impl<V, T: OptOperand<V>> Encode<opt, V> for T {
    #[track_caller]
    fn encode(self) -> Arg<V> {
        self.into_opt_operand()
    }
}

impl<V, T: Scalarlike<V>> Encode<num, V> for T {
    #[track_caller]
    fn encode(self) -> Arg<V> {
        self.into_scalarlike()
    }
}

impl<V: Value> Encode<many, V> for Vec<V> {
    fn encode(self) -> Arg<V> {
        Arg::List(self.into_iter().map(Arg::Value).collect())
    }
}

impl<V: Value> Encode<many, V> for &[V] {
    fn encode(self) -> Arg<V> {
        Arg::List(self.iter().cloned().map(Arg::Value).collect())
    }
}

impl<V: Value> Encode<many, V> for &Vec<V> {
    fn encode(self) -> Arg<V> {
        Arg::List(self.iter().cloned().map(Arg::Value).collect())
    }
}

impl<V, T: value::Operand<V>, const N: usize> Encode<many, V> for [T; N] {
    #[track_caller]
    fn encode(self) -> Arg<V> {
        Arg::List(self.into_iter().map(T::into_operand).collect())
    }
}

impl<V, const N: usize, T> Encode<many, V> for &[T; N]
where
    for<'a> &'a T: value::Operand<V>,
{
    #[track_caller]
    fn encode(self) -> Arg<V> {
        Arg::List(self.iter().map(|operand| value::Operand::into_operand(operand)).collect())
    }
}

// --- attributes --------------------------------------------------------------------------------------------

/// An attribute that may be `None`.
pub struct maybe<K>(PhantomData<K>);

impl<K: Kind> Kind for maybe<K> {
    type Held<C: Concrete> = Option<K::Held<C>>;
    const EXPECTED: &'static str = K::EXPECTED;

    fn read<C: Concrete>(arg: &Arg<C>) -> Option<Self::Held<C>> {
        if arg.is_none() { Some(None) } else { K::read(arg).map(Some) }
    }
}

/// Declares kinds of attributes: the marker, what functions get, what messages say, how it is read, and what
/// callers may write, the first of which is also the type in an `Option`.
macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $kind:ident, $maybe:ident: $Held:ty, $expected:literal, $read:expr,
        $First:ty $(, $More:ty)* => $encode:expr;)+) => { $(
        $(#[doc = $doc])*
        pub struct $kind;
        #[doc = concat!("`", stringify!($kind), "` or `None`.")]
        pub type $maybe = maybe<$kind>;

        impl Kind for $kind {
            type Held<C: Concrete> = $Held;
            const EXPECTED: &'static str = $expected;

            fn read<C: Concrete>(arg: &Arg<C>) -> Option<$Held> {
                let read: fn(&Arg<C>) -> Option<$Held> = $read;
                read(arg)
            }
        }

        kinds!(@encode $kind: $First $(, $More)* => $encode);

        impl<V> Encode<maybe<$kind>, V> for Option<$First> {
            fn encode(self) -> Arg<V> {
                self.map_or(Arg::None, |x| Encode::<$kind, V>::encode(x))
            }
        }
    )+ };
    (@encode $kind:ident: $($From:ty),+ => $encode:expr) => { $(
        impl<V> Encode<$kind, V> for $From {
            fn encode(self) -> Arg<V> {
                let encode: fn($From) -> Arg<V> = $encode;
                encode(self)
            }
        }

        impl<V> Encode<maybe<$kind>, V> for $From {
            fn encode(self) -> Arg<V> {
                Encode::<$kind, V>::encode(self)
            }
        }
    )+ };
}

kinds! {
    /// A boolean.
    flag, opt_flag: bool, "a bool", |arg| match arg { Arg::Bool(x) => Some(*x), _ => None },
        bool => |x| Arg::Bool(x);
    /// An integer.
    int, opt_int: i64, "an int", |arg| int_of(arg),
        i64, i32, usize => |x| Arg::Int(x as i64);
    /// A floating-point number.
    float, opt_float: f64, "a float", |arg| scalar_of(arg).map(Scalar::to_f64),
        f64, f32, i64, i32 => |x| Arg::Float(x.into_f64());
    /// A number.
    scalar, opt_scalar: Scalar, "a number", |arg| scalar_of(arg),
        f64, f32, i64, i32, usize, bool, Scalar => |x| Scalar::from(x).into();
    /// An element type.
    dtype, opt_dtype: DType, "a dtype", |arg| match arg { Arg::DType(x) => Some(*x), _ => None },
        DType => |x| Arg::DType(x);
    /// One of a few words.
    string, opt_string: Cow<'static, str>, "a string",
        |arg| match arg { Arg::Str(x) => Some(x.clone()), _ => None },
        &'static str, String => |x| Arg::Str(x.into());
    /// Floating-point numbers, one a dimension.
    floats, opt_floats: SmallVec<[f64; 4]>, "a list of floats",
        |arg| match scalar_of(arg) {
            Some(x) => Some(SmallVec::from_slice(&[x.to_f64()])),
            None => arg.as_items()?.iter().map(|x| scalar_of(x).map(Scalar::to_f64)).collect(),
        },
        Vec<f64>, f64 => |x| x.into_floats();
}

trait IntoF64 {
    fn into_f64(self) -> f64;
}

macro_rules! into_f64 {
    ($($T:ty),+) => { $(impl IntoF64 for $T {
        fn into_f64(self) -> f64 {
            self as f64
        }
    })+ };
}
into_f64!(f64, f32, i64, i32);

trait IntoFloats {
    fn into_floats<V>(self) -> Arg<V>;
}

impl IntoFloats for Vec<f64> {
    fn into_floats<V>(self) -> Arg<V> {
        Arg::Tuple(self.into_iter().map(Arg::Float).collect())
    }
}

impl IntoFloats for f64 {
    fn into_floats<V>(self) -> Arg<V> {
        Arg::Float(self)
    }
}

/// Integers: dimensions, shifts. One integer stands for a list of one.
pub struct ints;
/// `ints` or `None`.
pub type opt_ints = maybe<ints>;

impl Kind for ints {
    type Held<C: Concrete> = SmallVec<[i64; 4]>;
    const EXPECTED: &'static str = "an int or a list of ints";

    fn read<C: Concrete>(arg: &Arg<C>) -> Option<SmallVec<[i64; 4]>> {
        match arg.as_items() {
            Some(items) => items.iter().map(int_of).collect(),
            None => int_of(arg).map(|x| SmallVec::from_slice(&[x])),
        }
    }
}

/// What may be written for [`ints`].
#[diagnostic::on_unimplemented(message = "`{Self}` cannot be used where an integer or a list of integers is expected")]
pub trait Ints {
    /// The argument to record: an int, or a tuple of ints.
    fn into_arg<V>(self) -> Arg<V>;
}

impl<V, T: Ints> Encode<ints, V> for T {
    fn encode(self) -> Arg<V> {
        self.into_arg()
    }
}

impl<V, T: Ints> Encode<maybe<ints>, V> for T {
    fn encode(self) -> Arg<V> {
        self.into_arg()
    }
}

impl Ints for Option<i64> {
    fn into_arg<V>(self) -> Arg<V> {
        self.map_or(Arg::None, Arg::Int)
    }
}

macro_rules! int_lists {
    ($($T:ty),+) => { $(
        impl Ints for $T {
            fn into_arg<V>(self) -> Arg<V> {
                Arg::Int(self as i64)
            }
        }

        impl<const N: usize> Ints for [$T; N] {
            fn into_arg<V>(self) -> Arg<V> {
                Arg::Tuple(self.into_iter().map(|x| Arg::Int(x as i64)).collect())
            }
        }

        impl Ints for &[$T] {
            fn into_arg<V>(self) -> Arg<V> {
                Arg::Tuple(self.iter().map(|x| Arg::Int(*x as i64)).collect())
            }
        }

        impl Ints for Vec<$T> {
            fn into_arg<V>(self) -> Arg<V> {
                self.as_slice().into_arg()
            }
        }

        impl<const N: usize> Window<N> for $T {
            fn into_arg<V>(self) -> Arg<V> {
                Ints::into_arg([self; N])
            }
        }

        impl<const N: usize> Window<N> for [$T; N] {
            fn into_arg<V>(self) -> Arg<V> {
                Ints::into_arg(self)
            }
        }
    )+ };
}
int_lists!(i64, i32, usize);

/// One integer for each of `N` spatial dimensions; one integer stands for all of them.
pub struct window<const N: usize>;
/// A window of one dimension.
pub type single = window<1>;
/// A window of two dimensions.
pub type pair = window<2>;
/// A window of three dimensions.
pub type triple = window<3>;
/// `single` or `None`.
pub type opt_single = maybe<single>;
/// `pair` or `None`.
pub type opt_pair = maybe<pair>;
/// `triple` or `None`.
pub type opt_triple = maybe<triple>;

impl<const N: usize> Kind for window<N> {
    type Held<C: Concrete> = [usize; N];
    const EXPECTED: &'static str = "an int or one for each spatial dimension";

    fn read<C: Concrete>(arg: &Arg<C>) -> Option<[usize; N]> {
        let held = ints::read(arg)?;
        let held: SmallVec<[usize; 4]> = held.into_iter().map(|x| usize::try_from(x).ok()).collect::<Option<_>>()?;
        match held.len() {
            1 => Some([held[0]; N]),
            len if len == N => held.as_slice().try_into().ok(),
            _ => None,
        }
    }
}

/// What may be written for a [`window`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be used where a size for each of {N} spatial dimensions is expected",
    note = "an integer or an array of {N} integers can"
)]
pub trait Window<const N: usize> {
    /// The argument to record: a tuple of `N` ints.
    fn into_arg<V>(self) -> Arg<V>;
}

impl<V, const N: usize, T: Window<N>> Encode<window<N>, V> for T {
    fn encode(self) -> Arg<V> {
        self.into_arg()
    }
}

impl<V, const N: usize, T: Window<N>> Encode<maybe<window<N>>, V> for T {
    fn encode(self) -> Arg<V> {
        self.into_arg()
    }
}

impl<const N: usize> Window<N> for Option<[usize; N]> {
    fn into_arg<V>(self) -> Arg<V> {
        self.map_or(Arg::None, Ints::into_arg)
    }
}

/// Padding of `N` spatial dimensions: amounts, `"same"` or `"valid"`.
pub struct margin<const N: usize>;
/// Padding of one dimension.
pub type margin1 = margin<1>;
/// Padding of two dimensions.
pub type margin2 = margin<2>;
/// Padding of three dimensions.
pub type margin3 = margin<3>;

/// Padding of `N` spatial dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding<const N: usize> {
    /// This much on both sides of each dimension.
    Explicit([usize; N]),
    /// As much as keeps the size; more after than before if it is odd.
    Same,
    /// None.
    Valid,
}

impl<const N: usize> Kind for margin<N> {
    type Held<C: Concrete> = Padding<N>;
    const EXPECTED: &'static str = "an int, one for each spatial dimension, \"same\" or \"valid\"";

    fn read<C: Concrete>(arg: &Arg<C>) -> Option<Padding<N>> {
        match arg {
            Arg::Str(word) if word == "same" => Some(Padding::Same),
            Arg::Str(word) if word == "valid" => Some(Padding::Valid),
            other => window::read(other).map(Padding::Explicit),
        }
    }
}

impl<V, const N: usize, T: Margin<N>> Encode<margin<N>, V> for T {
    fn encode(self) -> Arg<V> {
        self.into_arg()
    }
}

/// What may be written for a [`margin`].
pub trait Margin<const N: usize> {
    /// The argument to record: a tuple of `N` ints, or a word.
    fn into_arg<V>(self) -> Arg<V>;
}

impl<const N: usize> Margin<N> for Padding<N> {
    fn into_arg<V>(self) -> Arg<V> {
        match self {
            Padding::Explicit(amounts) => Ints::into_arg(amounts),
            Padding::Same => Arg::Str(Cow::Borrowed("same")),
            Padding::Valid => Arg::Str(Cow::Borrowed("valid")),
        }
    }
}

impl<const N: usize> Margin<N> for &'static str {
    fn into_arg<V>(self) -> Arg<V> {
        Arg::Str(Cow::Borrowed(self))
    }
}

macro_rules! margins {
    ($($T:ty),+) => { $(
        impl<const N: usize> Margin<N> for $T {
            fn into_arg<V>(self) -> Arg<V> {
                Ints::into_arg([self; N])
            }
        }

        impl<const N: usize> Margin<N> for [$T; N] {
            fn into_arg<V>(self) -> Arg<V> {
                Ints::into_arg(self)
            }
        }
    )+ };
}
margins!(i64, i32, usize);

/// A size, perhaps symbolic.
pub struct size;
/// `size` or `None`.
pub type opt_size = maybe<size>;
/// Sizes, perhaps symbolic: a shape. One size stands for a list of one.
pub struct sizes;
/// A size or a number that is none.
pub struct number;
/// `number` or `None`.
pub type opt_number = maybe<number>;

impl Kind for size {
    type Held<C: Concrete> = C::Size;
    const EXPECTED: &'static str = "a size";

    fn read<C: Concrete>(arg: &Arg<C>) -> Option<C::Size> {
        C::size_of(arg)
    }
}

impl Kind for sizes {
    type Held<C: Concrete> = SmallVec<[C::Size; 6]>;
    const EXPECTED: &'static str = "a list of sizes";

    fn read<C: Concrete>(arg: &Arg<C>) -> Option<SmallVec<[C::Size; 6]>> {
        match arg.as_items() {
            Some(items) => items.iter().map(C::size_of).collect(),
            None => C::size_of(arg).map(|x| SmallVec::from_iter([x])),
        }
    }
}

impl Kind for number {
    type Held<C: Concrete> = Number<C>;
    const EXPECTED: &'static str = "a number or a size";

    fn read<C: Concrete>(arg: &Arg<C>) -> Option<Number<C>> {
        match arg {
            Arg::Float(x) => Some(Number::Float(*x)),
            other => C::size_of(other).map(Number::Size),
        }
    }
}

impl<V, T: Into<SymInt<V>>> Encode<size, V> for T
where
    V: Clone,
{
    fn encode(self) -> Arg<V> {
        self.into().as_arg().clone()
    }
}

impl<V, T: Into<SymInt<V>>> Encode<maybe<size>, V> for T
where
    V: Clone,
{
    fn encode(self) -> Arg<V> {
        self.into().as_arg().clone()
    }
}

impl<V, T: Sizes<V>> Encode<sizes, V> for T {
    fn encode(self) -> Arg<V> {
        self.into_sizes()
    }
}

/// What may be written for a shape: an array, a slice, a vector or a tuple of integers and symbolic sizes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be used as a shape",
    note = "arrays, vectors and tuples of integers and symbolic sizes can: `(x.size(0), -1)`"
)]
pub trait Sizes<V> {
    /// The argument to record: a tuple of ints and values.
    fn into_sizes(self) -> Arg<V>;
}

impl<V: Clone, T: Into<SymInt<V>>, const N: usize> Sizes<V> for [T; N] {
    fn into_sizes(self) -> Arg<V> {
        Arg::Tuple(self.into_iter().map(|x| x.into().as_arg().clone()).collect())
    }
}

impl<V: Clone, T: Into<SymInt<V>> + Clone> Sizes<V> for &[T] {
    fn into_sizes(self) -> Arg<V> {
        Arg::Tuple(self.iter().map(|x| x.clone().into().as_arg().clone()).collect())
    }
}

impl<V: Clone, T: Into<SymInt<V>>> Sizes<V> for Vec<T> {
    fn into_sizes(self) -> Arg<V> {
        Arg::Tuple(self.into_iter().map(|x| x.into().as_arg().clone()).collect())
    }
}

impl<V: Clone> Sizes<V> for SymInt<V> {
    fn into_sizes(self) -> Arg<V> {
        Arg::Tuple(vec![self.as_arg().clone()])
    }
}

macro_rules! size_tuples {
    ($(($($T:ident $i:tt),*);)+) => { $(
        impl<V: Clone, $($T: Into<SymInt<V>>),*> Sizes<V> for ($($T,)*) {
            fn into_sizes(self) -> Arg<V> {
                Arg::Tuple(vec![$(self.$i.into().as_arg().clone()),*])
            }
        }
    )+ };
}
size_tuples! {
    ();
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
}

macro_rules! numbers {
    ($($T:ty),+) => { $(
        impl<V> Sizes<V> for $T {
            fn into_sizes(self) -> Arg<V> {
                Arg::Tuple(vec![Arg::Int(self as i64)])
            }
        }

        impl<V> Encode<number, V> for $T {
            fn encode(self) -> Arg<V> {
                Arg::Int(self as i64)
            }
        }
    )+ };
}
numbers!(i64, i32, usize);

impl<V> Encode<number, V> for f64 {
    fn encode(self) -> Arg<V> {
        Arg::Float(self)
    }
}

impl<V: Clone> Encode<number, V> for SymInt<V> {
    fn encode(self) -> Arg<V> {
        self.as_arg().clone()
    }
}

macro_rules! int_tuples {
    ($(($($T:ident $i:tt),+);)+) => { $(
        impl<$($T: Into<i64>),+> Ints for ($($T,)+) {
            fn into_arg<V>(self) -> Arg<V> {
                Arg::Tuple(vec![$(Arg::Int(self.$i.into())),+])
            }
        }
    )+ };
}
int_tuples! {
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
}

pub(super) fn int_of<V>(arg: &Arg<V>) -> Option<i64> {
    match arg {
        Arg::Int(x) => Some(*x),
        _ => None,
    }
}

pub(super) fn scalar_of<V>(arg: &Arg<V>) -> Option<Scalar> {
    match arg {
        Arg::Bool(x) => Some(Scalar::Bool(*x)),
        Arg::Int(x) => Some(Scalar::Int(*x)),
        Arg::Float(x) => Some(Scalar::Float(*x)),
        _ => None,
    }
}
