//! The table: one row declares an op, everything else is derived from it.
//!
//! A row gives the op's documentation, how it is written, its operands, its required attributes, its attributes
//! with defaults, its output, and the functions that evaluate it, infer its shape and count its work:
//!
//! ```text
//! /// Clamps every element into `[min, max]`.
//! method clamp(input: one; min: opt_scalar, max: opt_scalar;) -> one
//!     = elementwise::clamp, shape::clamp, cost::pointwise;
//! ```
//!
//! `method` rows become a method of every value and a function in `fx::functional`; `constructor` rows have no
//! `self` (`V::zeros(size)`, `V::cat(tensors, dim)`); `raw` rows only a definition, with the methods written by hand
//! in [`super::derived`]. With attributes that have defaults, the row names a second method that takes an options
//! struct: `conv2d [conv2d_with: Conv2dOptions]`; if some of these may be symbolic sizes, the struct has the value as
//! its parameter: `arange [arange_with: ArangeOptions<V>]`. The kinds of operands and attributes are the types of
//! [`super::kind`], the outputs those of [`out`]. After the three functions may stand the op's tolerance and effect, and
//! `like input` where the result has the shape and element type of the first operand, whatever the others are.
//!
//! A family of rows makes a trait, implemented for every [`Value`](crate::value::Value) and a supertrait of it, so a
//! model finds all methods through the one bound `V: Value`.

/// What the methods of a row give.
#[allow(non_camel_case_types, reason = "outputs are the table's keywords")]
pub mod out {
    /// One tensor.
    pub type one<V> = V;
    /// Two tensors.
    pub type pair<V> = (V, V);
    /// Three tensors.
    pub type triple<V> = (V, V, V);
    /// A symbolic size.
    pub type size<V> = crate::value::SymInt<V>;
}

/// Declares a family of ops; see the module's documentation.
macro_rules! ops {
    (
        $(#[doc = $family_doc:literal])*
        pub trait $Family:ident;
        $(
            $(#[doc = $doc:literal])*
            $style:ident $name:ident $([$with:ident: $Options:ident $(<$V:ident>)?])? (
                $($op:ident: $ok:ident),*;
                $($attr:ident: $ak:ident),*;
                $($oattr:ident: $oak:ident = $default:expr),*
            ) -> $out:ident = $eval:path, $infer:path, $flops:path
            $(, tolerance $tolerance:expr)? $(, effect $effect:ident)? $(, like $like:ident)?;
        )*
    ) => {
        $(#[doc = $family_doc])*
        pub trait $Family: Sized {
            $($crate::ops::table::method! {
                @declare $style [$(#[doc = $doc])*] $name [$($with $Options $(<$V>)?)?]
                [$($op: $ok),*] [$($attr: $ak),*] $out
            })*
        }

        impl<V: $crate::value::Value> $Family for V {
            $($crate::ops::table::method! {
                @implement $style $name [$($with $Options $(<$V>)?)?] [$($op: $ok),*] [$($attr: $ak),*] $out
            })*
        }

        /// The functions of this family, as `fx::functional` has them.
        pub(super) mod functional {
            #[allow(unused_imports, reason = "not every family has every style")]
            use $crate::{ops::{kind::{self, Encode}, table::out}, value::{Call, Value}};

            $($crate::ops::table::method! {
                @functional $style [$(#[doc = $doc])*] $name [$($with $Options $(<$V>)?)?]
                [$($op: $ok),*] [$($attr: $ak),*] $out
            })*
        }

        mod definitions {
            #![allow(non_upper_case_globals, reason = "a definition has its op's name")]
            use super::*;

            $(
                pub(super) static $name: $crate::ops::Definition = {
                    $crate::ops::table::reading! {
                        eval: $crate::tensor::Tensor = $eval, $name
                            [$($op: $ok),*] [$($attr: $ak),*] [$($oattr: $oak = $default),*]
                    }
                    $crate::ops::table::reading! {
                        infer: $crate::value::Meta = $infer, $name
                            [$($op: $ok),*] [$($attr: $ak),*] [$($oattr: $oak = $default),*]
                    }
                    $crate::ops::Definition {
                        name: $crate::ops::table::trim(stringify!($name)),
                        doc: &[$($doc),*],
                        operands: &[$($crate::ops::function::Operand {
                            name: stringify!($op),
                            kind: <kind::$ok as kind::OperandKind>::KIND,
                        }),*],
                        attributes: &[
                            $($crate::ops::function::Attribute {
                                name: stringify!($attr), kind: stringify!($ak), default: None,
                            },)*
                            $($crate::ops::function::Attribute {
                                name: stringify!($oattr), kind: stringify!($oak), default: Some(stringify!($default)),
                            },)*
                        ],
                        source: $crate::ops::function::Source {
                            ident: stringify!($name),
                            style: $crate::ops::table::style!($style),
                            options: $crate::ops::table::or_default!(
                                [$(Some((stringify!($with), stringify!($Options))))?] None),
                        },
                        effect: $crate::ops::table::or_default!(
                            [$($crate::ops::Effect::$effect)?] $crate::ops::Effect::Pure),
                        like_input: $crate::ops::table::or_default!([$($crate::ops::table::like!($like))?] false),
                        tolerance: $crate::ops::table::or_default!([$($tolerance)?] $crate::ops::Tolerance::ROUNDING),
                        eval,
                        infer,
                        flops: $flops,
                    }
                };
            )*
        }

        /// The functions of this family as targets of nodes.
        pub(super) mod targets {
            #![allow(non_upper_case_globals, reason = "a function has its op's name")]

            $(
                $(#[doc = $doc])*
                pub const $name: $crate::ops::Function = $crate::ops::Function::new(&super::definitions::$name);
            )*
        }

        /// The options of this family.
        pub(super) mod options {
            #[allow(unused_imports, reason = "not every family has options")]
            use super::*;

            $($crate::ops::table::options! { [$($Options $(<$V>)?)?] $name [$($oattr: $oak = $default),*] })*
        }
        #[allow(unused_imports, reason = "not every family has options")]
        pub use options::*;

        /// This family of ops.
        pub(super) static FAMILY: $crate::ops::Family = $crate::ops::Family {
            name: stringify!($Family),
            functions: &[$(targets::$name),*],
        };
    };
}

/// A function of a row on arguments as a graph holds them. A closure would be a second function for the compiler.
macro_rules! reading {
    ($fn:ident: $Value:ty = $computes:path, $name:ident [$($op:ident: $ok:ident),*] [$($attr:ident: $ak:ident),*]
        [$($oattr:ident: $oak:ident = $default:expr),*]) => {
        fn $fn(
            args: &[$crate::arg::Arg<$Value>],
            kwargs: &$crate::arg::Kwargs<$Value>,
        ) -> $crate::error::Result<$crate::arg::Arg<$Value>> {
            #[allow(unused_mut, reason = "not every row has operands")]
            let mut reader = $crate::ops::read::Reader::new(&$name, args, kwargs)?;
            Ok($crate::ops::read::Output::into_arg($computes(
                $(reader.operand::<kind::$ok>()?,)*
                $(reader.required::<kind::$ak>(stringify!($attr))?,)*
                $(match reader.optional::<kind::$oak>(stringify!($oattr))? {
                    Some(given) => given,
                    None => $default,
                },)*
            )?))
        }
    };
}

/// The method of a row: its declaration in the family's trait, its implementation, its function.
macro_rules! method {
    (@declare raw $($rest:tt)*) => {};
    (@implement raw $($rest:tt)*) => {};
    (@functional raw $($rest:tt)*) => {};

    // In a trait the value is `Self`.
    (@declare $style:ident $doc:tt $name:ident [$with:ident $Options:ident <V>] $($rest:tt)*) => {
        $crate::ops::table::method! { @declare $style $doc $name [$with $Options <Self>] $($rest)* }
    };

    (@declare method [$($doc:tt)*] $name:ident [] [$first:ident: $fk:ident $(, $op:ident: $ok:ident)*]
        [$($attr:ident: $ak:ident),*] $out:ident) => {
        $($doc)*
        #[track_caller]
        fn $name(&self $(, $op: impl Encode<kind::$ok, Self>)* $(, $attr: impl Encode<kind::$ak, Self>)*)
            -> out::$out<Self>;
    };
    (@declare method [$($doc:tt)*] $name:ident [$with:ident $Options:ident $(<$V:ident>)?]
        [$first:ident: $fk:ident $(, $op:ident: $ok:ident)*] [$($attr:ident: $ak:ident),*] $out:ident) => {
        $($doc)*
        #[track_caller]
        fn $name(&self $(, $op: impl Encode<kind::$ok, Self>)* $(, $attr: impl Encode<kind::$ak, Self>)*)
            -> out::$out<Self>;

        #[doc = concat!("As [`Self::", stringify!($name), "`], with options.")]
        #[track_caller]
        fn $with(&self $(, $op: impl Encode<kind::$ok, Self>)* $(, $attr: impl Encode<kind::$ak, Self>)*,
            options: $Options $(<$V>)?) -> out::$out<Self>;
    };
    (@implement method $name:ident [$($with:ident $Options:ident $(<$V:ident>)?)?]
        [$first:ident: $fk:ident $(, $op:ident: $ok:ident)*] [$($attr:ident: $ak:ident),*] $out:ident) => {
        #[track_caller]
        fn $name(&self $(, $op: impl Encode<kind::$ok, Self>)* $(, $attr: impl Encode<kind::$ak, Self>)*)
            -> out::$out<Self> {
            Call::method(targets::$name).operand(self) $(.arg($op.encode()))*
                $(.attribute(stringify!($attr), $attr.encode()))*.output()
        }

        $crate::ops::table::method! {
            @implement_with $name [$($with $Options $(<$V>)?)?] [$($op: $ok),*] [$($attr: $ak),*] $out
        }
    };
    (@implement_with $name:ident [] $($rest:tt)*) => {};
    (@implement_with $name:ident [$with:ident $Options:ident $(<$V:ident>)?] [$($op:ident: $ok:ident),*]
        [$($attr:ident: $ak:ident),*] $out:ident) => {
        #[track_caller]
        fn $with(&self $(, $op: impl Encode<kind::$ok, Self>)* $(, $attr: impl Encode<kind::$ak, Self>)*,
            options: $Options $(<$V>)?) -> out::$out<Self> {
            Call::method(targets::$name).operand(self) $(.arg($op.encode()))*
                $(.attribute(stringify!($attr), $attr.encode()))*.options(options.0).output()
        }
    };

    (@declare constructor [$($doc:tt)*] $name:ident [] [$($op:ident: $ok:ident),*]
        [$($attr:ident: $ak:ident),*] $out:ident) => {
        $($doc)*
        #[track_caller]
        fn $name($($op: impl Encode<kind::$ok, Self>,)* $($attr: impl Encode<kind::$ak, Self>),*)
            -> out::$out<Self>;
    };
    (@declare constructor [$($doc:tt)*] $name:ident [$with:ident $Options:ident $(<$V:ident>)?] [$($op:ident: $ok:ident),*]
        [$($attr:ident: $ak:ident),*] $out:ident) => {
        $($doc)*
        #[track_caller]
        fn $name($($op: impl Encode<kind::$ok, Self>,)* $($attr: impl Encode<kind::$ak, Self>),*)
            -> out::$out<Self>;

        #[doc = concat!("As [`Self::", stringify!($name), "`], with options.")]
        #[track_caller]
        fn $with($($op: impl Encode<kind::$ok, Self>,)* $($attr: impl Encode<kind::$ak, Self>,)*
            options: $Options $(<$V>)?) -> out::$out<Self>;
    };
    (@implement constructor $name:ident [$($with:ident $Options:ident $(<$V:ident>)?)?] [$($op:ident: $ok:ident),*]
        [$($attr:ident: $ak:ident),*] $out:ident) => {
        #[track_caller]
        fn $name($($op: impl Encode<kind::$ok, Self>,)* $($attr: impl Encode<kind::$ak, Self>),*)
            -> out::$out<Self> {
            functional::$name($($op,)* $($attr),*)
        }

        $crate::ops::table::method! {
            @forward_with $name [$($with $Options $(<$V>)?)?] [$($op: $ok),*] [$($attr: $ak),*] $out
        }
    };
    (@forward_with $name:ident [] $($rest:tt)*) => {};
    (@forward_with $name:ident [$with:ident $Options:ident $(<$V:ident>)?] [$($op:ident: $ok:ident),*]
        [$($attr:ident: $ak:ident),*] $out:ident) => {
        #[track_caller]
        fn $with($($op: impl Encode<kind::$ok, Self>,)* $($attr: impl Encode<kind::$ak, Self>,)*
            options: $Options $(<$V>)?) -> out::$out<Self> {
            functional::$with($($op,)* $($attr,)* options)
        }
    };

    (@functional $style:ident [$($doc:tt)*] $name:ident [$($with:ident $Options:ident $(<$V:ident>)?)?] [$($op:ident: $ok:ident),*]
        [$($attr:ident: $ak:ident),*] $out:ident) => {
        $($doc)*
        #[track_caller]
        pub fn $name<V: Value>(
            $($op: impl Encode<kind::$ok, V>,)* $($attr: impl Encode<kind::$ak, V>),*
        ) -> out::$out<V> {
            Call::function(super::targets::$name) $(.arg($op.encode()))*
                $(.attribute(stringify!($attr), $attr.encode()))*.output()
        }

        $crate::ops::table::method! {
            @functional_with $name [$($with $Options $(<$V>)?)?] [$($op: $ok),*] [$($attr: $ak),*] $out
        }
    };
    (@functional_with $name:ident [] $($rest:tt)*) => {};
    (@functional_with $name:ident [$with:ident $Options:ident $(<$V:ident>)?] [$($op:ident: $ok:ident),*]
        [$($attr:ident: $ak:ident),*] $out:ident) => {
        #[doc = concat!("As `", stringify!($name), "`, with options.")]
        #[track_caller]
        pub fn $with<V: Value>(
            $($op: impl Encode<kind::$ok, V>,)* $($attr: impl Encode<kind::$ak, V>,)* options: super::$Options $(<$V>)?
        ) -> out::$out<V> {
            Call::function(super::targets::$name) $(.arg($op.encode()))*
                $(.attribute(stringify!($attr), $attr.encode()))*.options(options.0).output()
        }
    };
}

/// The options struct of a row: one setter an attribute.
macro_rules! options {
    ([] $($rest:tt)*) => {};
    ([$Options:ident] $($rest:tt)*) => {
        $crate::ops::table::options! { @declare $Options [] ::std::convert::Infallible; $($rest)* }
    };
    ([$Options:ident <$V:ident>] $($rest:tt)*) => {
        $crate::ops::table::options! { @declare $Options [<$V>] $V; $($rest)* }
    };
    (@declare $Options:ident [$($V:tt)*] $Held:ty; $name:ident [$($attr:ident: $kind:ident = $default:expr),*]) => {
        #[doc = concat!("Options of `", stringify!($name), "`; those not set are at their defaults.")]
        #[derive(Clone, Debug, PartialEq)]
        pub struct $Options $($V)* (pub(super) $crate::arg::Kwargs<$Held>);

        impl $($V)* $Options $($V)* {
            /// All options at their defaults.
            pub fn new() -> Self {
                Self($crate::arg::Kwargs::new())
            }

            $(
                #[doc = concat!("Sets `", stringify!($attr), "`; its default is `", stringify!($default), "`.")]
                #[must_use]
                pub fn $attr(mut self, $attr: impl Encode<kind::$kind, $Held>) -> Self {
                    $crate::ops::read::set::<kind::$kind, $Held>(&mut self.0, stringify!($attr), $attr, $default);
                    self
                }
            )*
        }

        impl $($V)* Default for $Options $($V)* {
            fn default() -> Self {
                Self::new()
            }
        }
    };
}

/// The style of a row as data.
macro_rules! style {
    (method) => {
        $crate::ops::function::Style::Method
    };
    (constructor) => {
        $crate::ops::function::Style::Constructor
    };
    (raw) => {
        $crate::ops::function::Style::Raw
    };
}

macro_rules! like {
    (input) => {
        true
    };
}

macro_rules! or_default {
    ([] $default:expr) => {
        $default
    };
    ([$given:expr] $default:expr) => {
        $given
    };
}

/// A row's name as graphs print it: without the underscore that a Rust keyword needs (`where_`).
pub(super) const fn trim(name: &'static str) -> &'static str {
    match name.as_bytes() {
        [.., b'_'] => name.split_at(name.len() - 1).0,
        _ => name,
    }
}

pub(super) use {like, method, ops, options, or_default, reading, style};
