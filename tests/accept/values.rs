//! What traced values pass through.

mod arrays;
mod closures;
mod collections;
mod compound;
mod filled;
mod iterators;
mod numbers;
mod options;
mod shadowing;
mod sizes;
mod state;
mod tuples;
