//! Neural network modules for fx, with PyTorch names, arguments and defaults.
