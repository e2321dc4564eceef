//! The models that a zoo is made of.

use crate::error::Result;
use crate::front::build;
use crate::model::Model;
use crate::target::catalogue::CATALOGUE;

/// The numbers of tokens; targets that fix theirs have one.
const TOKENS: [usize; 2] = [3, 5];

/// The kinds of attention that realise sums and means, besides softmax.
const KINDS: [&str; 3] = ["average", "linformer:2", "performer:4"];

/// The stock classes that a checker decides.
const HOSTS: [&str; 2] = ["bert", "gpt2"];

/// A circuit.
#[derive(Clone, Debug)]
pub(super) struct Base {
    target: &'static str,
    tokens: usize,
    precision: &'static str,
    attention: Option<&'static str>,
    trade: Option<&'static str>,
}

/// All of them, in a fixed order.
pub(super) fn bases() -> Vec<Base> {
    let mut bases = Vec::new();
    for (target, _) in CATALOGUE {
        for tokens in TOKENS {
            for precision in ["f32", "f64"] {
                bases.push(Base { target, tokens, precision, attention: None, trade: None });
            }
        }
        let first = Base { target, tokens: TOKENS[0], precision: "f32", attention: None, trade: None };
        bases.extend(KINDS.map(|kind| Base { attention: Some(kind), ..first.clone() }));
        bases.extend(["width", "depth"].map(|trade| Base { trade: Some(trade), ..first.clone() }));
    }
    bases
}

impl Base {
    /// Its name, unique in a zoo, and that of a folder.
    pub fn name(&self) -> String {
        let Self { target, tokens, precision, attention, trade } = self;
        let more: Vec<String> =
            attention.iter().chain(trade).map(|word| format!("-{}", word.replace(':', ""))).collect();
        format!("{target}-n{tokens}-{precision}{}", more.concat())
    }

    /// Compiles it.
    pub fn model(&self) -> Result<Model> {
        let build = build(self.target).tokens(self.tokens).construction("circuit").precision(self.precision);
        let build = match self.attention {
            Some(kind) => build.attention(kind),
            None => build,
        };
        let trade = self.trade.map(str::to_owned);
        build.asked(|asked| asked.own.extend(trade.map(|trade| ("trade".to_owned(), trade)))).model()
    }

    /// The hosts that it is put into.
    pub fn hosts(&self) -> &'static [&'static str] {
        let first = self.tokens == TOKENS[0] && self.precision == "f32";
        if first && self.attention.is_none() && self.trade.is_none() { &HOSTS } else { &[] }
    }
}
