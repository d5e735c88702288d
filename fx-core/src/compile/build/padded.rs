//! Zeros around images: convolutions read them as they read their own padding, and no copy with them is made.

use smallvec::SmallVec;

use super::{Builder, Held, apart};
use crate::arg::{Arg, Kwargs};
use crate::compile::kernels::{Margin, Site, is_conv, margins};
use crate::compile::known::Known;
use crate::error::Result;
use crate::graph::NodeId;
use crate::ops::{Function, functions as ops};
use crate::value::Meta;

/// The arguments and attributes of a call.
type Given<T> = (Vec<Arg<T>>, Kwargs<T>);

impl Builder<'_> {
    /// Whether a call puts zeros around images that convolutions alone read: it has no step, and each of them [reads](Self::padded) more.
    pub(super) fn pads_later(&self, id: NodeId, function: Function, places: &Given<Known>) -> bool {
        let graph = self.module.graph();
        let reads = |user: NodeId| {
            let mut places = 0;
            graph[user].for_each_input(&mut |input| places += usize::from(input == id));
            let first = graph[user].args().first().and_then(Arg::as_value);
            graph[user].function().is_some_and(is_conv) && places == 1 && first == Some(&id)
        };
        let is_pad = function == ops::pad && self.margins(places).is_some();
        is_pad && graph[id].users().all(reads)
    }

    /// The result of a convolution that reads what such a call before it reads, with zeros around. Without a kernel that does, its argument is
    /// what that call gives.
    pub(super) fn padded(
        &mut self,
        id: NodeId,
        function: Function,
        metas: &Given<Meta>,
        places: &mut Given<Known>,
    ) -> Result<Option<Held>> {
        let graph = self.module.graph();
        let input = graph[id].args().first().and_then(Arg::as_value).filter(|_| is_conv(function));
        let (Some(pad), Some(Arg::None)) = (input.map(|input| &graph[*input]), places.0.first()) else {
            return Ok(None);
        };
        let before = (self.known(pad.args())?, self.kwargs(pad, |held| held.place.clone())?);
        let Some(around) = self.margins(&before).filter(|_| pad.function() == Some(ops::pad)) else { return Ok(None) };
        places.0[0] = before.0[0].clone();
        let meta = self.inferred(function, metas)?;
        if !apart::is_repeated(function, &metas.0, &metas.1, &meta)
            && let Some(place) = self.lowered(id, function, (&places.0, &around), &places.1, &meta)
        {
            return Ok(Some(Held { place, meta }));
        }
        let metas = (self.metas(pad.args())?, self.kwargs(pad, |held| held.meta.clone())?);
        places.0[0] = self.planned(id, ops::pad, metas, before)?.place;
        Ok(None)
    }

    /// The zeros that a call with these arguments puts around images.
    fn margins(&self, (args, kwargs): &Given<Known>) -> Option<SmallVec<[Margin; 3]>> {
        margins(&Site { function: ops::pad, args, kwargs, results: &[], packs: self.packs, around: &[] })
    }
}
