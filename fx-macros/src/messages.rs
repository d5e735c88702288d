//! What is refused, in one voice: the fault, why it is one, and what to write instead.
//!
//! The table is plain data. The macros take their errors from it; the traits of fx-core that the type system refuses with
//! (`by Trait`) repeat its texts in `#[diagnostic::on_unimplemented]`. `tests/untraceable.rs` reads it too: it holds the
//! traits against it, demands a case and a remedy for every entry, and makes docs/untraceable.md.

/// A fault, why it is one, and what to write instead.
#[allow(dead_code, reason = "what the macros do not need is for the documentation and its test")]
pub(crate) struct Message {
    /// Its name, which is that of its cases: `CONTROL_FLOW` is `control_flow.rs`.
    pub(crate) name: &'static str,
    /// The heading it stands under in the documentation.
    pub(crate) topic: &'static str,
    /// The traits of fx-core that say it; none if the macros do.
    pub(crate) by: &'static [&'static str],
    /// The first line.
    pub(crate) text: &'static str,
    /// Why; the compiler writes it beside the guilty token where it can.
    pub(crate) label: &'static str,
    /// What to do.
    pub(crate) help: &'static str,
}

impl Message {
    /// The error as the macros give it.
    #[allow(dead_code, reason = "as above")]
    pub(crate) fn error(&self) -> String {
        format!("{}\n{}\nhelp: {}", self.text, self.label, self.help)
    }
}

macro_rules! messages {
    ($($topic:literal { $($name:ident $(by $($Trait:ident)+)?: $text:literal, $label:literal, $help:literal;)+ })+) => {
        $($(
            #[allow(dead_code, reason = "as above")]
            pub(crate) const $name: Message = Message {
                name: stringify!($name),
                topic: $topic,
                by: &[$($(stringify!($Trait)),+)?],
                text: $text,
                label: $label,
                help: $help,
            };
        )+)+

        /// All of them.
        #[allow(dead_code, reason = "as above")]
        pub(crate) const ALL: &[Message] = &[$($($name),+),+];
    };
}
messages! {
    "Control flow" {
        CONTROL_FLOW by KnownCondition: "symbolically traced variables cannot be used as inputs to control flow",
            "this depends on a traced value, which has no truth value while tracing",
            "choose between values with `where_(condition, other)`, make the decision a field of the module or a \
             static argument, or move the code into a function marked `#[fx::wrap]`";
        PATTERN_MATCH by KnownPattern: "a traced value cannot be matched against patterns",
            "it has no value while tracing",
            "choose between values with `where_(condition, other)`, or match on a field of the module or a static \
             argument";
        LOOP_COUNT by KnownCount: "a traced value cannot say how often a loop runs",
            "it is known only when the model runs",
            "write one op over the whole dimension, loop over a field of the module or a static argument, or move the \
             loop into a function marked `#[fx::wrap]`";
        MASK_AS_BOOL by PlainBool: "a comparison of traced values gives a mask, not a `bool`",
            "it has no truth value while tracing",
            "keep the mask as a tensor and use it with `where_`, `masked_fill` or `*`";
    }
    "Iteration and sizes" {
        ITERATION by Iterable: "a traced tensor cannot be iterated over",
            "its length is not known while tracing",
            "write one op over the whole dimension, take the parts with `chunk`, `split_sizes` or `unbind`, or move the \
             loop into a function marked `#[fx::wrap]`";
        SPREAD: "a traced tensor cannot be spread into a pattern",
            "its length is not known while tracing",
            "take the parts by number, with `chunk`, `split_sizes` or `select`";
        LENGTH by KnownLength: "a traced tensor has no `len`",
            "its length is not known while tracing",
            "use `x.size(0)`, which is recorded, or move the code into a function marked `#[fx::wrap]`";
        SHAPE by KnownShape: "the shape and the element type of a traced tensor are not known while tracing",
            "this would read them",
            "use `x.size(dim)` or `let [n, c] = x.sizes();`, which are recorded; make a rank or a type that must be \
             known a field of the module";
    }
    "Reading data" {
        READ by Readable: "the data of a traced tensor cannot be read",
            "there is none while tracing",
            "stay with ops on tensors, or read it in a function marked `#[fx::wrap]`, which is one node";
        NUMBER by RustNumber: "a traced value cannot become a Rust number",
            "it has no value while tracing",
            "stay with ops on tensors, `x.to(DType::F32)` for another element type, or compute it in a function marked \
             `#[fx::wrap]`";
        INDEX by CollectionIndex: "a Rust collection cannot be indexed by a traced value",
            "it has no value while tracing",
            "stack the collection into a tensor, and take from it with `index_select`, `gather` or `embedding`";
        SUBSCRIPT: "a traced tensor cannot be indexed with `[]`",
            "Rust's `[]` gives a place in memory, and a traced tensor has none",
            "use `x.index((0, 1..3))`, `x.select(dim, i)` or `x.narrow(dim, start, length)`";
    }
    "Changing in place" {
        IN_PLACE by Mutable: "a traced tensor cannot be changed in place",
            "a graph has values, not memory",
            "use the op without the underscore, and give its result the same name: `let x = x.add(y);`";
        SUBSCRIPT_ASSIGNMENT: "a traced tensor cannot be changed in place",
            "a graph has values, not memory",
            "make a new tensor: `x.index_copy(dim, index, y)`, `x.masked_fill(mask, value)`, `y.where_(mask, x)`";
        BORROWED_ASSIGNMENT: "a tensor that was passed by reference cannot be changed",
            "the caller's tensor would change",
            "take it by value, `mut x: Tensor`, or give the result a new name with `let`";
        FIELD_ASSIGNMENT: "the module cannot be changed while it is traced",
            "a graph has no place for changes to the module",
            "give back what changes as a result, and store it outside of `forward`";
    }
    "Printing, ordering, keys" {
        PRINT by Printable: "a traced value cannot be displayed",
            "it has no value while tracing",
            "print it with `:?`, which shows the tensor when the model runs and the node's name while tracing";
        ORDER by Ordered: "traced values have no order",
            "they have no value while tracing",
            "use `maximum`, `minimum`, `sort` or `topk`, which are recorded; make a size that must be known a field of \
            the module";
        KEY by Hashable: "a traced tensor cannot be hashed or be the key of a map",
            "it has no value while tracing",
            "use a name or a number as key, and the tensor as value";
    }
    "Calling functions" {
        CALL: "a function that is not traceable cannot be called with a traced value",
            "it takes a tensor that is computed, a number or a `bool`",
            "remove `skip` from it, pass what is known while tracing, or make it a free function marked `#[fx::wrap]`";
        ARGUMENT by Input: "`{Self}` cannot be passed to a traceable function where a tensor is expected",
            "not a tensor",
            "pass a tensor by value or by reference; read a parameter with `.value::<Tensor>()`";
        STATIC_ARGUMENT by StaticArg: "`{Self}` cannot be a static argument",
            "a graph has no form for it",
            "bool, integers, floats, String, DType, and options, tuples and vectors of them can; make it a field of \
             the module otherwise; a struct of tensors is written with the tensor type, as in `Pair<Tensor>`";
        STRUCTURE by Tree: "`{Self}` cannot pass through a traceable function",
            "neither a tensor nor a structure of tensors",
            "tensors, symbolic sizes, and options, tuples, arrays, vectors and maps of them can; so can a struct of \
             tensors marked `#[traceable]`, written with the tensor type, as in `Pair<Tensor>`";
        OP_ARGUMENT by Encode: "`{Self}` cannot be an argument of the kind `{K}`",
            "not what the op takes here",
            "`one` is a tensor, `opt` a tensor or `None`, `many` a list of tensors, `num` a tensor or a number, `int` an \
             i64; the other kinds say what they are";
        OPERAND by Operand: "`{Self}` cannot be used where a tensor is expected",
            "not a tensor",
            "tensors, `&Parameter` and `&Buffer` can";
        OPTIONAL_OPERAND by OptOperand: "`{Self}` cannot be used where an optional tensor is expected",
            "neither a tensor nor an option",
            "pass the tensor or `&Parameter` itself, an `Option<&Tensor>`, an `&Option<Parameter>`, or `None`";
        TENSOR_OR_NUMBER by Scalarlike: "`{Self}` cannot be used where a tensor or a number is expected",
            "neither a tensor nor a number",
            "tensors, `&Parameter`, `&Buffer`, symbolic sizes, f64 and i64 can";
        TENSOR_INDEX by Index: "`{Self}` cannot be an index",
            "not an index",
            "i64, symbolic sizes, ranges of them, tensors, `Arg::None`, `Arg::Ellipsis`, and tuples of them can";
        SHAPE_ARGUMENT by Sizes: "`{Self}` cannot be used as a shape",
            "not a shape",
            "arrays, vectors and tuples of integers and symbolic sizes can: `(x.size(0), -1)`";
        INTS_ARGUMENT by Ints: "`{Self}` cannot be used where an integer or a list of integers is expected",
            "neither an integer nor a list of integers",
            "an i64, or an array, a slice or a vector of them can";
        WINDOW_ARGUMENT by Window: "`{Self}` cannot be used where a size for each of {N} spatial dimensions is expected",
            "no size of {N} dimensions",
            "an integer or an array of {N} integers can";
        MARGIN_ARGUMENT by Margin: "`{Self}` cannot be used where a padding of each of {N} spatial dimensions is expected",
            "no padding of {N} dimensions",
            "an integer, an array of {N} integers, `\"same\"` and `\"valid\"` can";
    }
    "Signatures" {
        MUT_SELF: "a traceable function takes `&self`",
            "a graph has no place for changes to the module",
            "give back what changes as a result";
        OWNED_SELF: "a traceable function takes `&self`",
            "the module is still needed after the call",
            "write `&self`";
        ASYNC: "a traceable function cannot be `async`",
            "a graph cannot wait",
            "remove `async`, and call it from the async function";
        UNSAFE: "a traceable function cannot be `unsafe`",
            "a captured graph would keep no promise of its caller",
            "put the unsafe part into a function marked `#[fx::wrap]`";
        CONST: "a traceable function cannot be `const`",
            "tracing happens when the program runs",
            "remove `const`";
        EXTERN: "a traceable function cannot have an ABI",
            "it is generic in the type of the tensor",
            "remove `extern`, and call it from the `extern` function";
        VARIADIC: "a traceable function cannot be variadic",
            "each parameter is an input of the graph",
            "take a slice of tensors, `&[Tensor]`";
        PARAMETER_PATTERN: "a parameter that holds tensors needs a name",
            "the name is that of the graph's input",
            "name it, and take it apart with `let`";
        MUT_TENSOR: "a traceable function cannot change a tensor in place",
            "a graph has values, not memory",
            "take it by value or by reference, and give back the result";
        IMPL_TENSOR: "a tensor parameter has a plain type",
            "the front end must see which parameters are tensors",
            "write `Tensor`, `&Tensor` or `&[Tensor]`";
        RETURN_REFERENCE: "a traceable function gives back owned tensors",
            "what a graph computes belongs to nobody else",
            "write `Tensor`, and `.clone()` what is given back: a clone of a tensor shares its data";
        NO_RESULT: "`forward` gives back tensors",
            "a graph is what leads to its result",
            "give back what it computes";
        FORWARD_NO_TENSOR: "`forward` takes and gives tensors",
            "nothing in this signature is traced",
            "give it a parameter of type `&Tensor` and a result, or mark it `#[traceable(skip)]`";
        GENERIC_FORWARD: "`forward` has no type parameters of its own",
            "a captured module has one `forward`",
            "make them parameters of the module's type, or write the type";
        GENERIC_WRAP: "a function marked `#[wrap]` has no type parameters",
            "it is one function in all graphs",
            "write the type";
        IMPL_STATIC: "a static argument has a plain type",
            "a graph keeps it by its type",
            "write the type, or make it a field of the module";
        STATIC_REFERENCE: "a static argument is owned",
            "a graph keeps it",
            "take it by value, such as `String` instead of `&str`, or make it a field of the module";
        TWO_FORWARDS: "a module has one `forward`",
            "this is the second",
            "give the other function another name";
    }
    "Attributes and modules" {
        ITEM: "`#[traceable]` cannot be used here",
            "this has neither fields nor a `forward`",
            "it goes on a struct, an `impl` block or a function";
        METHOD: "`#[traceable]` cannot be used on a method",
            "whose method it is can only be seen from the `impl` block",
            "put the attribute on the `impl` block";
        WRAP_ITEM: "`#[wrap]` cannot be used here",
            "only a function can be one node",
            "it goes on a free function";
        WRAP_METHOD: "`#[wrap]` cannot be used on a method",
            "a node for a method is the call of a leaf module",
            "make it a free function, or the module a leaf with `#[traceable(leaf)]`";
        UNKNOWN_ARGUMENT: "unknown argument of the attribute",
            "it has no such argument",
            "the arguments are `leaf`, `skip` and `crate = ::path`";
        REPEATED_ARGUMENT: "the argument is given twice",
            "once is enough",
            "remove one of them";
        CRATE_PATH: "`crate` takes a path from the root",
            "a relative path would depend on where the macro is used",
            "write `crate = ::name`";
        SKIP_HERE: "`skip` is for functions of an `impl` block",
            "elsewhere the attribute can be left out",
            "remove the attribute";
        LEAF_HERE: "`leaf` is for structs",
            "a module is a leaf, not a function",
            "put `#[traceable(leaf)]` on the struct";
        LEAF_FORWARD by LeafForward: "the leaf module `{Self}` has no traceable `forward`",
            "a leaf is recorded as one call of its `forward`",
            "write `forward` in an `impl` block marked `#[traceable]`, or remove `leaf`";
        TRAIT_IMPL: "`#[traceable]` cannot be used on the implementation of a trait",
            "the trait says what the functions take",
            "put the function into an `impl` block of the type itself";
        TUPLE_STRUCT: "a module has named fields",
            "they are the names in paths such as `layers.0.weight`",
            "name the fields";
        MIXED_STRUCT: "a struct holds tensors or module state, not both",
            "one is an argument of `forward`, the other belongs to a module",
            "for a tensor that belongs to a module use `Parameter` or `Buffer`";
        BORROWED_FIELD: "a module owns its fields",
            "a capture outlives what a module borrows",
            "hold it by value, or share it with `Arc`";
        UNSHARED_FIELD: "a module is shared between threads",
            "this type cannot be",
            "use `Arc`, `Mutex` or an atomic type, or `Buffer` for a tensor that changes";
        TRACED_FIELD: "a module cannot hold traced values",
            "they belong to one trace, and the module to all",
            "hold a `Parameter`, a `Buffer` or a plain number";
        FIELD by FieldType: "`{Self}` cannot be a field of a module",
            "a module is cloned to be shared with its captures",
            "derive `Clone` for it, or hold it in an `Arc`";
        GENERIC_FIELD: "a type parameter of a module has bounds",
            "whether it is a module cannot be told without",
            "write `M: fx::Layer + Clone` for a layer, `M: Module + Clone` for another module, \
             `T: Clone + Send + Sync + 'static` for plain Rust";
        FIELD_ARGUMENT: "unknown argument of the attribute on a field",
            "a field has only a name",
            "write `#[traceable(name = \"..\")]`: the field's name in paths and state dicts";
        FIELD_NAME: "the name of a field in paths is not empty and has no dot",
            "a dot separates the parts of a path",
            "make a module for each part of a path";
    }
    "Capturing" {
        CAPTURE_INPUT by Inputs: "`{Self}` cannot be the input of a captured model",
            "not the input of a graph",
            "a tensor, a reference to one, a list of tensors or of pairs of them, or a tuple of these can; give another tuple \
             or struct within it as `x.into_arg()`, a method of `fx::value::Tree`";
        NOT_STATE by Visit: "`{Self}` is no module, parameter or buffer, and no collection of them",
            "nothing to visit",
            "mark the struct with `#[traceable]`, or leave it out of the module's state";
        NOT_LAYERS by Layers: "`{Self}` is no sequence of layers",
            "neither layers nor a collection of them",
            "tuples of up to 12 layers, arrays and vectors of layers, and vectors of `AnyLayer` are";
        NOT_TRACEABLE by Capture Traceable: "`{Self}` cannot be traced",
            "has no traceable `forward`",
            "mark the struct and the `impl` block that has its `forward` with `#[traceable]`";
        NOT_A_MODULE by Module: "`{Self}` is not a module",
            "not a module",
            "mark the struct and its `impl` block with `#[traceable]`";
        NOT_A_LAYER by Layer: "`{Self}` is not a layer",
            "not a module whose `forward` takes one tensor and gives one",
            "mark the struct and the `impl` block that has its `forward` with `#[traceable]`";
        NOT_A_FUNCTION by TraceableFn: "`{Self}` is not a traceable function",
            "not marked `#[traceable]`",
            "mark the function with `#[traceable]`, or capture a closure with `fx::trace_fn!(|x| ..)`";
        STATICS by StaticsFrom: "`forward` takes the static arguments `{Self}`, not `{Given}`",
            "other static arguments than its signature has",
            "give a tuple with one value for each parameter that is no tensor: `fx::trace_with(&model, (true,))`";
    }
}
