//! What a model that writes a text keeps from call to call: tensors that grow, and tensors with room that are written in place.

use fx::ops::CatOptions;
use fx::prelude::*;
use fx::trace::{InputForms, trace_by};
use fx::value::Tree;

/// What came before and a row more, as a model that writes a text keeps it.
#[traceable]
fn with_row(past: &Tensor, row: &Tensor) -> (Tensor, Tensor) {
    let all = Tensor::cat([past, row]);
    (all.softmax(-1).sum(), all)
}

#[test]
fn plans_for_growing_sizes_take_over_memory() {
    let step = fx::trace_fn!(with_row).unwrap();
    let mut past = Tensor::zeros([1, 512]);
    let (mut rows, mut places) = (vec![past.clone()], Vec::new());
    for _ in 0..60 {
        rows.push(Tensor::randn([1, 512]));
        let (sum, all): (Tensor, Tensor) = step.forward_as((past, rows.last().unwrap())).unwrap();
        let expected = Tensor::cat(&rows);
        assert_eq!(all, expected);
        assert!(sum.all_close(&expected.softmax(-1).sum(), 1e-5, 1e-5));
        places.push(all.as_slice::<f32>().unwrap().as_ptr());
        past = all;
    }
    // A result goes where the one before last was, unless that has no more room to grow.
    let moved = places.windows(3).filter(|places| places[0] != places[2]).count();
    assert!(moved < 30, "{moved} of 58");
}

type Remembered = (Tensor, Tensor, Vec<Tensor>);

fn remembering() -> fx::GraphModule {
    trace_by(InputForms::new().list("list", 2), &Remember, ()).unwrap()
}

/// Rows that are put at places of what was kept.
#[traceable]
struct Remember;

#[traceable]
impl Remember {
    fn forward(&self, rows: &Tensor, at: &Tensor, one: Tensor, list: Vec<Tensor>) -> (Tensor, Tensor, Vec<Tensor>) {
        let one = one.index_copy(at, rows, 0);
        let list = vec![list[0].index_copy(at, rows * 2.0, 0), list[1].index_copy(at, rows.exp(), 1)];
        (&one + &list[0] * 3.0, one, list)
    }
}

fn room() -> (Tensor, Vec<Tensor>) {
    (Tensor::zeros([8, 2]), vec![Tensor::ones([8, 2]), Tensor::zeros([2, 8])])
}

fn place(x: &Tensor) -> *const f32 {
    x.as_slice::<f32>().unwrap().as_ptr()
}

#[test]
fn what_is_given_away_is_written_in_place() {
    let module = remembering();
    let ((mut one, mut list), mut expected) = (room(), room());
    let first = [place(&one), place(&list[0]), place(&list[1])];
    for step in 0..4 {
        let (rows, at) = (Tensor::randn([2, 2]), Tensor::from([step, 7_i64 - step]));
        let sum: Tensor;
        (sum, one, list) = module.forward_as::<Remembered>((&rows, &at, one, list)).unwrap();
        let eager = Remember.forward(&rows, &at, expected.0, expected.1);
        assert!(sum.all_close(&eager.0, 1e-6, 1e-6));
        expected = (eager.1, eager.2);
        assert_eq!((&one, &list[0]), (&expected.0, &expected.1[0]));
        assert!(list[1].all_close(&expected.1[1], 1e-6, 1e-6));
    }
    assert_eq!([place(&one), place(&list[0]), place(&list[1])], first);
    let text = module.plan((Tensor::zeros([2, 2]), Tensor::from([0_i64, 1]), one, list)).unwrap().to_string();
    assert!(text.contains("input 3.1") && text.contains("index_copy into what is given away"), "{text}");
    assert!(!text.contains("  op "), "{text}");
}

#[test]
fn what_is_kept_is_not_written() {
    let module = remembering();
    let (one, list) = room();
    let (rows, at) = (Tensor::randn([2, 2]), Tensor::from([3_i64, 1]));
    let expected = Remember.forward(&rows, &at, one.clone(), list.clone());
    // A clone, a view, and one tensor twice.
    let halves = one.narrow(0, 0, 4);
    let twice = Tensor::zeros([8, 2]);
    let given = vec![twice.clone(), list[1].clone()];
    let (_, new_one, new_list): Remembered = module.forward_as((&rows, &at, one, given)).unwrap();
    assert_eq!(halves, Tensor::zeros([4, 2]));
    assert_eq!(new_one, expected.1);
    assert_eq!((twice, &list[1]), (Tensor::zeros([8, 2]), &Tensor::zeros([2, 8])));
    assert!(new_list[1].all_close(&expected.2[1], 1e-6, 1e-6));
    let both = Tensor::ones([8, 2]);
    let (_, one, list): Remembered =
        module.forward_as((&rows, &at, both.clone(), vec![both, Tensor::zeros([2, 8])])).unwrap();
    let expected =
        Remember.forward(&rows, &at, Tensor::ones([8, 2]), vec![Tensor::ones([8, 2]), Tensor::zeros([2, 8])]);
    assert_eq!((one, &list[0]), (expected.1, &expected.2[0]));
}

/// What was there before is read after the write.
#[traceable]
fn before_and_after(kept: &Tensor, rows: &Tensor, at: &Tensor) -> (Tensor, Tensor) {
    let first = kept.narrow(0, 0, 2);
    let all = kept.index_copy(at, rows, 0);
    (all.narrow(0, 0, 2) - first, all)
}

#[test]
fn what_is_read_later_is_not_written() {
    let module = fx::trace_fn!(before_and_after).unwrap();
    let (rows, at) = (Tensor::randn([1, 3]), Tensor::from([1_i64]));
    let (difference, all): (Tensor, Tensor) = module.forward_as((Tensor::ones([4, 3]), &rows, &at)).unwrap();
    let expected = before_and_after(Tensor::ones([4, 3]), &rows, &at);
    assert_eq!((difference, all), expected);
}

#[test]
fn rows_of_a_tensor_are_put_into_itself() {
    let module = fx::trace_fn!(|x, at| x.index_copy(&at, &x, 0)).unwrap();
    let (x, at) = (Tensor::randn([3, 2]), Tensor::from([2_i64, 0, 1]));
    let expected = x.index_copy(&at, &x, 0);
    assert_eq!(module.forward((x, at)).unwrap(), expected);
}

#[test]
fn a_place_that_is_not_there_is_an_error_at_its_line() {
    let module = remembering();
    let (one, list) = room();
    let error = module.forward_as::<Remembered>((Tensor::zeros([1, 2]), Tensor::from([8_i64]), one, list)).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("index_copy") && text.contains("generation.rs") && text.contains('8'), "{text}");
}

/// A query, keys and values with room, and which count.
#[traceable]
fn attended(q: &Tensor, kept: &Tensor, at: &Tensor) -> Tensor {
    let mask = Tensor::arange(kept.size(1)).le(at.unsqueeze(1));
    let y = q.scaled_dot_product_attention(kept, kept, &mask);
    y.scaled_dot_product_attention(kept, kept, &mask)
}

#[test]
fn masks_of_places_are_turned_into_numbers_once() {
    let module = fx::trace_fn!(attended).unwrap();
    for queries in [1, 3, 40] {
        let (q, mut kept) = (Tensor::randn([2, queries, 8]), Tensor::randn([2, 300, 8]));
        let at = Tensor::from_vec([queries], (0..queries as i64).map(|i| 3 * i - 1).collect::<Vec<_>>());
        let expected = attended(&q, &kept, &at);
        assert!(expected.narrow(1, 0, 1).abs().max().to_vec::<f32>() == [0.0], "the first query sees nothing");
        let text = module.plan((&q, &kept, &at)).unwrap().to_string();
        assert_eq!((text.matches("attention of").count(), text.matches("op where").count()), (2, 1), "{text}");
        let planned = module.forward((&q, &kept, &at)).unwrap();
        assert!(planned.all_close(&expected, 1e-5, 1e-6));
        // What no query sees is not read.
        let unseen = 3 * queries - 3;
        let nan = Tensor::full([2, 300 - unseen, 8], f32::NAN);
        kept = Tensor::cat_with([&kept.narrow(1, 0, unseen), &nan], CatOptions::new().dim(1));
        assert_eq!(module.forward((&q, &kept, &at)).unwrap(), planned);
    }
}

/// What any structure holds is given away by `into_arg`.
#[traceable]
#[derive(Clone, Debug)]
struct Kept {
    rows: Tensor,
    others: (Tensor, Tensor),
}

#[traceable]
fn remember_all(rows: &Tensor, at: &Tensor, kept: Kept<Tensor>) -> Kept<Tensor> {
    let put = |x: Tensor| x.index_copy(at, rows, 0);
    Kept { rows: put(kept.rows), others: (put(kept.others.0), put(kept.others.1)) }
}

#[test]
fn structures_and_lists_of_pairs_are_given_away() {
    let (rows, at) = (Tensor::randn([1, 2]), Tensor::from([2_i64]));
    let expected = Tensor::zeros([4, 2]).index_copy(&at, &rows, 0);
    let room = || Tensor::zeros([4, 2]);
    let module = fx::trace_fn!(remember_all).unwrap();
    let kept = Kept { rows: room(), others: (room(), room()) };
    let first = [place(&kept.rows), place(&kept.others.1)];
    let kept: Kept<Tensor> = module.forward_as((&rows, &at, kept.into_arg())).unwrap();
    assert_eq!([place(&kept.rows), place(&kept.others.1)], first);
    assert_eq!((&kept.rows, &kept.others.0), (&expected, &expected));

    let module = trace_by(InputForms::new().list("past", 2), &Pairs, ()).unwrap();
    let past = vec![(room(), room()), (room(), room())];
    let first = place(&past[1].0);
    let past: Vec<(Tensor, Tensor)> = module.forward_as((&rows, &at, past)).unwrap();
    assert_eq!((place(&past[1].0), &past[1].0), (first, &expected));
}

#[traceable]
struct Pairs;

#[traceable]
impl Pairs {
    fn forward(&self, rows: &Tensor, at: &Tensor, past: Vec<(Tensor, Tensor)>) -> Vec<(Tensor, Tensor)> {
        past.iter().map(|(k, v)| (k.index_copy(at, rows, 0), v.index_copy(at, rows, 0))).collect()
    }
}

#[test]
fn heads_that_share_keys_give_the_same_for_any_number_of_threads() {
    let grouped = || fx::ops::AttentionOptions::new().enable_gqa(true);
    let module = fx::trace_fn!(|q, k, v| q.scaled_dot_product_attention_with(k, v, None, grouped())).unwrap();
    let shapes = [[1, 12, 1, 64], [1, 4, 500, 64], [1, 4, 500, 64]];
    let [q, k, v] = shapes.map(|shape| Tensor::randn(shape));
    let many = module.forward((&q, &k, &v)).unwrap();
    fx::set_num_threads(1);
    let one = module.forward((&q, &k, &v)).unwrap();
    fx::set_num_threads(0);
    assert_eq!(one, many);
    let eager = q.scaled_dot_product_attention_with(&k, &v, None, grouped());
    assert!(one.all_close(&eager, 1e-5, 1e-6));
}
