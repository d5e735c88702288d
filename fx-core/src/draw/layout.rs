//! A layered layout of a directed graph (Sugiyama, Tagawa and Toda, 1981), from top to bottom, in time that grows about
//! linearly.
//!
//! A node's layer is the longest way to it; a node without inputs moves down to its users. An edge over several layers
//! passes through a point in each, unless there are very many. Nodes of a layer are ordered by the mean place of their
//! neighbours, and placed as near to them as the order allows. `page.js` has the same steps for what the page shows.

use crate::sort::{sort_by, sort_by_key};

/// Where nodes are, by their centres, and how edges go.
pub(super) struct Layout {
    pub(super) centers: Vec<(f64, f64)>,
    /// The points of each edge, from the bottom of its source to the top of its target.
    pub(super) edges: Vec<Vec<(f64, f64)>>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Edges over more layers go straight.
const LONGEST: usize = 24;
const GAP: (f64, f64) = (24.0, 36.0);
const SWEEPS: usize = 4;

/// Places nodes of these widths and of one height; edges go from lower to higher places.
pub(super) fn layout(widths: &[f64], height: f64, edges: &[(usize, usize)]) -> Layout {
    let layers = layers(widths.len(), edges);
    let mut net = Net::new(widths, &layers, edges);
    net.order();
    let x = net.place();
    let left = (0..x.len()).map(|i| x[i] - net.widths[i] / 2.0).fold(f64::INFINITY, f64::min).min(f64::MAX);
    let right = (0..x.len()).map(|i| x[i] + net.widths[i] / 2.0).fold(0.0, f64::max);
    let at = |i: usize| (x[i] - left + GAP.0, net.layer[i] as f64 * (height + GAP.1) + height / 2.0 + GAP.0);
    let ends = |points: &[usize]| {
        let mut points: Vec<_> = points.iter().map(|i| at(*i)).collect();
        if let [first, .., last] = &mut points[..] {
            first.1 += height / 2.0;
            last.1 -= height / 2.0;
        }
        points
    };
    let depth = layers.iter().max().map_or(0, |layer| layer + 1) as f64;
    Layout {
        centers: (0..widths.len()).map(at).collect(),
        edges: net.paths.iter().map(|points| ends(points)).collect(),
        width: if x.is_empty() { 0.0 } else { right - left + 2.0 * GAP.0 },
        height: depth * (height + GAP.1) + GAP.0,
    }
}

fn layers(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut layer = vec![0; count];
    let mut sorted = edges.to_vec();
    sort_by_key(&mut sorted, |(_, to)| *to);
    for &(from, to) in &sorted {
        layer[to] = layer[to].max(layer[from] + 1);
    }
    let (mut has_input, mut lowest) = (vec![false; count], vec![usize::MAX; count]);
    for &(from, to) in edges {
        has_input[to] = true;
        lowest[from] = lowest[from].min(layer[to]);
    }
    for node in (0..count).filter(|node| !has_input[*node] && lowest[*node] != usize::MAX) {
        layer[node] = lowest[node] - 1;
    }
    layer
}

/// The nodes and the points at which edges pass layers.
struct Net {
    widths: Vec<f64>,
    layer: Vec<usize>,
    rows: Vec<Vec<usize>>,
    above: Vec<Vec<usize>>,
    below: Vec<Vec<usize>>,
    paths: Vec<Vec<usize>>,
}

impl Net {
    fn new(widths: &[f64], layers: &[usize], edges: &[(usize, usize)]) -> Self {
        let (mut widths, mut layer, mut paths) = (widths.to_vec(), layers.to_vec(), Vec::new());
        let mut short = Vec::new();
        for &(from, to) in edges {
            let mut path = vec![from];
            if layer[to] - layer[from] <= LONGEST {
                for between in layer[from] + 1..layer[to] {
                    path.push(widths.len());
                    widths.push(4.0);
                    layer.push(between);
                }
            }
            path.push(to);
            if layer[to] - layer[from] <= LONGEST {
                short.extend(path.windows(2).map(|pair| (pair[0], pair[1])));
            }
            paths.push(path);
        }
        let mut rows = vec![Vec::new(); layer.iter().max().map_or(0, |layer| layer + 1)];
        for (i, layer) in layer.iter().enumerate() {
            rows[*layer].push(i);
        }
        let (mut above, mut below) = (vec![Vec::new(); widths.len()], vec![Vec::new(); widths.len()]);
        for (from, to) in short {
            above[to].push(from);
            below[from].push(to);
        }
        Self { widths, layer, rows, above, below, paths }
    }

    /// Orders each row by the mean place of the neighbours in the row before, down and up again.
    fn order(&mut self) {
        let mut place = vec![0.0; self.widths.len()];
        for sweep in 0..=SWEEPS {
            let down = sweep % 2 == 0;
            let rows = self.rows.len();
            for step in 0..rows {
                let row = &mut self.rows[if down { step } else { rows - 1 - step }];
                let neighbours = if down { &self.above } else { &self.below };
                let mut keyed: Vec<(f64, usize)> = row
                    .iter()
                    .enumerate()
                    .map(|(i, &node)| (mean(neighbours[node].iter().map(|n| place[*n])).unwrap_or(i as f64), node))
                    .collect();
                sort_by(&mut keyed, |a, b| a.0.total_cmp(&b.0));
                for (i, (_, node)) in keyed.into_iter().enumerate() {
                    row[i] = node;
                    place[node] = i as f64;
                }
            }
        }
    }

    /// The centre of each node and point: as near to the mean of its neighbours as the row's order allows.
    fn place(&self) -> Vec<f64> {
        let mut x = vec![0.0; self.widths.len()];
        for row in &self.rows {
            spread(row, &self.widths, &vec![0.0; row.len()], &mut x);
        }
        for sweep in 0..SWEEPS {
            let rows = self.rows.len();
            for step in 0..rows {
                let row = &self.rows[if sweep % 2 == 0 { step } else { rows - 1 - step }];
                let wanted: Vec<f64> = row
                    .iter()
                    .map(|&node| {
                        let neighbours = self.above[node].iter().chain(&self.below[node]);
                        mean(neighbours.map(|n| x[*n])).unwrap_or(x[node])
                    })
                    .collect();
                spread(row, &self.widths, &wanted, &mut x);
            }
        }
        x
    }
}

/// Sets the centres of a row, in its order and without overlap, so that the squared distances from what is wanted are the
/// least: neighbours that would overlap move as one block.
fn spread(row: &[usize], widths: &[f64], wanted: &[f64], x: &mut [f64]) {
    // The distance of each from the first, if they stand close.
    let mut offsets = vec![0.0; row.len()];
    for i in 1..row.len() {
        offsets[i] = offsets[i - 1] + (widths[row[i - 1]] + widths[row[i]]) / 2.0 + GAP.0;
    }
    // Blocks: the sum of what is wanted of the first, and how many they hold.
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for (wanted, offset) in wanted.iter().zip(&offsets) {
        let mut block = (wanted - offset, 1);
        while let Some(&(sum, count)) =
            blocks.last().filter(|(sum, count)| sum / *count as f64 > block.0 / block.1 as f64)
        {
            blocks.pop();
            block = (block.0 + sum, block.1 + count);
        }
        blocks.push(block);
    }
    let firsts = blocks.iter().flat_map(|(sum, count)| std::iter::repeat_n(sum / *count as f64, *count));
    for ((node, offset), first) in row.iter().zip(offsets).zip(firsts) {
        x[*node] = first + offset;
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_longest_ways() {
        // 0 -> 1 -> 2 -> 4, 3 -> 4: the state 3 stands just above its user.
        assert_eq!(layers(5, &[(0, 1), (1, 2), (2, 4), (3, 4), (0, 4)]), [0, 1, 2, 2, 3]);
    }

    #[test]
    fn a_chain_is_straight_and_nothing_overlaps() {
        let chain = layout(&[50.0, 80.0, 20.0], 30.0, &[(0, 1), (1, 2)]);
        assert!(chain.centers.iter().all(|center| center.0 == chain.centers[0].0));
        let edges: Vec<_> = (1..20).map(|to| (0, to)).collect();
        let fan = layout(&[40.0; 20], 30.0, &edges);
        for a in 1..20 {
            for b in 1..a {
                assert!((fan.centers[a].0 - fan.centers[b].0).abs() >= 40.0, "{a} and {b} overlap");
            }
        }
        assert!(fan.centers.iter().all(|(x, y)| (0.0..fan.width).contains(x) && (0.0..fan.height).contains(y)));
    }

    #[test]
    fn an_empty_graph_has_no_size() {
        assert_eq!(layout(&[], 30.0, &[]).width, 0.0);
    }
}
