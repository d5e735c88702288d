//! Vectors, maps and queues of traced values.

use std::collections::{BTreeMap, VecDeque};

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor) -> Tensor {
    let mut list = vec![x.clone(); 3];
    list.push(x.relu());
    list.insert(0, x.tanh());
    list.extend(vec![x.clone()]);
    let mut map = BTreeMap::new();
    map.insert("x", x.clone());
    map.insert("y", list.remove(0));
    let mut queue: VecDeque<Tensor> = list.into_iter().collect();
    while queue.len() > 1 {
        if let (Some(a), Some(b)) = (queue.pop_front(), queue.pop_front()) {
            queue.push_back(a + b);
        }
    }
    map.values().fold(queue[0].clone(), |sum, x| sum + x) + &map["x"]
}
