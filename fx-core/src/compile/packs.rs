//! Weights that were packed: plans for other shapes share them.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use fx_kernels::Matrix;
use fx_kernels::dense::{
    Algorithm, Bytes, CompactLinear, ConvShape, Format, PackedConv, PackedLinear, QuantizedConv, QuantizedLinear,
    QuantizedVolumeConv, TransposedConv, TransposedShape, TransposedVolumeConv, TransposedVolumeShape, VolumeConv,
    VolumeShape, Weight,
};
use fx_kernels::recurrent::{Cell, PackedCell};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::known::{Known, Place};
use crate::error::Result;
use crate::ops::fallible;
use crate::tensor::{Tensor, numel, view};

/// Packed weights, by the tensors that they come from.
pub(super) struct Packs {
    /// The type that they are kept in where the kernel can.
    format: Format,
    /// Whether products may be computed by other algorithms than their definition.
    fast: bool,
    /// With all that a key names, so that nothing else gets its name.
    packs: Mutex<FxHashMap<(Kind, SmallVec<[Place; 2]>), (Packed, Box<[Known]>)>>,
}

/// What weights are packed for; each kind has a type of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Conv(ConvShape, Algorithm),
    Volumes(VolumeShape, Algorithm),
    /// With whether the weight is transposed.
    Linear(bool),
    /// A product for each matrix.
    Stack,
    /// As `Linear`, for single rows.
    Compact(bool),
    Cell(Cell),
    /// Of a weight and its scales, with the bits of what they are multiplied with.
    QuantizedLinear(u32),
    QuantizedConv(u32, ConvShape),
    QuantizedVolumes(u32, VolumeShape),
    Transposed(TransposedShape),
    QuantizedTransposed(u32, TransposedShape),
    TransposedVolumes(TransposedVolumeShape),
}

/// A packed weight and its bytes.
#[derive(Clone)]
struct Packed {
    weight: Arc<dyn Any + Send + Sync>,
    bytes: usize,
}

impl Packs {
    pub(super) fn new(format: Format, fast: bool) -> Self {
        Self { format, fast, packs: Mutex::default() }
    }

    /// What was packed of the named ones, or is now; None if they are not known, or it cannot be read, which is an error of the plan that
    /// is being made.
    fn get<P: Any + Send + Sync>(
        &self,
        kind: Kind,
        named: &[&Known],
        bytes: impl Fn(&P) -> usize,
        pack: impl FnOnce() -> Result<P>,
    ) -> Option<Arc<P>> {
        self.get_if(kind, named, bytes, || pack().map(Some))
    }

    /// As [`get`](Self::get), of what may be such that it cannot be packed.
    fn get_if<P: Any + Send + Sync>(
        &self,
        kind: Kind,
        named: &[&Known],
        bytes: impl Fn(&P) -> usize,
        pack: impl FnOnce() -> Result<Option<P>>,
    ) -> Option<Arc<P>> {
        let mut pack = Some(pack);
        let packed = self.packed(kind, named, &mut || {
            let weight = pack.take()?().map_err(fallible::note).ok().flatten()?;
            Some(Packed { bytes: bytes(&weight), weight: Arc::new(weight) })
        })?;
        packed.weight.downcast().ok()
    }

    /// What was packed, or is now; compiled once for all kinds.
    fn packed(&self, kind: Kind, named: &[&Known], pack: &mut dyn FnMut() -> Option<Packed>) -> Option<Packed> {
        let key = (kind, named.iter().map(|known| known.place()).collect::<Option<_>>()?);
        let mut packs = self.packs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((packed, _)) = packs.get(&key) {
            return Some(packed.clone());
        }
        let packed = pack()?;
        packs.insert(key, (packed.clone(), named.iter().map(|known| (*known).clone()).collect()));
        Some(packed)
    }

    fn has(&self, kind: Kind, weight: Place) -> bool {
        let key = (kind, SmallVec::from_iter([weight]));
        self.packs.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&key)
    }

    /// The type that weights are kept in where the kernel can.
    pub(super) fn format(&self) -> Format {
        self.format
    }

    /// The weight of a convolution in f32, for so many images of a size; None if it is not known.
    pub(super) fn conv(
        &self,
        weight: &Known,
        shape: ConvShape,
        batch: usize,
        size: [usize; 2],
    ) -> Option<Arc<PackedConv>> {
        let by = self.algorithm(|format| shape.algorithm(batch, shape.output(size), format));
        let pack = || weight.pack(|weight| PackedConv::with(weight, shape, by, self.format));
        self.get(Kind::Conv(shape, by), &[weight], PackedConv::bytes, pack)
    }

    /// The weight of a convolution in f32, for so many volumes of a size; None if it is not known.
    pub(super) fn volumes(
        &self,
        weight: &Known,
        shape: VolumeShape,
        batch: usize,
        size: [usize; 3],
    ) -> Option<Arc<VolumeConv>> {
        let by = self.algorithm(|format| shape.algorithm(batch, shape.output(size), format));
        let pack = || weight.pack(|weight| VolumeConv::new(weight, shape, by, self.format));
        self.get(Kind::Volumes(shape, by), &[weight], VolumeConv::bytes, pack)
    }

    /// The right operand of a product in f32, `[inputs, outputs]`, or the other way round if it is transposed; None if it
    /// is not known.
    pub(super) fn linear(&self, weight: &Known, transposed: bool) -> Option<Arc<PackedLinear>> {
        let by = if self.fast { Algorithm::Strassen } else { Algorithm::Direct };
        let pack = || {
            right_operand(
                weight,
                transposed,
                |weight, [outputs, inputs]| PackedLinear::with(weight, outputs, inputs, by, self.format),
                |matrix| PackedLinear::from_matrix(matrix, by, self.format),
            )
        };
        self.get(Kind::Linear(transposed), &[weight], PackedLinear::bytes, pack)
    }

    /// The right operands of as many products in f32, `[.., inputs, outputs]`; None if they are not known.
    pub(super) fn stack(&self, weight: &Known) -> Option<Arc<Vec<PackedLinear>>> {
        let by = if self.fast { Algorithm::Strassen } else { Algorithm::Direct };
        let pack = || {
            let tensor = weight.peek()?;
            let [lead @ .., inputs, outputs] = tensor.shape() else { return Ok(Vec::new()) };
            let matrices = view::reshape(&tensor, &[numel(lead), *inputs, *outputs]);
            let (numbers, strides) = (matrices.strided::<f32>(), matrices.strides());
            let matrix = |index| Matrix::new(&numbers[index * strides[0]..], *inputs, *outputs, strides[1], strides[2]);
            Ok((0..numel(lead)).map(|index| PackedLinear::from_matrix(matrix(index), by, self.format)).collect())
        };
        let bytes = |stack: &Vec<PackedLinear>| stack.iter().map(PackedLinear::bytes).sum();
        self.get(Kind::Stack, &[weight], bytes, pack)
    }

    /// As [`linear`](Self::linear), in the form in which a single row is multiplied faster; None too if it would not be, or if the
    /// weight is in memory as it is for several rows.
    pub(super) fn linear_of_a_row(&self, weight: &Known, transposed: bool) -> Option<Arc<CompactLinear>> {
        let weights = weight.weight()?.iter().product();
        let may_be = self.fast && self.format == Format::F32 && CompactLinear::is_faster(weights);
        if !may_be || self.has(Kind::Linear(transposed), weight.place()?) {
            return None;
        }
        let by_rows = |weight: Weight<'_>, [outputs, inputs]: [usize; 2]| CompactLinear::new(weight, outputs, inputs);
        let pack = || right_operand(weight, transposed, by_rows, CompactLinear::from_matrix);
        self.get_if(Kind::Compact(transposed), &[weight], CompactLinear::bytes, pack)
    }

    /// The weight of a recurrent layer's state in f32; None if it is not known.
    pub(super) fn cell(&self, cell: Cell, weight: &Known) -> Option<Arc<PackedCell>> {
        let hidden = *weight.weight()?.get(1)?;
        let pack = || weight.pack(|weight| PackedCell::new(cell, weight, hidden, self.format));
        self.get(Kind::Cell(cell), &[weight], PackedCell::bytes, pack)
    }

    /// The weight of a linear layer in i8, `[outputs, inputs]`, with a scale for each output, to be multiplied with numbers of so
    /// many bits; None if they are not known.
    pub(super) fn quantized_linear(&self, operands: [&Known; 2], bits: u32) -> Option<Arc<QuantizedLinear>> {
        let pack = || with_bytes(operands, bits, QuantizedLinear::new);
        self.get(Kind::QuantizedLinear(bits), &operands, QuantizedLinear::bytes, pack)
    }

    /// As [`quantized_linear`](Self::quantized_linear), of a convolution.
    pub(super) fn quantized_conv(
        &self,
        operands: [&Known; 2],
        bits: u32,
        shape: ConvShape,
    ) -> Option<Arc<QuantizedConv>> {
        let pack = || with_bytes(operands, bits, |bytes, _| QuantizedConv::new(bytes, shape));
        self.get(Kind::QuantizedConv(bits, shape), &operands, QuantizedConv::bytes, pack)
    }

    /// As [`quantized_linear`](Self::quantized_linear), of a convolution of volumes.
    pub(super) fn quantized_volumes(
        &self,
        operands: [&Known; 2],
        bits: u32,
        shape: VolumeShape,
    ) -> Option<Arc<QuantizedVolumeConv>> {
        let pack = || with_bytes(operands, bits, |bytes, _| QuantizedVolumeConv::new(bytes, shape));
        self.get(Kind::QuantizedVolumes(bits, shape), &operands, QuantizedVolumeConv::bytes, pack)
    }

    /// The weight of a transposed convolution in f32; None if it is not known.
    pub(super) fn transposed(&self, weight: &Known, shape: TransposedShape) -> Option<Arc<TransposedConv>> {
        let pack = || {
            let tensor = weight.peek()?.contiguous();
            Ok(TransposedConv::new(tensor.as_slice().unwrap_or_default(), shape, self.format))
        };
        self.get(Kind::Transposed(shape), &[weight], TransposedConv::bytes, pack)
    }

    /// As [`transposed`](Self::transposed), of volumes.
    pub(super) fn transposed_volumes(
        &self,
        weight: &Known,
        shape: TransposedVolumeShape,
    ) -> Option<Arc<TransposedVolumeConv>> {
        let pack = || {
            let tensor = weight.peek()?.contiguous();
            Ok(TransposedVolumeConv::new(tensor.as_slice().unwrap_or_default(), shape, self.format))
        };
        self.get(Kind::TransposedVolumes(shape), &[weight], TransposedVolumeConv::bytes, pack)
    }

    /// As [`transposed`](Self::transposed), of a weight in i8 with a scale for each output.
    pub(super) fn quantized_transposed(
        &self,
        operands: [&Known; 2],
        bits: u32,
        shape: TransposedShape,
    ) -> Option<Arc<TransposedConv>> {
        let pack = || with_bytes(operands, bits, |bytes, _| TransposedConv::quantized(bytes, shape));
        self.get(Kind::QuantizedTransposed(bits, shape), &operands, TransposedConv::bytes, pack)
    }

    /// How a convolution is computed, for which another algorithm may be faster.
    fn algorithm(&self, fastest: impl FnOnce(Format) -> Algorithm) -> Algorithm {
        if self.fast { fastest(self.format) } else { Algorithm::Direct }
    }

    /// The bytes of all packed weights.
    pub(super) fn bytes(&self) -> usize {
        self.packs.lock().unwrap_or_else(PoisonError::into_inner).values().map(|(packed, _)| packed.bytes).sum()
    }
}

/// What is made of a weight in i8 with a scale for each output, and of how many numbers an output has.
fn with_bytes<P>([weight, scales]: [&Known; 2], bits: u32, make: impl FnOnce(Bytes<'_>, usize) -> P) -> Result<P> {
    let [weight, scales] = [weight.peek()?.contiguous(), scales.peek()?.contiguous()];
    let (numbers, scales) = (weight.as_slice().unwrap_or_default(), scales.as_slice().unwrap_or_default());
    Ok(make(Bytes { weight: numbers, scales, bits }, numel(&weight.shape()[1..])))
}

/// What is packed of the right operand of a product, `[inputs, outputs]`, or the other way round if it is transposed: of rows as
/// long as an input, or of the matrix.
fn right_operand<P>(
    weight: &Known,
    transposed: bool,
    by_rows: impl FnOnce(Weight<'_>, [usize; 2]) -> P,
    of_matrix: impl FnOnce(Matrix<'_, f32>) -> P,
) -> Result<P> {
    if transposed && weight.is_by_rows() {
        let shape = weight.weight().unwrap_or_default();
        return weight.pack(|weight| by_rows(weight, [shape[0], shape[1]]));
    }
    let tensor = weight.peek()?;
    let right: Tensor = if transposed { view::transpose(&tensor, 0, 1) } else { tensor };
    let (shape, strides) = (right.shape(), right.strides());
    Ok(of_matrix(Matrix::new(right.strided::<f32>(), shape[0], shape[1], strides[0], strides[1])))
}
