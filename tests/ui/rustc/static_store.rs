//! A traced tensor that is kept outside of the function.

use std::sync::Mutex;

use fx::prelude::*;

static LAST: Mutex<Option<Tensor>> = Mutex::new(None);

#[traceable]
fn f(x: &Tensor) -> Tensor {
    *LAST.lock().unwrap() = Some(x.clone());
    x.relu()
}

fn main() {}
