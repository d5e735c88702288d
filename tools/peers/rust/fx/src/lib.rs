//! What the programs of this engine have in common: models are traced and planned, or with `FX_EAGER` set run as they are.
//! With `FX_PROFILE` set, the plan and where its time goes are printed first.

use std::marker::PhantomData;

use fx::graph_module::Inputs;
use fx::passes::{self, QConfig, QConfigMapping};
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
        if $crate::is_eager($work)? {
            let forward: $crate::Forward = Box::new(move |x| Ok(model.forward(x)));
            forward
        } else {
            let traced = $crate::planned(fx::trace(&model)?, $work, $input)?;
            Box::new(move |x| traced.forward(x))
        }
    }};
}

/// Whether models are to run as they are.
///
/// # Errors
/// If they are, but not in f32.
pub fn is_eager(work: &Work) -> Result<bool> {
    let is_eager = std::env::var_os("FX_EAGER").is_some();
    if is_eager && work.precision != "f32" {
        return Err("eager code computes in f32".into());
    }
    Ok(is_eager)
}

/// A captured model at the precision of the work, with a plan for its inputs.
///
/// # Errors
/// If there is no such precision, or the model cannot be quantized or planned.
pub fn planned(traced: fx::GraphModule, work: &Work, inputs: impl Inputs + Clone) -> Result<fx::GraphModule> {
    let traced = at_precision(traced, work, inputs.clone())?;
    let plan = traced.plan(inputs.clone())?;
    if std::env::var_os("FX_PROFILE").is_some() {
        eprintln!("{plan}\n{}", traced.profile(inputs, 20)?);
    }
    Ok(traced)
}

/// A captured model whose plans compute products as is asked for: in f32, with half floats, or of integers of 8 bits, for which
/// it is calibrated with its input, or which are chosen in each run.
fn at_precision(mut traced: fx::GraphModule, work: &Work, input: impl Inputs) -> Result<fx::GraphModule> {
    let half = match &*work.precision {
        "f32" => return Ok(traced),
        "bf16" => DType::BF16,
        "f16" => DType::F16,
        "int8" | "int8-reduced" => {
            let qconfig = if work.precision == "int8" { QConfig::default() } else { QConfig::x86() };
            let mut prepared = passes::prepare_fx(&traced, &QConfigMapping::new().set_global(qconfig))?;
            prepared.forward(input)?;
            return Ok(prepared.convert_fx()?);
        }
        "int8-dynamic" => {
            passes::quantize_dynamic(&mut traced)?;
            return Ok(traced);
        }
        other => return Err(format!("no precision `{other}`").into()),
    };
    traced.set_inference_precision(half)?;
    Ok(traced)
}

/// An input of a work.
pub fn tensor(Input { shape, elements }: &Input) -> Tensor {
    match elements {
        Elements::Floats(x) => Tensor::from_vec(shape, x.clone()),
        Elements::Tokens(x) => Tensor::from_vec(shape, x.clone()),
    }
}

impl<M: Models> Engine for Fx<M> {
    const PRECISIONS: &[&str] = &["f32", "bf16", "f16", "int8", "int8-reduced", "int8-dynamic"];

    type Output = Tensor;

    fn load(work: &Work) -> Result<Self> {
        fx::set_num_threads(work.threads);
        let input = tensor(&work.input);
        Ok(Self { forward: M::load(work, &input)?, input, models: PhantomData })
    }

    fn run(&mut self) -> Result<Tensor> {
        Ok((self.forward)(&self.input)?)
    }

    fn values(output: Tensor) -> Result<Vec<f32>> {
        Ok(output.to_vec())
    }
}
