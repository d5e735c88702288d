//! CPU kernels of fx behind run-time dispatch: the only crate with unsafe code.
