//! `x[index]`: parts of tensors, elements of tuples and lists, with Python's rules.

use super::infer::counted;
use crate::arg::Arg;
use crate::error::{Error, Result};
use crate::ops::shape;
use crate::tensor::{DType, Tensor, dispatch_words, numel, view};
use crate::value::{Dim, Meta, Shape, TensorMeta};

/// One part of an index, with the dimension that it applies to.
enum Part<'a, C> {
    Select(&'a Arg<C>),
    Slice(&'a [Arg<C>; 3]),
    New,
    Gather(&'a C),
}

/// The parts of an index, `...` written out; the dimensions that are left are whole.
fn parts<'a, C>(
    index: &'a Arg<C>,
    ndim: usize,
    is_index: impl Fn(&C) -> Option<usize>,
) -> Result<Vec<Option<Part<'a, C>>>> {
    let items = match index {
        Arg::Tuple(items) => items.as_slice(),
        other => std::slice::from_ref(other),
    };
    let consumed = |arg: &Arg<C>| match arg {
        Arg::None | Arg::Ellipsis => 0,
        Arg::Value(value) => is_index(value).unwrap_or(1),
        _ => 1,
    };
    let used: usize = items.iter().map(consumed).sum();
    let Some(rest) = ndim.checked_sub(used) else {
        return Err(Error::shape(format!("{used} indices for a tensor of {ndim} dimensions")));
    };
    let mut result = Vec::new();
    let mut ellipsis = false;
    for item in items {
        match item {
            Arg::Ellipsis if ellipsis => return Err(Error::argument("an index has one `...`")),
            Arg::Ellipsis => {
                ellipsis = true;
                result.extend((0..rest).map(|_| None));
            }
            Arg::None => result.push(Some(Part::New)),
            Arg::Slice(bounds) => result.push(Some(Part::Slice(bounds))),
            Arg::Value(value) if is_index(value).is_some() => result.push(Some(Part::Gather(value))),
            Arg::Int(_) | Arg::Value(_) => result.push(Some(Part::Select(item))),
            other => return Err(Error::argument(format!("{} cannot be an index", other.kind()))),
        }
    }
    if !ellipsis {
        result.extend((0..rest).map(|_| None));
    }
    Ok(result)
}

/// The index with its lists of ints as index tensors.
fn with_lists<C: Clone>(index: &Arg<C>, tensor: impl Fn(Vec<i64>) -> C) -> Result<Arg<C>> {
    let part = |arg: &Arg<C>| match arg {
        Arg::List(items) => {
            let int = |item: &Arg<C>| match item {
                Arg::Int(x) => Ok(*x),
                other => Err(Error::argument(format!("a list of indices holds ints, found {}", other.kind()))),
            };
            items.iter().map(int).collect::<Result<_>>().map(|ints| Arg::Value(tensor(ints)))
        }
        other => Ok(other.clone()),
    };
    match index {
        Arg::Tuple(items) => items.iter().map(part).collect::<Result<_>>().map(Arg::Tuple),
        other => part(other),
    }
}

fn element<C: Clone>(items: &[Arg<C>], index: &Arg<C>) -> Result<Arg<C>> {
    let len = items.len() as i64;
    match index {
        Arg::Int(index) if (-len..len).contains(index) => Ok(items[index.rem_euclid(len) as usize].clone()),
        Arg::Int(index) => Err(Error::argument(format!("there is no element {index} among {len}"))),
        other => Err(Error::argument(format!("elements are chosen by an int, not by {}", other.kind()))),
    }
}

fn elements<C: Clone>(items: &[Arg<C>], slice: &[Arg<C>; 3]) -> Result<Vec<Arg<C>>> {
    let (start, stop, step) = bounds(items.len() as i64, int_bounds(slice)?)?;
    Ok(items[start as usize..stop as usize].iter().step_by(step as usize).cloned().collect())
}

/// The bounds of a slice, which must be ints here.
fn int_bounds<C>(slice: &[Arg<C>; 3]) -> Result<[Option<i64>; 3]> {
    let number = |arg: &Arg<C>| match arg {
        Arg::None => Ok(None),
        Arg::Int(x) => Ok(Some(*x)),
        other => Err(Error::argument(format!("{} cannot bound a slice", other.kind()))),
    };
    Ok([number(&slice[0])?, number(&slice[1])?, number(&slice[2])?])
}

fn entry<C: Clone>(arg: &Arg<C>, index: &Arg<C>) -> Option<Result<Arg<C>>> {
    match (arg, index) {
        (Arg::List(items), Arg::Slice(slice)) => Some(elements(items, slice).map(Arg::List)),
        (Arg::Tuple(items), Arg::Slice(slice)) => Some(elements(items, slice).map(Arg::Tuple)),
        (Arg::List(items) | Arg::Tuple(items), index) => Some(element(items, index)),
        (Arg::Dict(entries), Arg::Str(key)) => {
            Some(entries.get(key).cloned().ok_or_else(|| Error::argument(format!("there is no entry `{key}`"))))
        }
        _ => None,
    }
}

/// Start, stop and step of a slice along a dimension of this size.
fn bounds(len: i64, [start, stop, step]: [Option<i64>; 3]) -> Result<(i64, i64, i64)> {
    let step = step.unwrap_or(1);
    if step <= 0 {
        return Err(Error::argument("the step of a slice must be above 0").help("use `flip` to reverse"));
    }
    let place = |x: i64| (if x < 0 { x + len } else { x }).clamp(0, len);
    let start = place(start.unwrap_or(0));
    Ok((start, place(stop.unwrap_or(len)).max(start), step))
}

/// How many elements there are to take.
fn len(input: &Arg<Meta>) -> Option<Dim> {
    match input {
        Arg::List(items) | Arg::Tuple(items) => Some(Dim::from(items.len())),
        Arg::Value(Meta::Tensor(x)) => x.shape.first().cloned(),
        _ => None,
    }
}

pub(super) fn infer(input: &Arg<Meta>, index: &Arg<Meta>, count: Option<i64>) -> Result<Arg<Meta>> {
    len(input).map_or(Ok(()), |len| counted(&len, "elements", count))?;
    if let Some(result) = entry(input, index) {
        return result;
    }
    let Some(x) = input.as_value().and_then(Meta::as_tensor) else {
        return Err(Error::argument(format!("{} cannot be indexed", input.kind())));
    };
    let is_index =
        |meta: &Meta| meta.as_tensor().map(|index| if index.dtype == DType::Bool { index.ndim() } else { 1 });
    let (mut dims, mut gathered, mut place) = (Shape::new(), None::<Shape>, None);
    let mut at = 0;
    let mut apart = false;
    let mut masked = false;
    let index = with_lists(index, |ints| Meta::tensor([ints.len()], DType::I64))?;
    for part in parts(&index, x.ndim(), is_index)? {
        match part {
            None => {
                dims.push(x.shape[at].clone());
                at += 1;
            }
            Some(Part::New) => dims.push(Dim::Int(1)),
            Some(Part::Select(index)) => {
                if let (Arg::Int(index), Some(len)) = (index, x.shape[at].as_int())
                    && !(-len..len).contains(index)
                {
                    return Err(Error::shape(format!("index {index} lies outside a dimension of size {len}")));
                }
                at += 1;
            }
            Some(Part::Slice(slice)) => {
                dims.push(slice_len(&x.shape[at], slice)?);
                at += 1;
            }
            Some(Part::Gather(meta)) => {
                let index = meta.as_tensor().ok_or_else(|| Error::argument("an index must be a tensor"))?;
                if index.dtype == DType::Bool {
                    mask_fits(&x.shape[at..at + index.ndim()], index)?;
                    at += index.ndim();
                    masked = true;
                    continue;
                }
                shape::require_int(index, "an index")?;
                // Without dimensions it selects, as an integer does.
                if index.ndim() == 0 {
                    at += 1;
                    continue;
                }
                apart |= place.is_some_and(|place| place != dims.len());
                place.get_or_insert(dims.len());
                gathered = Some(match gathered {
                    Some(shape) => shape::broadcast(&shape, &index.shape)?,
                    None => index.shape.clone(),
                });
                at += 1;
            }
        }
    }
    if masked {
        // The shape depends on the data.
        return Ok(Arg::Value(Meta::Unknown));
    }
    if let (Some(gathered), Some(place)) = (gathered, place) {
        dims.insert_many(if apart { 0 } else { place }, gathered);
    }
    Ok(Arg::Value(Meta::Tensor(TensorMeta { shape: dims, dtype: x.dtype })))
}

fn mask_fits(dims: &[Dim], mask: &TensorMeta) -> Result<()> {
    if dims.iter().zip(&mask.shape).any(|(dim, masked)| !dim.may_eq(masked)) {
        return Err(Error::shape(format!("a mask of shape {:?} does not fit the dimensions {dims:?}", mask.shape)));
    }
    Ok(())
}

fn slice_len(len: &Dim, slice: &[Arg<Meta>; 3]) -> Result<Dim> {
    let number = |arg: &Arg<Meta>| match arg {
        Arg::None => Ok(None),
        Arg::Int(x) => Ok(Some(Dim::Int(*x))),
        Arg::Value(Meta::Int(dim)) => Ok(Some(dim.clone())),
        other => Err(Error::argument(format!("{} cannot bound a slice", other.kind()))),
    };
    let [start, stop, step] = [number(&slice[0])?, number(&slice[1])?, number(&slice[2])?];
    let ints = [&start, &stop, &step].map(|bound| bound.as_ref().map(Dim::as_int));
    if let (Some(len), [start, stop, step]) = (len.as_int(), ints)
        && [start, stop, step].iter().all(|bound| *bound != Some(None))
    {
        let (start, stop, step) = bounds(len, [start.flatten(), stop.flatten(), step.flatten()])?;
        return Ok(Dim::Int((stop - start - 1).div_euclid(step) + 1));
    }
    // A bound that may be below 0 or not is taken to count from the start, and a start to lie within the dimension.
    let from_end = |bound: Dim| if (-&bound).lower_bound().is_some_and(|x| x > 0) { len + &bound } else { bound };
    let start = from_end(start.unwrap_or(Dim::Int(0)));
    let stop = stop.map_or_else(|| len.clone(), |stop| Dim::min(&from_end(stop), len));
    let step = step.and_then(|step| step.as_int()).unwrap_or(1);
    bounds(0, [None, None, Some(step)])?;
    Ok((stop - start + (step - 1)).floor_div(&Dim::Int(step)))
}

pub(super) fn eval(input: &Arg<Tensor>, index: &Arg<Tensor>, _: Option<i64>) -> Result<Arg<Tensor>> {
    if let Some(result) = entry(input, index) {
        return result;
    }
    let Some(x) = input.as_value() else {
        return Err(Error::argument(format!("{} cannot be indexed", input.kind())));
    };
    let is_index = |index: &Tensor| Some(if index.dtype() == DType::Bool { index.ndim() } else { 1 });
    let mut y = x.clone();
    let mut at = 0;
    let mut gathers: Vec<(usize, Tensor)> = Vec::new();
    let index = with_lists(index, Tensor::from)?;
    for part in parts(&index, x.ndim(), is_index)? {
        match part {
            None => at += 1,
            Some(Part::New) => {
                y = view::unsqueeze(&y, at);
                at += 1;
            }
            Some(Part::Select(Arg::Int(index))) => {
                let len = y.shape()[at] as i64;
                y = view::select(&y, at, index.rem_euclid(len.max(1)) as usize);
            }
            Some(Part::Select(other)) => return Err(Error::argument(format!("{} cannot be an index", other.kind()))),
            Some(Part::Slice(slice)) => {
                let (start, stop, step) = bounds(y.shape()[at] as i64, int_bounds(slice)?)?;
                y = view::slice(&y, at, start as usize, stop as usize, step as usize);
                at += 1;
            }
            Some(Part::Gather(index)) if index.dtype() == DType::Bool => {
                // A mask without dimensions chooses from a new one.
                let index = if index.ndim() == 0 {
                    y = view::unsqueeze(&y, at);
                    &view::unsqueeze(index, 0)
                } else {
                    index
                };
                for index in nonzero(index) {
                    gathers.push((at, index));
                    at += 1;
                }
            }
            Some(Part::Gather(index)) if index.ndim() == 0 => {
                let (index, len) = (index.to_dtype(DType::I64).to_vec::<i64>()[0], y.shape()[at] as i64);
                if !(-len..len).contains(&index) {
                    return Err(Error::shape(format!("index {index} lies outside a dimension of size {len}")));
                }
                y = view::select(&y, at, index.rem_euclid(len) as usize);
            }
            Some(Part::Gather(index)) => {
                gathers.push((at, index.to_dtype(DType::I64)));
                at += 1;
            }
        }
    }
    if gathers.is_empty() { Ok(Arg::Value(y)) } else { gather(&y, &gathers).map(Arg::Value) }
}

/// The places at which a mask holds, one tensor of indices for each dimension.
fn nonzero(mask: &Tensor) -> Vec<Tensor> {
    let view = mask.view::<bool>();
    let places: Vec<_> = view.indexed_iter().filter(|(_, holds)| **holds).map(|(place, _)| place).collect();
    (0..mask.ndim()).map(|dim| Tensor::from(places.iter().map(|place| place[dim] as i64).collect::<Vec<_>>())).collect()
}

/// Gathers by index tensors, which broadcast together; the result has them where the first one stood, or in front if
/// they do not stand side by side.
fn gather(x: &Tensor, gathers: &[(usize, Tensor)]) -> Result<Tensor> {
    let shapes: Vec<&[usize]> = gathers.iter().map(|(_, index)| index.shape()).collect();
    let shape = view::broadcast_shape(&shapes).ok_or_else(|| Error::shape("the index tensors do not broadcast"))?;
    let dims: Vec<usize> = gathers.iter().map(|(dim, _)| *dim).collect();
    let rest: Vec<usize> = (0..x.ndim()).filter(|dim| !dims.contains(dim)).collect();
    let order: Vec<usize> = dims.iter().chain(&rest).copied().collect();
    let sizes: Vec<usize> = dims.iter().map(|&dim| x.shape()[dim]).collect();
    let moved = view::permute(x, &order).contiguous();
    let inner: usize = rest.iter().map(|&dim| x.shape()[dim]).product();
    let columns: Vec<Vec<i64>> = gathers.iter().map(|(_, index)| view::expand(index, &shape).to_vec::<i64>()).collect();
    let count = numel(&shape);
    let mut starts = Vec::with_capacity(count);
    for i in 0..count {
        let mut start = 0;
        for (column, &size) in columns.iter().zip(&sizes) {
            let index = column[i];
            if !(-(size as i64)..size as i64).contains(&index) {
                return Err(Error::shape(format!("index {index} lies outside a dimension of size {size}")));
            }
            start = start * size + index.rem_euclid(size as i64) as usize;
        }
        starts.push(start * inner);
    }
    let mut result_shape: Vec<usize> = shape.to_vec();
    result_shape.extend(rest.iter().map(|&dim| x.shape()[dim]));
    let result = dispatch_words!(x.dtype(), W => {
        let elements = moved.words::<W>().unwrap_or(&[]);
        Tensor::written_words(&result_shape, x.dtype(), |out| {
            for (out, &start) in out.chunks_exact_mut(inner.max(1)).zip(&starts) {
                out.copy_from_slice(&elements[start..start + inner]);
            }
        })
    });
    // Side by side, the gathered dimensions go back to where the first index stood.
    let adjacent = dims.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    let lead = if adjacent { rest.iter().filter(|dim| **dim < dims[0]).count() } else { 0 };
    let gathered = shape.len();
    let order: Vec<usize> =
        (gathered..gathered + lead).chain(0..gathered).chain(gathered + lead..result.ndim()).collect();
    Ok(view::permute(&result, &order))
}
