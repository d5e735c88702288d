//! Convolutions of single pixels go before what enlarges their images.
//!
//! A pixel of an enlarged image is a mean of some of the image's, whose weights sum to 1 in every mode, and such a convolution
//! adds channels up, so it may as well come first, where there are fewer pixels: a bias stays what it is, and only roundings
//! differ. Of a concatenation of channels it is a sum of convolutions, so this holds for each part: SegFormer puts images of
//! four sizes side by side.
//!
//! It is the plan's, since images are mostly enlarged to the size of others, which is known with shapes, and one graph is for
//! all of them. What enlarges an image waits for the convolution, which reads columns of its weight where they are.

use super::{Builder, Held, single};
use crate::arg::{Arg, Kwargs};
use crate::compile::known::Known;
use crate::error::Result;
use crate::graph::{Node, NodeId};
use crate::ops::{FUSED, Function, functions as ops};
use crate::tensor::{DType, numel};
use crate::value::Meta;

/// How many products take as long as it takes one step to hand a number to the next, as measured.
const HANDED_ON: usize = 12;

/// A convolution without what follows it.
fn alone(function: Function) -> Function {
    FUSED.iter().find(|(_, fused)| *fused == function).map_or(function, |(alone, _)| *alone)
}

/// The attributes of a call.
type Attributes = (Kwargs<Meta>, Kwargs<Known>);

/// Some neighbours among the channels that a convolution reads.
struct Piece {
    /// Those of one image that waits to be enlarged, or of some that are as large as the result.
    images: Vec<NodeId>,
    waits: bool,
    first: usize,
    channels: usize,
}

impl Builder<'_> {
    /// What is known of a call that waits for the convolution that alone reads its result, or of the convolution; None of all others.
    pub(super) fn convolved_first(
        &mut self,
        id: NodeId,
        function: Function,
        (metas, options): (&[Arg<Meta>], &Kwargs<Meta>),
        (places, kwargs): (&[Arg<Known>], &Kwargs<Known>),
    ) -> Result<Option<Held>> {
        let is_joined = function == ops::cat && self.images(id).iter().any(|image| self.late.contains(image));
        if function == ops::interpolate || is_joined {
            let meta = function.infer(metas, options)?;
            let waits = is_joined || self.is_enlarged_late(id, &meta).unwrap_or(false);
            return Ok(waits.then(|| {
                self.late.insert(id);
                Held { place: Arg::None, meta }
            }));
        }
        let Some(pieces) = self.pieces(id) else { return Ok(None) };
        function.infer(metas, options)?;
        let held = |(meta, place): (&Arg<Meta>, &Arg<Known>)| Held { meta: meta.clone(), place: place.clone() };
        let operands = metas.iter().zip(places).skip(1).map(held).collect();
        self.before_enlarging(id, function, pieces, operands, (options.clone(), kwargs.clone())).map(Some)
    }

    /// Whether a convolution is clearly less work before an image is enlarged.
    fn is_enlarged_late(&self, id: NodeId, meta: &Arg<Meta>) -> Option<bool> {
        let graph = self.module.graph();
        let Arg::Value(Known::Value(small, _)) = &self.values[graph[id].args().first()?.as_value()?].place else {
            return None;
        };
        let large = single(meta).filter(|large| large.dtype == DType::F32)?;
        let reader = |id: NodeId| graph[id].users().next().filter(|_| self.is_read_once(id));
        let (mut read, mut user) = (id, reader(id)?);
        let is_part = graph[user].function() == Some(ops::cat);
        if is_part {
            let dim = graph[user].kwargs().get("dim")?.as_int()?;
            (read, user) = (user, reader(user).filter(|_| dim == 1 || dim + large.shape.len() as i64 == 1)?);
        }
        let conv = &graph[user];
        let outputs = self.outputs_of_pixels(conv, large.shape.len())?;
        let (channels, from, to) = (large.shape[1], numel(&small.shape[2..]), numel(&large.shape[2..]));
        // Beside others it goes on to a concatenation, or to a sum; alone, to what else the convolution does.
        let (before, after) = match is_part {
            true => (2, 2),
            false => (1, 1 + usize::from(conv.function().is_some_and(|function| alone(function) != function))),
        };
        let before = channels * to * (outputs + before * HANDED_ON);
        let after = outputs * (channels * from + to * after * HANDED_ON);
        Some(conv.args()[0].as_value() == Some(&read) && from < to && 5 * after < 4 * before)
    }

    /// How many channels a convolution makes of those of each pixel, if it is one in f32, with a weight of the state.
    fn outputs_of_pixels(&self, conv: &Node, ndim: usize) -> Option<usize> {
        let convs = [ops::conv1d, ops::conv2d, ops::conv3d];
        conv.function().filter(|function| convs.contains(&alone(*function)))?;
        let weight = self.module.state().parameter_of(self.module.graph(), conv.args().get(1)?)?;
        let is_plain = weight.dtype() == DType::F32 && conv.kwargs().iter().all(|(key, _)| key == "attr");
        let shape = weight.shape();
        (is_plain && shape.len() == ndim && numel(&shape[2..]) == 1).then(|| shape[0])
    }

    /// The images that a value is made of: those of a concatenation, or itself.
    fn images(&self, id: NodeId) -> Vec<NodeId> {
        let node = &self.module.graph()[id];
        let items = node.args().first().and_then(Arg::as_items).filter(|_| node.function() == Some(ops::cat));
        items.map_or_else(|| vec![id], |items| items.iter().filter_map(Arg::as_value).copied().collect())
    }

    /// What a convolution reads, if something waits for it.
    fn pieces(&self, conv: NodeId) -> Option<Vec<Piece>> {
        let input = self.module.graph()[conv].args().first()?.as_value()?;
        self.late.get(input)?;
        let (mut pieces, mut first) = (Vec::<Piece>::new(), 0);
        for image in self.images(*input) {
            // An empty tensor of one dimension goes with any others.
            let Some(channels) = single(&self.values[&image].meta)?.shape.get(1).copied() else { continue };
            let waits = self.late.contains(&image);
            match pieces.last_mut().filter(|piece| !waits && !piece.waits) {
                Some(piece) => {
                    piece.images.push(image);
                    piece.channels += channels;
                }
                None => pieces.push(Piece { images: vec![image], waits, first, channels }),
            }
            first += channels;
        }
        Some(pieces)
    }

    /// A convolution of single pixels, given the operands after its input, in pieces.
    fn before_enlarging(
        &mut self,
        id: NodeId,
        function: Function,
        mut pieces: Vec<Piece>,
        operands: Vec<Held>,
        attributes: Attributes,
    ) -> Result<Held> {
        let none = || Held { place: Arg::None, meta: Arg::None };
        let mut operands = operands.into_iter();
        let (weight, mut bias) = (operands.next().unwrap_or_else(none), operands.next().unwrap_or_else(none));
        let product = alone(function);
        // What does not wait takes up the bias and the sum of the others; the first, where all wait, the bias.
        let last = pieces.iter().rposition(|piece| !piece.waits).map(|last| pieces.remove(last));
        let mut terms: Vec<Held> = operands.collect();
        for piece in &pieces {
            let mut operands = self.operands(id, piece, &weight)?;
            operands.extend(last.is_none().then(|| std::mem::replace(&mut bias, none())));
            let term = self.made(id, product, operands, Attributes::default())?;
            terms.push(if piece.waits { self.enlarged(id, piece.images[0], term)? } else { term });
        }
        let mut terms = terms.into_iter();
        let mut sum = terms.next().unwrap_or_else(none);
        for term in terms {
            sum = self.followed(id, sum, Some(term), None)?;
        }
        let Some(piece) = last else { return self.followed(id, sum, None, attributes.1.get("attr")) };
        let mut operands = self.operands(id, &piece, &weight)?;
        operands.push(bias);
        if let Some((_, fused)) = FUSED.iter().find(|(alone, _)| *alone == product) {
            operands.push(sum);
            return self.made(id, *fused, operands, attributes);
        }
        let last = self.made(id, product, operands, Attributes::default())?;
        self.followed(id, last, Some(sum), None)
    }

    /// The channels of a convolution's input that a piece stands for, not enlarged if they wait, and their columns of its weight.
    fn operands(&mut self, id: NodeId, piece: &Piece, weight: &Held) -> Result<Vec<Held>> {
        let graph = self.module.graph();
        let image = |image| if piece.waits { graph[image].args()[0].as_value().copied() } else { Some(image) };
        let images: Vec<_> = piece.images.iter().filter_map(|id| self.values.get(&image(*id)?).cloned()).collect();
        let input = match &images[..] {
            [image] => image.clone(),
            _ => {
                let (metas, places) = images.into_iter().map(|image| (image.meta, image.place)).unzip();
                let all = Held { meta: Arg::List(metas), place: Arg::List(places) };
                self.made(id, ops::cat, vec![all], numbers([("dim", 1)]))?
            }
        };
        let columns = numbers([("dim", 1), ("start", piece.first), ("length", piece.channels)]);
        Ok(vec![input, self.made(id, ops::narrow, vec![weight.clone()], columns)?])
    }

    /// A value enlarged as the image was to be that waited for it.
    fn enlarged(&mut self, id: NodeId, image: NodeId, value: Held) -> Result<Held> {
        let node = &self.module.graph()[image];
        let attributes = (self.kwargs(node, |held| held.meta.clone())?, self.kwargs(node, |held| held.place.clone())?);
        self.made(id, ops::interpolate, vec![value], attributes)
    }

    /// What a call of values gives that is one of those that a node's call becomes.
    fn made(&mut self, id: NodeId, function: Function, args: Vec<Held>, attributes: Attributes) -> Result<Held> {
        let (metas, places) = args.into_iter().map(|held| (held.meta, held.place)).unzip();
        self.planned(id, function, (metas, attributes.0), (places, attributes.1))
    }
}

/// Attributes that are numbers.
fn numbers<const N: usize>(all: [(&'static str, usize); N]) -> Attributes {
    fn kwargs<V>(all: &[(&'static str, usize)]) -> Kwargs<V> {
        all.iter().map(|(name, number)| (*name, Arg::Int(*number as i64))).collect()
    }
    (kwargs(&all), kwargs(&all))
}
