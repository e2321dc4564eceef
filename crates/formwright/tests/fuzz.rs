//! Random bytes, random words and broken targets: reading and checking always end, with an answer and not with a panic.
//!
//! `cargo test --release --test fuzz -- --ignored --nocapture` runs a million of them.

use std::time::{Duration, Instant};

use formwright::target::Expression;

/// A small generator of numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 16) % limit as u64).expect("a machine word")
    }
}

const PIECES: [&str; 63] = [
    "x", "i", "j", "n", "0", "1", "2", "0.5", "1e9", "7", "+", "-", "*", "/", "^", "mod", "<", "<=", ">", ">=", "==",
    "!=", "and", "or", "not", "if", "then", "else", "(", ")", "(", ")", "[", "]", ",", ";", ".", "..", "on",
    "integers", "exp", "log", "sqrt", "abs", "min", "max", "clamp", "floor", "sum", "mean", "var", "count", "sort",
    "table", "# c\n", "é", "\u{0}", "**", "let", "let b =", "b", "b", "=",
];

/// The examples of the page, to be broken.
fn examples() -> Vec<&'static str> {
    let blocks = include_str!("../../../LANGUAGE.md").split("```").skip(1).step_by(2);
    blocks.flat_map(|block| block.lines().skip(1)).collect()
}

fn text(random: &mut Random, examples: &[&str]) -> String {
    match random.below(4) {
        0 => {
            let bytes: Vec<u8> =
                (0..random.below(60)).map(|_| u8::try_from(random.below(256)).expect("a byte")).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        }
        1 => (0..random.below(40)).map(|_| PIECES[random.below(PIECES.len())].to_string() + " ").collect(),
        _ => {
            let mut text: Vec<char> = examples[random.below(examples.len())].chars().collect();
            for _ in 0..=random.below(4) {
                let at = random.below(text.len() + 1);
                let end = (at + random.below(6)).min(text.len());
                let piece: Vec<char> = match random.below(4) {
                    0 => vec![],
                    1 => PIECES[random.below(PIECES.len())].chars().collect(),
                    2 => examples[random.below(examples.len())].chars().take(random.below(30)).collect(),
                    _ => text[at..end].repeat(2),
                };
                text.splice(at..end, piece);
            }
            text.into_iter().collect()
        }
    }
}

/// Runs so many texts; how many could be read, how many passed the check, and the longest time of one.
fn run(seed: u64, texts: usize) -> (usize, usize, Duration) {
    let examples = examples();
    let random = &mut Random(seed);
    let (mut read, mut passed, mut longest) = (0, 0, Duration::ZERO);
    for _ in 0..texts {
        let text = text(random, &examples);
        let start = Instant::now();
        if let Ok(target) = Expression::parse(&text) {
            read += 1;
            assert_eq!(Expression::parse(&target.to_string()).as_ref(), Ok(&target), "{text:?} and {target}");
            if let Ok(checked) = target.check(1 + random.below(2)) {
                passed += 1;
                let x = vec![vec![0.5; checked.dims()]; 2];
                assert_eq!(checked.evaluate_f64(&x).len(), 2);
                let _: (_, _, _) = (checked.range_exact(2), checked.equivariance(), checked.continuity(2));
            }
        }
        longest = longest.max(start.elapsed());
    }
    (read, passed, longest)
}

#[test]
fn no_text_brings_a_panic() {
    let (read, passed, _) = run(1, 20_000);
    assert!(read > 1_000 && passed > 500, "{read} texts could be read and {passed} passed: the mutations are too wild");
}

#[test]
#[ignore = "a million texts: minutes"]
fn a_million_texts_bring_no_panic() {
    let start = Instant::now();
    let (read, passed, longest) = run(2, 1_000_000);
    println!("1000000 texts in {:?}: {read} read, {passed} passed, longest {longest:?}", start.elapsed());
}

/// Binding `k`'s definition: the one before it, twelve times.
fn chain(k: usize, op: &str) -> String {
    if k == 0 { "x + 1".into() } else { vec![format!("b{}", k - 1); 12].join(op) }
}

/// Work that grew exponentially with the text would not end: that is how this test fails. It reads no clock, which a busy machine would fool.
#[test]
fn long_and_deep_texts_are_answered() {
    let many = 16_000;
    let texts = [
        "(".repeat(65_000),
        "[".repeat(65_000),
        "-".repeat(65_000),
        "x+".repeat(30_000),
        format!("[{}x]", "x,".repeat(30_000)),
        format!("table(i; {}1)", "1,".repeat(30_000)),
        "sum(".repeat(many),
        "if x then ".repeat(6_000),
        "not ".repeat(many),
        "x".repeat(65_000),
        "9".repeat(65_000),
        "1e9".repeat(20_000),
        "#".repeat(65_000),
        "\n".repeat(65_000),
        format!("{}x{}", "(".repeat(48), ")".repeat(48)),
        format!("{}x{}", "sum(".repeat(48), ")".repeat(48)),
        format!("{}x{}", "sum(1 + ".repeat(38), ")".repeat(38)),
        format!("{}x{}", "1 / (1 + ".repeat(32), ")".repeat(32)),
        format!("{}x{}", "sqrt(1 / ".repeat(38), ")".repeat(38)),
        format!("{}i{}", "x[".repeat(48), "]".repeat(48)),
        format!("{}x", "if x < 1 then 1 else ".repeat(38)),
        format!("{}x", "-".repeat(192)),
        format!("x{}", " + x".repeat(192)),
        format!("x{}", " / exp(x)".repeat(150)),
        "let ".repeat(many),
        "let b = x; ".repeat(6_000) + "b",
        (0..64).fold(String::new(), |text, k| text + &format!("let b{k} = {}; ", chain(k, " * "))) + "b63",
        (0..64).fold(String::new(), |text, k| text + &format!("let b{k} = 1 / ({}); ", chain(k, " + "))) + "b63",
        (0..64).fold(String::new(), |text, k| text + &format!("let b{k} = exp({}); ", chain(k, " + "))) + "1 / b63",
    ];
    for text in texts {
        if let Ok(checked) = Expression::parse(&text).and_then(|target| target.check(1)) {
            let _ = (checked.range_exact(2), checked.continuity(2), checked.evaluate_f64(&[vec![0.5]]));
        }
    }
}
