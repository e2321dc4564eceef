//! Only decreasing centres survive floating point: Lemma 7's windows in both orders, executed. The table is in
//! `measurements/value-order.md`.

use super::support::expression;
use super::support::value_order::{off, table};
use formwright::network::Precision;

#[test]
fn decreasing_centres_keep_the_stated_rounding_and_the_listed_order_does_not() {
    for (triple, precision, gain) in [((2, 1, 16), Precision::F64, 1e3), ((2, 1, 8), Precision::F32, 1e1)] {
        for source in [expression("x * mean(x) / 3"), table(triple)] {
            let [decreasing, listed] = [false, true].map(|listed| off(&source, triple, precision, listed));
            let name = format!("{} at {triple:?} in {precision}", source.name);
            assert!(decreasing.output <= decreasing.stated, "{name}: {decreasing:?}");
            assert!(decreasing.raw <= decreasing.stated, "{name}: {decreasing:?}");
            assert!(listed.output >= gain * decreasing.output, "{name}: {listed:?} {decreasing:?}");
            assert!(listed.output > decreasing.stated, "{name}: {listed:?} {decreasing:?}");
            assert!(listed.raw >= 1e6 * decreasing.raw, "{name}: {listed:?} {decreasing:?}");
        }
    }
}
