//! What the programs of this engine have in common: models are traced and planned, or with `FX_EAGER` set run as they are.
//! With `FX_PROFILE` set, the plan and where its time goes are printed first.

use std::marker::PhantomData;

use fx::prelude::*;
use protocol::{Elements, Engine, Input};
pub use protocol::{Result, Work};

/// How a model is run.
pub type Forward = Box<dyn Fn(&Tensor) -> fx::Result<Tensor>>;

/// The models of a program.
pub trait Models {
    /// A model that is ready to run on such an input.
    ///
    /// # Errors
    /// If there is no such model, or its weights do not fit.
    fn load(work: &Work, input: &Tensor) -> Result<Forward>;
}

/// A model that is loaded, of some.
pub struct Fx<M> {
    forward: Forward,
    input: Tensor,
    models: PhantomData<M>,
}

/// Loads the weights, and traces and plans the model unless it is to run eagerly.
#[macro_export]
macro_rules! ready {
    ($model:expr, $work:expr, $input:expr) => {{
        let model = $model;
        model.load_safetensors($work.weights())?;
        model.eval();
        if std::env::var_os("FX_EAGER").is_some() {
            if $work.precision != "f32" {
                return Err("eager code computes in f32".into());
            }
            let forward: $crate::Forward = Box::new(move |x| Ok(model.forward(x)));
            forward
        } else {
            let mut traced = fx::trace(&model)?;
            traced.set_inference_precision($crate::precision($work)?)?;
            let plan = traced.plan($input)?;
            if std::env::var_os("FX_PROFILE").is_some() {
                eprintln!("{plan}\n{}", traced.profile($input, 20)?);
            }
            Box::new(move |x| traced.forward(x))
        }
    }};
}

/// The type that plans keep weights in.
///
/// # Errors
/// If there is no such type.
pub fn precision(work: &Work) -> Result<DType> {
    match &*work.precision {
        "f32" => Ok(DType::F32),
        "bf16" => Ok(DType::BF16),
        "f16" => Ok(DType::F16),
        other => Err(format!("no precision `{other}`").into()),
    }
}

impl<M: Models> Engine for Fx<M> {
    const PRECISIONS: &[&str] = &["f32", "bf16", "f16"];

    type Output = Tensor;

    fn load(work: &Work) -> Result<Self> {
        fx::set_num_threads(work.threads);
        let Input { shape, elements } = &work.input;
        let input = match elements {
            Elements::Floats(x) => Tensor::from_vec(shape, x.clone()),
            Elements::Tokens(x) => Tensor::from_vec(shape, x.clone()),
        };
        Ok(Self { forward: M::load(work, &input)?, input, models: PhantomData })
    }

    fn run(&mut self) -> Result<Tensor> {
        Ok((self.forward)(&self.input)?)
    }

    fn values(output: Tensor) -> Result<Vec<f32>> {
        Ok(output.to_vec())
    }
}
