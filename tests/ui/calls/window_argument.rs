//! A string as a window.

fn pool(window: impl fx::ops::kind::Window<2>) {
    let _ = window;
}

fn square() {
    pool("3x3");
}

fn main() {}
