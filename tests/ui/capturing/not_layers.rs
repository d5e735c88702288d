//! A number as a sequence of layers.

fn count(_: impl fx::nn::Layers) {}

fn layers() {
    count(42);
}

fn main() {}
