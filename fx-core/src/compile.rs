//! From a captured model to something that runs fast: a program, and a plan for each form of its inputs.
//!
//! A program is the optimised graph, whose passes can be printed, and the weights that were packed. When it first meets
//! inputs of some shapes, it makes a plan: every call with a kernel, every value with a layout and a buffer. A few plans
//! are kept. A program is made anew when the graph was edited, a parameter replaced, or training switched.

mod build;
mod kernels;
mod known;
mod layout;
mod memory;
mod packs;
mod parts;
mod plan;
mod pool;
mod print;
mod profile;
mod words;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use fx_kernels::dense::Format;

use crate::arg::Arg;
use crate::error::Result;
use crate::graph_module::GraphModule;
use crate::interpreter::Inputs;
use crate::module::{Buffer, Entry, Parameter, StateEpoch, Training, entries, state_epoch};
use crate::passes;
use crate::tensor::{DType, Tensor};
use packs::Packs;
use pool::Pool;

pub use plan::Plan;
pub use profile::{Profile, StepProfile};

/// How many plans a program keeps.
const PLANS: usize = 16;

/// A captured model made ready to be planned for inputs of any shapes.
pub struct Program {
    module: GraphModule,
    inputs: Inputs,
    packs: Arc<Packs>,
    pool: Arc<Pool>,
    /// The newest last.
    plans: RwLock<Vec<Kept>>,
    /// How many were made.
    made: AtomicUsize,
    watch: Watch,
}

/// A plan, and how many were made when it was used last: those that nobody uses go first.
struct Kept {
    plan: Arc<Plan>,
    used: AtomicUsize,
}

impl Program {
    /// Optimises a module.
    pub(crate) fn new(module: &GraphModule) -> Self {
        let watch = Watch::new(module);
        let mut module = module.clone();
        // What cannot be captured as functions runs as it is: the module is then unchanged.
        let _ = passes::optimize(&mut module);
        let inputs = Inputs::new(module.graph(), |_| true);
        let format = match module.inference_precision() {
            DType::BF16 => Format::Bf16,
            DType::F16 => Format::F16,
            _ => Format::F32,
        };
        let packs = Arc::new(Packs::new(format, module.fast_algorithms()));
        let (pool, plans) = (Arc::default(), RwLock::default());
        Self { module, inputs, packs, pool, plans, made: AtomicUsize::new(0), watch }
    }

    /// The optimised module.
    pub fn module(&self) -> &GraphModule {
        &self.module
    }

    /// Whether the parameters, buffers and training flags are as they were when the program was made.
    pub(crate) fn is_current(&self) -> bool {
        self.watch.is_current()
    }

    /// The plan for arguments of these shapes.
    ///
    /// # Errors
    /// If the arguments do not fit; the error names the node and the user's line.
    pub fn plan(&self, args: &[Arg<Tensor>]) -> Result<Arc<Plan>> {
        let plans = self.plans.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = plans.iter().rev().find(|kept| kept.plan.fits(args)) {
            let now = self.made.load(Ordering::Relaxed);
            // Written only after a plan was made, so that callers at the same time only read.
            if kept.used.load(Ordering::Relaxed) != now {
                kept.used.store(now, Ordering::Relaxed);
            }
            return Ok(Arc::clone(&kept.plan));
        }
        drop(plans);
        self.inputs.check(args.len())?;
        let plan = Arc::new(build::plan(&self.module, args, &self.packs, &self.pool)?);
        let mut plans = self.plans.write().unwrap_or_else(PoisonError::into_inner);
        // The new one takes it over when it runs.
        plans.iter().for_each(|kept| kept.plan.leave_memory());
        if plans.len() == PLANS
            && let Some((oldest, _)) =
                plans.iter().enumerate().min_by_key(|(_, kept)| kept.used.load(Ordering::Relaxed))
        {
            plans.remove(oldest);
        }
        let used = AtomicUsize::new(1 + self.made.fetch_add(1, Ordering::Relaxed));
        plans.push(Kept { plan: Arc::clone(&plan), used });
        Ok(plan)
    }

    /// Runs the plan for arguments of these shapes.
    pub(crate) fn run(&self, args: Vec<Arg<Tensor>>) -> Result<Arg<Tensor>> {
        self.plan(&args)?.run(args)
    }

    /// The bytes of the weights that were packed so far.
    pub fn packed_bytes(&self) -> usize {
        self.packs.bytes()
    }
}

/// The state that a program was made from, and in which version.
struct Watch {
    epoch: StateEpoch,
    parameters: Vec<(Parameter, u64)>,
    buffers: Vec<(Buffer, u64)>,
    training: Vec<(Training, bool)>,
}

impl Watch {
    fn new(module: &GraphModule) -> Self {
        let mut watch =
            Self { epoch: StateEpoch::now(), parameters: Vec::new(), buffers: Vec::new(), training: Vec::new() };
        for (_, entry) in entries(module) {
            match entry {
                Entry::Parameter(parameter) => watch.parameters.push((parameter.clone(), parameter.version())),
                Entry::Buffer(buffer) => watch.buffers.push((buffer.clone(), buffer.version())),
                Entry::Training(flag) => watch.training.push((flag.clone(), flag.get())),
                Entry::Module(_) => {}
            }
        }
        watch
    }

    fn is_current(&self) -> bool {
        let now = state_epoch();
        if self.epoch.is(now) {
            return true;
        }
        let current = self.parameters.iter().all(|(parameter, version)| parameter.version() == *version)
            && self.buffers.iter().all(|(buffer, version)| buffer.version() == *version)
            && self.training.iter().all(|(flag, value)| flag.get() == *value);
        if current {
            self.epoch.set(now);
        }
        current
    }
}
