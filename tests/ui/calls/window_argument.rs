//! A string as a window.

use fx::prelude::*;

fn pool(window: impl fx::ops::Window<2>) {
    let _ = window;
}

fn square() {
    pool("3x3");
}

fn main() {}
