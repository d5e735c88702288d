//! What all engines have in common: which work they do, and how they are asked to do it.
//!
//! An engine is a program that loads one work, says `ready`, and then answers the lines of the driver; `README.md` in
//! `tools/peers` has the protocol.

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

/// Any error: the driver shows its text below the table.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A model that is loaded, with its input.
pub trait Engine: Sized {
    /// What a run gives.
    type Output;

    /// The types that it can compute products in.
    const PRECISIONS: &[&str] = &["f32"];

    /// Loads the model of a work and makes it ready to run.
    fn load(work: &Work) -> Result<Self>;

    /// Runs the model on its input.
    fn run(&mut self) -> Result<Self::Output>;

    /// The elements of an output, in row-major order.
    fn values(output: Self::Output) -> Result<Vec<f32>>;
}

/// A model, an input of a batch, and a number of threads.
pub struct Work {
    /// The model's name.
    pub model: String,
    /// The number of threads that a run may use.
    pub threads: usize,
    /// The input, the first one if there are several.
    pub input: Input,
    /// The others.
    pub more: Vec<Input>,
    /// The type that products are to be computed in: `f32`, `bf16` or `f16`.
    pub precision: String,
    folder: PathBuf,
    batch: String,
}

/// The input of a model.
pub struct Input {
    /// Its sizes.
    pub shape: Vec<usize>,
    /// Its elements, in row-major order.
    pub elements: Elements,
}

/// The elements of an input.
pub enum Elements {
    /// An image or features.
    Floats(Vec<f32>),
    /// Tokens.
    Tokens(Vec<i64>),
}

impl Work {
    /// The weights, in safetensors.
    pub fn weights(&self) -> PathBuf {
        self.folder.join("weights.safetensors")
    }

    /// The model as an ONNX file.
    pub fn onnx(&self) -> PathBuf {
        self.folder.join(format!("{}.onnx", self.batch))
    }

    /// The same without SELU, for engines that do not have it.
    pub fn onnx_without_selu(&self) -> PathBuf {
        let other = self.folder.join(format!("{}.elu.onnx", self.batch));
        if other.exists() { other } else { self.onnx() }
    }

    fn new(folder: &str, model: &str, batch: &str, threads: &str) -> Result<Self> {
        let folder = Path::new(folder).join(model);
        let mut inputs = Input::read_all(&folder.join(format!("{batch}.input.safetensors")))?;
        let more = inputs.split_off(1);
        let input = inputs.remove(0);
        let precision = std::env::var("PRECISION").unwrap_or_else(|_| "f32".to_owned());
        Ok(Self {
            model: model.to_owned(),
            threads: threads.parse()?,
            input,
            more,
            precision,
            folder,
            batch: batch.to_owned(),
        })
    }
}

impl Input {
    /// `x`, and `x1`, `x2` and so on, as many as there are.
    fn read_all(path: &Path) -> Result<Vec<Self>> {
        let bytes = std::fs::read(path)?;
        let file = SafeTensors::deserialize(&bytes)?;
        let name = |place| if place == 0 { "x".to_owned() } else { format!("x{place}") };
        (0..file.len()).map(|place| Self::read(&file.tensor(&name(place))?)).collect()
    }

    fn read(x: &TensorView<'_>) -> Result<Self> {
        let elements = match x.dtype() {
            Dtype::F32 => Elements::Floats(decode(x.data(), f32::from_le_bytes)),
            Dtype::I64 => Elements::Tokens(decode(x.data(), i64::from_le_bytes)),
            other => return Err(format!("an input of {other:?}").into()),
        };
        Ok(Self { shape: x.shape().to_vec(), elements })
    }
}

fn decode<T, const N: usize>(bytes: &[u8], one: fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks().0.iter().copied().map(one).collect()
}

/// Loads the work that the program's arguments name and answers the driver until it hangs up.
pub fn serve<E: Engine>() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Err(error) = answer::<E>(&args) {
        println!("error {}", error.to_string().split_whitespace().collect::<Vec<_>>().join(" "));
        std::process::exit(1);
    }
}

fn answer<E: Engine>(args: &[String]) -> Result<()> {
    let [folder, model, batch, threads] = args else {
        return Err("usage: <engine> <folder> <model> <batch> <threads>".into());
    };
    let work = Work::new(folder, model, batch, threads)?;
    if !E::PRECISIONS.contains(&&*work.precision) {
        return Err(format!("does not compute in {}", work.precision).into());
    }
    let before = status("VmRSS");
    let start = Instant::now();
    let mut engine = E::load(&work)?;
    println!("ready {}", start.elapsed().as_secs_f64() * 1e3);
    for line in io::stdin().lock().lines() {
        let line = line?;
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("run", count) => {
                let times: Vec<String> = (0..count.parse()?).map(|_| time(&mut engine)).collect::<Result<_>>()?;
                println!("{}", times.join(" "));
            }
            ("memory", _) => println!("{} {before}", status("VmHWM")),
            ("output", path) => {
                let values = E::values(engine.run()?)?;
                std::fs::write(path, values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())?;
                println!("written");
            }
            _ => return Err(format!("what is `{line}`?").into()),
        }
        io::stdout().flush()?;
    }
    Ok(())
}

/// The time of one run, in microseconds.
fn time<E: Engine>(engine: &mut E) -> Result<String> {
    let start = Instant::now();
    drop(engine.run()?);
    Ok((start.elapsed().as_nanos() as f64 / 1e3).to_string())
}

/// A size from what the kernel says of this process, in KB.
fn status(field: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
