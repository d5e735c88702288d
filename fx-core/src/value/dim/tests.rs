//! Symbolic arithmetic simplifies, and agrees with that of integers.

use super::*;

#[track_caller]
fn check(dim: &Dim, text: &str) {
    assert_eq!(dim.to_string(), text);
}

#[test]
fn polynomials_are_canonical() {
    let (n, h) = (Dim::symbol("N", 1), Dim::symbol("H", 1));
    check(&((&n + 1) * (&h + 1)), "H + H*N + N + 1");
    assert_eq!((&n + &h) * (&n - &h), &n * &n - &h * &h);
    assert_eq!(&n - &n, Dim::Int(0));
}

#[test]
fn division_simplifies_where_it_is_exact() {
    let (n, h) = (Dim::symbol("N", 1), Dim::symbol("H", 32));
    let two = Dim::Int(2);
    let half = |x: &Dim| (x - 1).floor_div(&two) + 1;
    check(&half(&n), "(N + 1)/2");
    check(&half(&h), "H/2");
    check(&(0..5).fold(h.clone(), |x, _| half(&x)), "H/32");
    assert_eq!(h.floor_div(&two) * 2, h);
    check(&(&n * 2 + 3).floor_div(&two), "N + 1");
    assert_eq!((&n * &h).floor_div(&n), h);
    let (m, more) = (Dim::symbol("M", 1), &n * &h - &n);
    assert_eq!((&more * 64).floor_div(&more), Dim::Int(64));
    assert_eq!((&more * (&m + 1)).floor_div(&more), &m + 1);
    check(&(&more + 1).floor_div(&(&h - 1)), "(H*N - N + 1)/(H - 1)");
}

#[test]
fn rounding_agrees_with_integers() {
    let n = Dim::symbol("N", 1);
    for (a, b, c, d) in [(1, -1, 2, 1), (3, 5, 2, 3), (2, 3, 4, 2), (6, -7, 3, 5)] {
        let expr = ((&n * a + b).floor_div(&Dim::Int(c)) + d).floor_div(&Dim::Int(3)).modulo(&Dim::Int(4));
        for x in 1..60 {
            let expected = floor_div(floor_div(x * a + b, c) + d, 3).rem_euclid(4);
            assert_eq!(expr.substitute(&|_| Some(Dim::Int(x))), Dim::Int(expected), "{expr} at {x}");
        }
    }
}

#[test]
fn what_is_certain_and_what_is_not() {
    let (n, m) = (Dim::symbol("N", 1), Dim::symbol("M", 1));
    assert_eq!(n.known_eq(&n), Some(true));
    assert_eq!(n.known_eq(&(&n + 1)), Some(false));
    assert_eq!((&n * 2 + 1).known_eq(&Dim::Int(1)), Some(false));
    assert_eq!(n.known_eq(&m), None);
}

#[test]
fn a_part_is_not_above_the_whole() {
    let n = Dim::symbol("N", 1);
    let half = n.floor_div(&Dim::Int(2));
    assert_eq!(Dim::min(&half, &n), half);
    assert_eq!(Dim::max(&half, &n), n);
    for (a, b, c, d) in [(1, 0, 2, 1), (3, 4, 5, 2), (2, -1, 3, 1), (5, 7, 4, 4)] {
        let expr = &n * d - (&n * a + b).floor_div(&Dim::Int(c)) * 2;
        let least = (1..200).filter_map(|x| expr.substitute(&|_| Some(Dim::Int(x))).as_int()).min().unwrap();
        assert!(expr.lower_bound().is_none_or(|bound| bound <= least), "{expr} is {least}");
    }
}
