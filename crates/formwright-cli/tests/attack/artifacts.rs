//! Small networks of every family whose claims are decided, as the files that a checker reads.

use std::cmp::Ordering;

use formwright::artifact::{Contents, read_target, sha256};
use formwright::compile::{Asked, compile};
use formwright::exact::Rat;
use formwright::lattice::Grid;
use formwright::target::{Source, Table};
use formwright_check::{Files, Verdict, check};

use super::Random;

/// A target and options.
#[derive(Clone)]
pub struct Wanted {
    source: Source,
    asked: Asked,
}

impl Wanted {
    /// The same with other options.
    pub fn with(mut self, change: impl FnOnce(&mut Asked)) -> Self {
        change(&mut self.asked);
        self
    }
}

/// The three files, and what they are called here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    pub name: String,
    pub certificate: Vec<u8>,
    pub target: Vec<u8>,
    pub weights: Vec<u8>,
}

impl Artifact {
    pub fn new(name: &str, Wanted { source, asked }: &Wanted) -> Self {
        let model = asked.request(source.clone()).and_then(|request| compile(&request));
        let model = model.unwrap_or_else(|error| panic!("{name}: {error}"));
        let contents = Contents::of(&model).expect("files");
        let (Some(weights), Some(certificate)) = (contents.weights, contents.certificate) else {
            panic!("{name} claims nothing")
        };
        Self { name: name.to_owned(), certificate, target: contents.target, weights }
    }

    pub fn files(&self) -> [(&'static str, &[u8]); 3] {
        [("certificate.fwc", &self.certificate), ("target.json", &self.target), ("model.safetensors", &self.weights)]
    }

    pub fn verdict(&self) -> Verdict {
        check(&Files { certificate: &self.certificate, target: &self.target, weights: &self.weights })
    }

    /// True if a false claim is rejected at once. One about an expression on a box is rejected only when its cells have
    /// been cut very fine.
    pub fn is_quick(&self) -> bool {
        self.line("over") != "box" || self.target.starts_with(b"{\n  \"kind\": \"table\"")
    }

    /// The certificate's text; only of one that nobody has spoilt.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.certificate).expect("ASCII")
    }

    /// The rest of a line, behind its first word.
    pub fn line(&self, word: &str) -> &str {
        let found = self.text().lines().find_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
        found.unwrap_or_else(|| panic!("{} has no line of {word}", self.name))
    }

    /// The same with something else behind the first word of a line.
    pub fn with_line(&self, word: &str, content: &str) -> Self {
        let (old, new) = (format!("\n{word} {}\n", self.line(word)), format!("\n{word} {content}\n"));
        Self { certificate: self.text().replacen(&old, &new, 1).into_bytes(), ..self.clone() }
    }

    /// The same with the hashes of the files as they are now: what was changed is no longer betrayed by them.
    pub fn hashed(self) -> Self {
        let hash = |name: &str, bytes: &[u8]| format!("sha256 {name} {}", sha256(bytes));
        let lines = self.text().lines().map(|line| match line.split(' ').nth(1) {
            Some("target.json") => hash("target.json", &self.target),
            Some("model.safetensors") => hash("model.safetensors", &self.weights),
            _ => line.to_owned(),
        });
        let text = lines.collect::<Vec<_>>().join("\n") + "\n";
        Self { certificate: text.into_bytes(), ..self }
    }
}

pub const F32: &str = "f32";
pub const F64: &str = "f64";

fn wanted(text: &str, tokens: usize, construction: &str, precision: &str) -> Wanted {
    let source = read_target(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let construction = Some(construction.to_owned());
    let precision = Some(precision.to_owned());
    Wanted { source, asked: Asked { construction, tokens: Some(tokens), precision, ..Asked::default() } }
}

pub fn yun(text: &str, tokens: usize, precision: &str) -> Wanted {
    wanted(text, tokens, "yun", precision)
}

pub fn circuit(text: &str, tokens: usize, precision: &str) -> Wanted {
    wanted(text, tokens, "circuit", precision)
}

/// By a normal form in a basis, within a tolerance.
pub fn normal_form(text: &str, basis: &str, eps: &str, precision: &str) -> Wanted {
    wanted(text, 2, "sumformer", precision).with(|asked| {
        asked.norm = Some("sup".to_owned());
        asked.eps = Some(eps.to_owned());
        drop(asked.own.insert("basis".to_owned(), basis.to_owned()));
    })
}

/// By sums of codes.
pub fn sums(text: &str, construction: &str, values: &str) -> Wanted {
    wanted(text, 2, construction, F64).with(|asked| drop(asked.own.insert("values".to_owned(), values.to_owned())))
}

/// With tokens of so many coordinates.
fn of_dims(dims: usize, wanted: Wanted) -> Wanted {
    wanted.with(|asked| asked.dims = Some(dims))
}

fn positional(wanted: Wanted) -> Wanted {
    wanted.with(|asked| asked.positional = true)
}

/// In blocks of so many hidden units, or of all.
fn packed(wanted: Wanted, hidden: Option<usize>) -> Wanted {
    wanted.with(|asked| (asked.pack, asked.hidden) = (hidden.is_none(), hidden))
}

/// On a grid of the unit box, with a bound in this norm.
pub fn on_box(cells: u64, norm: &str, wanted: Wanted) -> Wanted {
    wanted.with(|asked| (asked.resolution, asked.norm) = (Some(cells), Some(norm.to_owned())))
}

/// A table of halves for two tokens: the network gives every one of them exactly, so that nothing is left in the bound but what ramps cost.
fn table(cells: u64, equivariant: bool) -> Source {
    let grid = Grid::unit(2, 1, cells).expect("a grid");
    let mut random = Random::new(cells);
    let mut halves: Vec<_> = grid.all_points().map(|_| [random.half(), random.half()]).collect();
    if equivariant {
        let (side, all) = (usize::try_from(cells).expect("small"), halves.clone());
        for (place, entry) in halves.iter_mut().enumerate() {
            let (a, b) = (place / side, place % side);
            let [x, y] = all[a.min(b) * side + a.max(b)].clone();
            *entry = match a.cmp(&b) {
                Ordering::Less => [x, y],
                Ordering::Equal => [x.clone(), x],
                Ordering::Greater => [y, x],
            };
        }
    }
    let values = halves.into_iter().map(|[x, y]| vec![vec![x], vec![y]]).collect();
    Source::table("halves", Table::new(grid, 1, values).expect("a table"))
}

/// A table, of two tokens.
fn tabled(cells: u64, wanted: Wanted, equivariant: bool) -> Wanted {
    Wanted { source: table(cells, equivariant), ..on_box(cells, "l2", wanted) }
}

/// By the median of shifted grids.
pub fn median(text: &str, cells: u64, precision: &str) -> Wanted {
    on_box(cells, "sup", wanted(text, 2, "median", precision))
}

/// The same of a table of two cells a side; with a Lipschitz constant, of all functions with its values.
pub fn median_of_table(constant: Option<&str>) -> Wanted {
    let half = |x: i64| Rat::new(x, 4);
    let entries = [[0, 0], [1, 2], [2, 1], [4, 4]].map(|[x, y]| vec![vec![half(x)], vec![half(y)]]);
    let table = Table::new(Grid::unit(2, 1, 2).expect("a grid"), 1, entries.to_vec()).expect("a table");
    let wanted = Wanted { source: Source::table("quarters", table), ..median("x", 2, F32) };
    wanted.with(|asked| asked.lipschitz = constant.map(str::to_owned))
}

/// Every family: all are accepted, and fast.
pub fn families() -> Vec<Artifact> {
    let mut all: Vec<(String, Wanted)> = Vec::new();
    let mut add = |name: &str, wanted: Wanted| all.push((name.to_owned(), wanted));
    for (name, cells, tokens, precision) in [
        ("yun-2x2", 2, 2, F32),
        ("yun-3x2", 3, 2, F64),
        ("yun-4x2", 4, 2, F32),
        ("yun-5x2", 5, 2, F64),
        ("yun-3x3", 3, 3, F64),
        ("yun-4x3", 4, 3, F64),
    ] {
        add(name, yun(&format!("sum(x) + x on integers 0..{cells}"), tokens, precision));
    }
    add("yun-negative", yun("x * max(x) on integers -2..2", 2, F32));
    add("yun-positional", positional(yun("2 * x - x[0] + i on integers 0..3", 2, F32)));
    add("yun-positional-3", positional(yun("x[n-1-i] on integers 0..2", 3, F64)));
    // Keys that are fractions: whether one is at most another is a matter of exact numbers.
    add("yun-keys", positional(yun("let k = x + i/5; count(k - 1/5 <= x) on integers 0..3", 2, F64)));
    add("yun-packed-all", packed(yun("sum(x) + x on integers 0..4", 2, F64), None));
    add("yun-packed-8", packed(yun("sum(x) + x on integers 0..4", 2, F64), Some(8)));
    add("yun-box", on_box(3, "l2", yun("x - mean(x)", 2, F64)));
    add("yun-box-f32", on_box(3, "l1", yun("x * mean(x)", 2, F32)));
    add("yun-box-positional", on_box(3, "l2", positional(yun("x[0] / 2 + x", 2, F64))));
    add("yun-box-packed-8", packed(on_box(3, "l2", yun("x - mean(x)", 2, F64)), Some(8)));
    add("yun-table-positional", tabled(3, positional(yun("x", 2, F64)), false));
    for name in ["one-block", "staircase", "layered", "rank"] {
        let sum_code = |text: &str| sums(text, "sum-code", name);
        add(&format!("sum-code-{name}"), sum_code("sum(x) + x on integers 0..4"));
        add(&format!("sum-code-{name}-box"), on_box(4, "l2", sum_code("x - mean(x)")));
        add(&format!("sum-code-{name}-table"), tabled(4, sum_code("x"), true));
    }
    add("sumformer-discrete", sums("x * max(x) on integers 0..4", "sumformer-discrete", "one-block"));
    add("sumformer-discrete-box", on_box(3, "l1", sums("x * mean(x)", "sumformer-discrete", "one-block")));
    for (name, text, tokens, precision) in [
        ("sort", "sort(x) on integers 0..4", 3, F32),
        ("count", "count(x < x[i]) on integers 0..4", 3, F32),
        ("causal-sum", "sum(x, j <= i) on integers -1..2", 3, F32),
        ("max", "max(x) - x on integers -3..1", 3, F64),
        ("gather", "x[n-1-i] on integers 0..3", 3, F32),
        ("mod", "(sum(x) + i) mod 3 on integers 0..3", 3, F64),
        ("if", "if x > max(x) - 2 then x else -x on integers 0..4", 3, F32),
        ("parity", "let s = sum(x, j <= i); s mod 2 on integers 0..2", 4, F32),
        ("table", "table(x; 3, 1, 4, 1) + count(x == x[i]) on integers 0..4", 3, F64),
    ] {
        add(&format!("circuit-{name}"), circuit(text, tokens, precision));
    }
    add("yun-dims", of_dims(2, yun("x.0 - x + sum(x) on integers 0..2", 2, F64)));
    add("sum-code-dims", of_dims(2, sums("[x.1 * max(x.0)] on integers 0..2", "sum-code", "layered")));
    add("circuit-dims", of_dims(2, circuit("[x.0 + 2 * x.1, sum(x.1) - i, x.0] on integers 0..2", 3, F32)));
    all.iter().map(|(name, wanted)| Artifact::new(name, wanted)).collect()
}
