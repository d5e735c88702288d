//! Text that several reports print alike: tables, and numbers with units.

use crate::value::Dim;

/// Lines of aligned cells: a head, a rule, the rows. Columns of numbers are flush right.
///
/// Every row has as many cells as the head.
pub(crate) fn table(head: &[&str], numbers: &[usize], rows: &[Vec<String>]) -> String {
    let head: Vec<String> = head.iter().map(|&cell| cell.to_owned()).collect();
    let width = |i: usize| rows.iter().chain([&head]).map(|row| row[i].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let rule: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
    let line = |row: &Vec<String>| {
        let cell = |(i, cell): (usize, &String)| {
            let width = widths[i];
            if numbers.contains(&i) { format!("{cell:>width$}") } else { format!("{cell:width$}") }
        };
        row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    [&head, &rule].into_iter().chain(rows).map(line).collect::<Vec<_>>().join("\n")
}

/// A number with three digits or more and a decimal prefix: `4.09 G`.
pub(crate) fn si(x: f64) -> String {
    let scaled = |scale: f64, prefix: &str| format!("{:.2} {prefix}", x / scale);
    match x.abs() {
        size if size >= 1e12 => scaled(1e12, "T"),
        size if size >= 1e9 => scaled(1e9, "G"),
        size if size >= 1e6 => scaled(1e6, "M"),
        size if size >= 1e4 => scaled(1e3, "k"),
        _ if x.fract() == 0.0 => format!("{x:.0}"),
        _ => format!("{x:.2}"),
    }
}

/// A known size with a prefix, a symbolic one as it is.
pub(crate) fn si_dim(x: &Dim) -> String {
    x.as_int().map_or_else(|| x.to_string(), |x| si(x as f64))
}

/// A time with three digits or more: `12.3 us`.
pub(crate) fn seconds(x: f64) -> String {
    match x {
        x if x >= 1.0 => format!("{x:.2} s"),
        x if x >= 1e-3 => format!("{:.2} ms", x * 1e3),
        x => format!("{:.2} us", x * 1e6),
    }
}

/// Appends a number in decimal; what formatting does, without its options.
pub(crate) fn push_number(out: &mut String, mut number: u64) {
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend(digits[start..].iter().map(|digit| char::from(*digit)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units() {
        let texts = [0.0, 12.0, 0.25, 9999.0, 25_557_032.0, 4.09e9, 2e13].map(si);
        assert_eq!(texts, ["0", "12", "0.25", "9999", "25.56 M", "4.09 G", "20.00 T"]);
        assert_eq!([1.5, 0.0025, 3e-6].map(seconds), ["1.50 s", "2.50 ms", "3.00 us"]);
        assert_eq!(si_dim(&(Dim::symbol("N", 1) * 3)), "3*N");
    }

    #[test]
    fn cells_are_aligned() {
        let rows = [vec!["a".to_owned(), "1".to_owned()], vec!["bcd".to_owned(), "234".to_owned()]];
        assert_eq!(table(&["name", "n"], &[1], &rows), "name    n\n----  ---\na       1\nbcd   234");
    }
}
