//! CERTIFICATE.md, section 6: each rule proves what it is for, and each of its hypotheses is missed where it does not hold.

mod support;

use support::{Artifact, on_integers, rejected};

#[test]
fn a_sort_of_places_sees_the_order() {
    // The least of 5, (0 if x_1 = 0 else 5), (0 if x_2 = 1 else 5): 0 unless x_1 = 1 and x_2 = 0.
    let zero_at = |place: i32, value: i32| {
        format!(
            r#"{{"and":[{{"compare":["equal","index",{{"number":"{place}"}}]}},{{"compare":["equal","token",{{"number":"{value}"}}]}}]}}"#
        )
    };
    let inner =
        format!(r#"{{"if":[{{"or":[{},{}]}},{{"number":"0"}},{{"number":"5"}}]}}"#, zero_at(1, 0), zero_at(2, 1));
    let each =
        format!(r#"{{"if":[{{"compare":["equal","index",{{"number":"0"}}]}},{{"sort":{inner}}},{{"number":"0"}}]}}"#);
    rejected(&Artifact::new(on_integers(&each, 0, 2), 3, "0", &[(0.0, 0.0)], &[0.0]), "point");
}
