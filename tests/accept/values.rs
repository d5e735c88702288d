//! What traced values pass through.

mod arrays;
mod closures;
mod collected;
mod collections;
mod compound;
mod filled;
mod iterators;
mod number_results;
mod numbers;
mod options;
mod parentheses;
mod shadowing;
mod sizes;
mod sorted;
mod state;
mod tuples;
