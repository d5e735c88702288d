//! Static control flow.

mod early_return;
mod enum_field;
mod hyper_parameters;
mod labelled_loops;
mod layers;
mod list_length;
mod masks;
mod option_of_module;
mod option_of_tensor;
mod parts;
mod predicates;
mod recursion;
mod static_arguments;
mod static_rank;
