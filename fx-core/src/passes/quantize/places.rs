//! The values that are observed, and which of them share an observer.

use rustc_hash::{FxHashMap, FxHashSet};

use super::config::{ActivationConfig, Observer};
use super::observer::Observed;
use crate::graph::{Graph, NodeId};
use crate::ops::{self, Function};
use crate::prelude::*;

/// What gives numbers of its operands as they are: whatever these are rounded to, its result is rounded to.
const CHOOSE: [Function; 4] = [ops::cat, ops::max_pool1d, ops::max_pool2d, ops::max_pool3d];

/// A value that layers read in the same way.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) value: NodeId,
    pub(super) config: ActivationConfig,
    group: usize,
}

/// Places that share an observer.
#[derive(Clone, Debug)]
struct Group {
    /// The values that they choose from, and what is chosen on the way.
    from: FxHashSet<NodeId>,
    observed: Observed,
}

/// All values that are observed.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    all: Vec<Place>,
    of_value: FxHashMap<NodeId, Vec<usize>>,
    groups: Vec<Group>,
}

impl Places {
    /// The place of a value with a configuration.
    pub(super) fn of(&mut self, graph: &Graph, value: NodeId, config: ActivationConfig) -> usize {
        if let Some(place) = self.find(value, config) {
            return place;
        }
        let (place, group) = (self.all.len(), self.groups.len());
        self.groups.push(Group { from: sources(graph, value), observed: Observed::new(config.observer, config.dtype) });
        self.all.push(Place { value, config, group });
        self.of_value.entry(value).or_default().push(place);
        if config.observer != Observer::Dynamic {
            self.join(place);
        }
        place
    }

    /// The place of a value that layers read with a configuration.
    pub(super) fn find(&self, value: NodeId, config: ActivationConfig) -> Option<usize> {
        self.of_value.get(&value)?.iter().copied().find(|place| self.all[*place].config == config)
    }

    /// Has a place share the observer of those that choose from the same values.
    fn join(&mut self, place: usize) {
        let (config, own) = (self.all[place].config, self.all[place].group);
        for other in 0..place {
            let group = self.all[other].group;
            if self.all[other].config != config || self.groups[group].from.is_disjoint(&self.groups[own].from) {
                continue;
            }
            let from = std::mem::take(&mut self.groups[group].from);
            self.groups[own].from.extend(from);
            self.all.iter_mut().filter(|place| place.group == group).for_each(|place| place.group = own);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn get(&self, place: usize) -> &Place {
        &self.all[place]
    }

    /// The range of floats that was seen at a place, and at those that share its observer.
    pub(super) fn range(&self, place: &Place) -> Option<(f32, f32)> {
        self.groups[place.group].observed.range()
    }

    /// Looks at a node's value.
    pub(super) fn observe(&mut self, node: NodeId, value: &Tensor) {
        let places = self.of_value.get(&node).map_or(&[][..], Vec::as_slice);
        places.iter().for_each(|place| self.groups[self.all[*place].group].observed.observe(value));
    }
}

/// A value, and all that it is chosen from.
fn sources(graph: &Graph, value: NodeId) -> FxHashSet<NodeId> {
    let (mut found, mut left) = (FxHashSet::default(), vec![value]);
    while let Some(id) = left.pop() {
        let node = &graph[id];
        if found.insert(id) && node.function().is_some_and(|function| CHOOSE.contains(&function)) {
            node.for_each_input(&mut |input| left.push(input));
        }
    }
    found
}
