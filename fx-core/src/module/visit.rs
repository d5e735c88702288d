//! Walking the tree of a module's state.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::{Buffer, Module, Parameter, Training};

/// Something that may be found in a module's fields: a module, state, or a collection of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no module, parameter or buffer, and no collection of them",
    label = "nothing to visit",
    note = "mark the struct with `#[traceable]`, or leave it out of the module's state"
)]
pub trait Visit {
    /// Shows the visitor what is here, at `path`.
    fn visit<'a>(&'a self, path: &str, visitor: &mut dyn Visitor<'a>);
}

/// Sees the entries of a tree.
pub trait Visitor<'a> {
    /// A module; whether to go on into it.
    fn module(&mut self, path: &str, module: &'a dyn Module) -> bool;

    /// Anything else.
    fn state(&mut self, path: &str, entry: Entry<'a>);
}

/// An entry of a module's tree.
#[derive(Clone, Copy)]
pub enum Entry<'a> {
    /// A child, at any depth.
    Module(&'a dyn Module),
    /// A parameter.
    Parameter(&'a Parameter),
    /// A buffer.
    Buffer(&'a Buffer),
    /// A training flag.
    Training(&'a Training),
}

/// All entries of a module's tree with their paths, in declaration order, parents first; without the root itself.
pub fn entries<'a>(root: &'a dyn Module) -> Vec<(String, Entry<'a>)> {
    struct Collect<'a>(Vec<(String, Entry<'a>)>);

    impl<'a> Visitor<'a> for Collect<'a> {
        fn module(&mut self, path: &str, module: &'a dyn Module) -> bool {
            if !path.is_empty() {
                self.0.push((path.to_owned(), Entry::Module(module)));
            }
            true
        }

        fn state(&mut self, path: &str, entry: Entry<'a>) {
            self.0.push((path.to_owned(), entry));
        }
    }

    let mut collect = Collect(Vec::new());
    root.visit("", &mut collect);
    collect.0
}

/// The module at `path`; the root itself at the empty path.
pub fn module_at<'a>(root: &'a dyn Module, path: &str) -> Option<&'a dyn Module> {
    if path.is_empty() {
        return Some(root);
    }
    entries(root).into_iter().find_map(|(have, entry)| match entry {
        Entry::Module(module) if have == path => Some(module),
        _ => None,
    })
}

/// The path of a field below `path`.
pub(crate) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { [path, ".", name].concat() }
}

impl Visit for Parameter {
    fn visit<'a>(&'a self, path: &str, visitor: &mut dyn Visitor<'a>) {
        visitor.state(path, Entry::Parameter(self));
    }
}

impl Visit for Buffer {
    fn visit<'a>(&'a self, path: &str, visitor: &mut dyn Visitor<'a>) {
        visitor.state(path, Entry::Buffer(self));
    }
}

impl Visit for Training {
    fn visit<'a>(&'a self, path: &str, visitor: &mut dyn Visitor<'a>) {
        visitor.state(path, Entry::Training(self));
    }
}

impl<T: Visit + ?Sized> Visit for Box<T> {
    fn visit<'a>(&'a self, path: &str, visitor: &mut dyn Visitor<'a>) {
        (**self).visit(path, visitor);
    }
}

impl<T: Visit + ?Sized> Visit for std::sync::Arc<T> {
    fn visit<'a>(&'a self, path: &str, visitor: &mut dyn Visitor<'a>) {
        (**self).visit(path, visitor);
    }
}

impl<T: Visit> Visit for Option<T> {
    fn visit<'a>(&'a self, path: &str, visitor: &mut dyn Visitor<'a>) {
        self.iter().for_each(|item| item.visit(path, visitor));
    }
}

impl<T: Visit> Visit for [T] {
    fn visit<'a>(&'a self, path: &str, visitor: &mut dyn Visitor<'a>) {
        self.iter().enumerate().for_each(|(i, item)| item.visit(&join(path, &i.to_string()), visitor));
    }
}

impl<T: Visit> Visit for Vec<T> {
    fn visit<'a>(&'a self, path: &str, visitor: &mut dyn Visitor<'a>) {
        self.as_slice().visit(path, visitor);
    }
}

impl<T: Visit, const N: usize> Visit for [T; N] {
    fn visit<'a>(&'a self, path: &str, visitor: &mut dyn Visitor<'a>) {
        self.as_slice().visit(path, visitor);
    }
}

impl<K: std::fmt::Display, T: Visit> Visit for IndexMap<K, T> {
    fn visit<'a>(&'a self, path: &str, visitor: &mut dyn Visitor<'a>) {
        self.iter().for_each(|(key, item)| item.visit(&join(path, &key.to_string()), visitor));
    }
}

impl<K: std::fmt::Display, T: Visit> Visit for BTreeMap<K, T> {
    fn visit<'a>(&'a self, path: &str, visitor: &mut dyn Visitor<'a>) {
        self.iter().for_each(|(key, item)| item.visit(&join(path, &key.to_string()), visitor));
    }
}

macro_rules! tuples {
    ($($($T:ident $i:tt),+;)+) => { $(
        impl<$($T: Visit),+> Visit for ($($T,)+) {
            fn visit<'a>(&'a self, path: &str, visitor: &mut dyn Visitor<'a>) {
                $(self.$i.visit(&join(path, stringify!($i)), visitor);)+
            }
        }
    )+ };
}
tuples! {
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
    A 0, B 1, C 2, D 3, E 4;
    A 0, B 1, C 2, D 3, E 4, F 5;
}

/// A field of a module: visited if its type can be, else a hyper-parameter. `#[traceable]` writes
/// `(&Field(&self.x)).visit_field(..)`, and method lookup picks the first implementation that fits.
#[doc(hidden)]
pub struct Field<'a, T>(pub &'a T);

impl<'a, T: Visit> Field<'a, T> {
    pub fn visit_field(&self, path: &str, name: &str, visitor: &mut dyn Visitor<'a>) {
        self.0.visit(&join(path, name), visitor);
    }
}

/// The fallback for fields that hold no modules or state.
#[doc(hidden)]
pub trait HyperField<'a> {
    fn visit_field(&self, path: &str, name: &str, visitor: &mut dyn Visitor<'a>);
}

impl<'a, T> HyperField<'a> for Field<'_, T> {
    fn visit_field(&self, _: &str, _: &str, _: &mut dyn Visitor<'a>) {}
}

/// The fallback for what a type does not say about itself; `#[traceable]` writes `self.extra_repr()`, and method
/// lookup finds the type's own method before this trait's.
#[doc(hidden)]
pub trait DefaultDescription {
    fn extra_repr(&self) -> String {
        String::new()
    }

    fn constructor(&self) -> Option<String> {
        None
    }
}

impl<T: ?Sized> DefaultDescription for T {}
