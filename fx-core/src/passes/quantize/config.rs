//! Which layers are quantized, and how: PyTorch's `QConfig` and `QConfigMapping`.

use rustc_hash::FxHashMap;

use crate::arg::{Arg, Key, Kwargs};
use crate::error::Result;
use crate::ops::{self, Function};
use crate::prelude::*;

/// How the range of a layer's input is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Observer {
    /// From the smallest to the largest element of all data: `MinMaxObserver`.
    MinMax,
    /// A moving average of the smallest and the largest elements, with this weight of what is new; PyTorch's default is
    /// 0.01: `MovingAverageMinMaxObserver`.
    MovingAverageMinMax(f32),
    /// The range for which a histogram of so many bins has the least squared error, so that outliers do not make the
    /// steps wide; PyTorch's default is 2048: `HistogramObserver`.
    Histogram(usize),
    /// From the smallest to the largest element of each run, found by `choose_qparams` in the graph:
    /// `PlaceholderObserver(is_dynamic=True)`. It needs no data.
    Dynamic,
}

/// The integers that a layer's input becomes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ActivationConfig {
    /// How the range of floats is found.
    pub observer: Observer,
    /// Their element type: u8 or i8.
    pub dtype: DType,
    /// The smallest one.
    pub quant_min: i64,
    /// The largest one.
    pub quant_max: i64,
}

/// The integers that a layer's weight becomes: i8 from -128 to 127, with 0 for 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WeightConfig {
    /// A scale for each output: `PerChannelMinMaxObserver(dtype=qint8, qscheme=per_channel_symmetric)`.
    PerChannel,
    /// The same scale for all outputs: `MinMaxObserver(dtype=qint8, qscheme=per_tensor_symmetric)`.
    PerTensor,
}

/// How a layer is quantized.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QConfig {
    /// Its input.
    pub activation: ActivationConfig,
    /// Its weight.
    pub weight: WeightConfig,
}

/// Which layers are quantized, and how: the more specific setting wins, and `None` leaves layers in f32.
///
/// ```
/// use fx_core::{ops, passes::{QConfig, QConfigMapping}};
/// let mapping = QConfigMapping::new()
///     .set_object_type(ops::linear, QConfig::dynamic())
///     .set_module_name("features.0", None);
/// # let _ = mapping;
/// ```
#[derive(Clone, Debug)]
pub struct QConfigMapping {
    global: Option<QConfig>,
    object_types: FxHashMap<Function, Option<QConfig>>,
    module_names: FxHashMap<String, Option<QConfig>>,
}

impl ActivationConfig {
    /// Of u8, all of them.
    pub fn new(observer: Observer) -> Self {
        Self { observer, dtype: DType::U8, quant_min: 0, quant_max: 255 }
    }

    /// Of another element type, or not all of them.
    #[must_use]
    pub fn with_range(self, dtype: DType, quant_min: i64, quant_max: i64) -> Self {
        Self { dtype, quant_min, quant_max, ..self }
    }

    /// The range as attributes.
    pub(super) fn range<V>(&self) -> Kwargs<V> {
        let range = [("quant_min", self.quant_min), ("quant_max", self.quant_max)];
        range.into_iter().map(|(key, x)| (Key::from(key), Arg::Int(x))).collect()
    }

    /// The attributes of `quantize_per_tensor`.
    pub(super) fn attributes<V>(&self) -> Kwargs<V> {
        let mut kwargs = self.range();
        kwargs.insert("dtype", Arg::DType(self.dtype));
        kwargs
    }

    /// Checks that the ops take it.
    pub(super) fn check(&self) -> Result<()> {
        let x = Arg::Value(Tensor::from([0.0_f32]));
        ops::choose_qparams.check(std::slice::from_ref(&x), &self.range())?;
        ops::quantize_per_tensor.check(&[x, Arg::Float(1.0), Arg::Int(0)], &self.attributes())?;
        Ok(())
    }
}

impl QConfig {
    /// With ranges found in each run, which needs no calibration: PyTorch's `per_channel_dynamic_qconfig`.
    pub fn dynamic() -> Self {
        Self { activation: ActivationConfig::new(Observer::Dynamic), weight: WeightConfig::PerChannel }
    }

    /// With seven bits for inputs, from 0 to 127: PyTorch's `get_default_qconfig("x86")`, whose `reduce_range` is set. Processors
    /// with AVX2, and none of its extensions for neural networks (VNNI), multiply these faster than [the default](Self::default)'s
    /// eight bits; others multiply both at the same speed.
    pub fn x86() -> Self {
        let activation = ActivationConfig::new(Observer::Histogram(2048)).with_range(DType::U8, 0, 127);
        Self { activation, ..Self::default() }
    }
}

impl Default for QConfig {
    /// PyTorch's `get_default_qconfig("onednn")`: a histogram of 2048 bins for inputs in u8, a scale for each output of a
    /// weight.
    fn default() -> Self {
        Self { activation: ActivationConfig::new(Observer::Histogram(2048)), weight: WeightConfig::PerChannel }
    }
}

impl QConfigMapping {
    /// All layers by [`QConfig::default`], as PyTorch's `get_default_qconfig_mapping`.
    pub fn new() -> Self {
        Self {
            global: Some(QConfig::default()),
            object_types: FxHashMap::default(),
            module_names: FxHashMap::default(),
        }
    }

    /// Sets how layers are quantized that nothing else is set for.
    #[must_use]
    pub fn set_global(mut self, qconfig: impl Into<Option<QConfig>>) -> Self {
        self.global = qconfig.into();
        self
    }

    /// Sets how the calls of a function are quantized, such as [`ops::linear`].
    #[must_use]
    pub fn set_object_type(mut self, function: Function, qconfig: impl Into<Option<QConfig>>) -> Self {
        self.object_types.insert(function, qconfig.into());
        self
    }

    /// Sets how the module at a path is quantized, with all modules below it.
    #[must_use]
    pub fn set_module_name(mut self, path: &str, qconfig: impl Into<Option<QConfig>>) -> Self {
        self.module_names.insert(path.to_owned(), qconfig.into());
        self
    }

    /// What is set for a layer of the module at a path.
    pub(super) fn of(&self, function: Function, path: &str) -> Option<QConfig> {
        let outer = path.rmatch_indices('.').map(|(end, _)| &path[..end]);
        let named = std::iter::once(path).chain(outer).find_map(|path| self.module_names.get(path));
        *named.or_else(|| self.object_types.get(&function)).unwrap_or(&self.global)
    }
}

impl Default for QConfigMapping {
    fn default() -> Self {
        Self::new()
    }
}
