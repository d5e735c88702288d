//! What is wrong with a traced value at some place: one trait for each message, implemented for no traced value.
//!
//! The texts are those of the table in `fx-macros/src/messages.rs`; a test compares them.

/// What no expression has. It keeps the compiler from noting that a fault has no implementations.
pub enum Never {}

macro_rules! faults {
    ($($(#[$attr:meta])+ $Fault:ident;)+) => { $(
        $(#[$attr])+
        pub trait $Fault {
            /// What the refused expression would give.
            type Output;
        }

        #[diagnostic::do_not_recommend]
        impl $Fault for Never {
            type Output = Never;
        }
    )+ };
}
faults! {
    /// May be a condition.
    #[diagnostic::on_unimplemented(
        message = "symbolically traced variables cannot be used as inputs to control flow",
        label = "this depends on a traced value, which has no truth value while tracing",
        note = "choose between values with `where_(condition, other)`, make the decision a field of the module or a \
                static argument, or move the code into a function marked `#[fx::wrap]`"
    )]
    KnownCondition;
    /// May be matched against patterns.
    #[diagnostic::on_unimplemented(
        message = "a traced value cannot be matched against patterns",
        label = "it has no value while tracing",
        note = "choose between values with `where_(condition, other)`, or match on a field of the module or a \
                static argument"
    )]
    KnownPattern;
    /// May say how often a loop runs.
    #[diagnostic::on_unimplemented(
        message = "a traced value cannot say how often a loop runs",
        label = "it is known only when the model runs",
        note = "write one op over the whole dimension, loop over a field of the module or a static argument, or \
                move the loop into a function marked `#[fx::wrap]`"
    )]
    KnownCount;
    /// May be a `bool`.
    #[diagnostic::on_unimplemented(
        message = "a comparison of traced values gives a mask, not a `bool`",
        label = "it has no truth value while tracing",
        note = "keep the mask as a tensor and use it with `where_`, `masked_fill` or `*`"
    )]
    PlainBool;
    /// May be iterated over.
    #[diagnostic::on_unimplemented(
        message = "a traced tensor cannot be iterated over",
        label = "its length is not known while tracing",
        note = "write one op over the whole dimension, take the parts with `chunk`, `split_sizes` or `unbind`, or \
                move the loop into a function marked `#[fx::wrap]`"
    )]
    Iterable;
    /// Has a length.
    #[diagnostic::on_unimplemented(
        message = "a traced tensor has no `len`",
        label = "its length is not known while tracing",
        note = "use `x.size(0)`, which is recorded, or move the code into a function marked `#[fx::wrap]`"
    )]
    KnownLength;
    /// Has a shape and an element type.
    #[diagnostic::on_unimplemented(
        message = "the shape and the element type of a traced tensor are not known while tracing",
        label = "this would read them",
        note = "use `x.size(dim)` or `let [n, c] = x.sizes();`, which are recorded; make a rank or a type that must \
                be known a field of the module"
    )]
    KnownShape;
    /// Has data.
    #[diagnostic::on_unimplemented(
        message = "the data of a traced tensor cannot be read",
        label = "there is none while tracing",
        note = "stay with ops on tensors, or read it in a function marked `#[fx::wrap]`, which is one node"
    )]
    Readable;
    /// May become a number.
    #[diagnostic::on_unimplemented(
        message = "a traced value cannot become a Rust number",
        label = "it has no value while tracing",
        note = "stay with ops on tensors, `x.to(DType::F32)` for another element type, or compute it in a function \
                marked `#[fx::wrap]`"
    )]
    RustNumber;
    /// May index a Rust collection.
    #[diagnostic::on_unimplemented(
        message = "a Rust collection cannot be indexed by a traced value",
        label = "it has no value while tracing",
        note = "stack the collection into a tensor, and take from it with `index_select`, `gather` or `embedding`"
    )]
    CollectionIndex;
    /// May be changed in place.
    #[diagnostic::on_unimplemented(
        message = "a traced tensor cannot be changed in place",
        label = "a graph has values, not memory",
        note = "use the op without the underscore, and give its result the same name: `let x = x.add(y);`"
    )]
    Mutable;
    /// May be printed.
    #[diagnostic::on_unimplemented(
        message = "a traced value cannot be displayed",
        label = "it has no value while tracing",
        note = "print it with `:?`, which shows the tensor when the model runs and the node's name while tracing"
    )]
    Printable;
    /// Has an order.
    #[diagnostic::on_unimplemented(
        message = "traced values have no order",
        label = "they have no value while tracing",
        note = "use `maximum`, `minimum`, `sort` or `topk`, which are recorded; make a size that must be known a field of \
                the module"
    )]
    Ordered;
    /// May be the key of a map.
    #[diagnostic::on_unimplemented(
        message = "a traced tensor cannot be hashed or be the key of a map",
        label = "it has no value while tracing",
        note = "use a name or a number as key, and the tensor as value"
    )]
    Hashable;
}
