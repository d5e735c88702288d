//! torch.fx for Rust: the facade.
