//! The table of `measurements/value-order.md`: Lemma 7's windows by decreasing centre and in the order of their listing, executed.
//!
//!     cargo test --release -p formwright --lib -- --ignored --nocapture measured::value_order

use crate::tests::support::value_order::{off, table};
use crate::tests::support::{Triple, expression, grid};
use formwright::exact::Int;
use formwright::network::Precision::{F32, F64};

#[test]
#[ignore = "a measurement, not a test: minutes"]
fn is_printed() {
    let double: [Triple; 11] = [
        (2, 1, 8),
        (2, 1, 16),
        (2, 1, 24),
        (2, 1, 40),
        (2, 1, 64),
        (2, 1, 80),
        (3, 1, 6),
        (3, 1, 8),
        (3, 1, 16),
        (4, 1, 8),
        (4, 1, 10),
    ];
    let single: [Triple; 3] = [(2, 1, 4), (2, 1, 8), (3, 1, 4)];
    println!(
        "| | n, N | value layers | target | listed: before the clip | listed: output | decreasing: before the clip \
         | decreasing: output | stated |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (precision, triples) in [(F64, &double[..]), (F32, &single[..])] {
        for &triple in triples {
            let (n, _, side) = triple;
            let windows = Int::from(n) * grid(triple).contexts();
            for source in [expression("x * mean(x)"), expression("x * mean(x) / 3"), table(triple)] {
                let [decreasing, listed] = [false, true].map(|listed| off(&source, triple, precision, listed));
                println!(
                    "| {precision} | {n}, {side} | {windows} | `{}` | {:.1e} | {:.1e} | {:.1e} | {:.1e} | {:.1e} |",
                    source.name, listed.raw, listed.output, decreasing.raw, decreasing.output, decreasing.stated
                );
            }
        }
    }
}
