//! A tuple as a padding.

fn conv(padding: impl fx::ops::kind::Margin<2>) {
    let _ = padding;
}

fn uneven() {
    conv((2, 1));
}

fn main() {}
