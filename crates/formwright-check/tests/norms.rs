//! Powers that are no integers, and norms of claims that are shown everywhere.

use super::support::{Artifact, accepted, declined, on_box, rejected};

const TOKEN: &str = r#""token""#;

/// Zeros instead of two tokens of `[0, 1]`: off by the root of `2/(p + 1)` in `L^p`.
fn nothing(p: &str, bound: &str) -> Artifact {
    Artifact::new(on_box(TOKEN), 2, bound, &[(0.0, 0.0)], &[0.0]).over_box(4, "0 0").with("norm", &format!("lp {p}"))
}

#[test]
fn powers_lie_between_those_of_integers() {
    // 1, 0.862, 0.817, and for a power of 5/2 again less: 0.8^(2/3), (4/7)^(2/5).
    for (p, above, below) in
        [("1", "21/20", "19/20"), ("3/2", "9/10", "4/5"), ("2", "17/20", "3/4"), ("5/2", "17/20", "3/4")]
    {
        accepted(&nothing(p, above));
        rejected(&nothing(p, below), "integral");
    }
    declined(&nothing("129/2", "1"));
    declined(&nothing("1/2", "1"));
}

/// Tokens of `[-1, 1]`, each with 1/8 more.
fn moved(p: &str, bound: &str) -> Artifact {
    let target = on_box(TOKEN).replace(r#"["0","1"]"#, r#"["-1","1"]"#);
    let artifact = Artifact::new(target, 2, bound, &[(1.0, 0.125)], &[1.0]);
    let lines =
        ["meanings 1", "wire input 0", "layers 1", "layer 0 1", "holds 0 0 1 0 1", "outputs 1", "output 0 1 0 1"];
    artifact.meaning(&lines).with("norm", p)
}

#[test]
fn an_error_everywhere_bounds_every_norm() {
    accepted(&moved("sup", "63/500"));
    declined(&moved("sup", "31/250"));
    // 1/8 times 2 · 4, its root, and that to the power 2/3.
    for (p, above, below) in
        [("lp 1", "1001/1000", "999/1000"), ("lp 2", "177/500", "353/1000"), ("lp 3/2", "501/1000", "499/1000")]
    {
        accepted(&moved(p, above));
        declined(&moved(p, below));
    }
    declined(&moved("lp 65", "1"));
    // An integral is over sequences of one length.
    declined(&moved("lp 2", "1").with("tokens", "1 2"));
    accepted(&moved("sup", "1").with("tokens", "1 2"));
}
