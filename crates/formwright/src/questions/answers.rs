//! The questions with their answers in words, tables, numbers and commands.

use serde_json::{Value, json};

use super::{Example, Normed, OneNumber, Sharing, Skips, Width};
use crate::bound::norm::upward;
use crate::error::Result;
use crate::exact::{Int, Rat, Sequence};
use crate::show::short;

/// A question with its answer and the commands that reproduce it.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The number of the question.
    pub number: usize,
    /// The question.
    pub asked: &'static str,
    /// The answer.
    pub answer: String,
    /// Tables and lines below the answer.
    pub parts: Vec<Part>,
    /// The numbers of the answer.
    pub numbers: Value,
    /// The commands.
    pub commands: Vec<String>,
}

/// A part of an answer.
#[derive(Clone, Debug)]
pub enum Part {
    /// A line of text.
    Line(String),
    /// A table: its headings, its rows.
    Table(Vec<&'static str>, Vec<Vec<String>>),
}

/// All questions with their answers.
pub fn answers() -> Result<Vec<Answer>> {
    Ok(vec![
        sharing(&super::sharing()?),
        norms(&super::norms()?),
        skips(&super::skips()?),
        width(&super::width()?),
        one_number(&super::one_number(&super::stepped_code()?)?),
    ])
}

/// A sequence on one line.
fn shown(x: &Sequence) -> String {
    let token = |token: &Vec<Rat>| {
        let entries: Vec<String> = token.iter().map(short).collect();
        if entries.len() == 1 { entries.concat() } else { format!("({})", entries.join(", ")) }
    };
    format!("[{}]", x.iter().map(token).collect::<Vec<_>>().join(", "))
}

/// The command that builds an example.
fn build(example: &Example) -> String {
    let Example { expression, tokens, resolution, positional, .. } = example;
    let positional = if *positional { " ⟨positional⟩" } else { "" };
    format!("formwright build \"{expression}\"{positional} ⟨tokens={tokens}⟩ ⟨resolution={resolution}⟩")
}

fn sharing(answer: &Sharing) -> Answer {
    let Sharing { example, input, output, permutation, output_of_permuted, positions, .. } = answer;
    let permuted: Sequence = permutation.iter().map(|place| input[*place].clone()).collect();
    let row = |weights: &str, counts: [&Int; 2]| {
        [weights.to_owned()].into_iter().chain(counts.map(Int::to_string)).collect::<Vec<String>>()
    };
    let counts = vec![
        row("the same for every token", [&answer.attention, &answer.feed_forward]),
        row("of its own for every token, or pair", [&answer.attention_unshared, &answer.feed_forward_unshared]),
    ];
    let verdict = if answer.equivariant { "the same, permuted" } else { "NOT THE SAME" };
    Answer {
        number: 1,
        asked: "Why do shared parameters make universal approximation hard?",
        answer: format!(
            "Because shared weights cannot tell positions apart: whatever they are, permuted tokens give permuted outputs, and \
             every function that is not equivariant is out of reach. What is in reach has to be told apart by what the tokens \
             hold: {} windows for {} in Theorem 2. Positions, {positions} numbers more, break the symmetry, and then every \
             sequence is a context of its own: {} windows.",
            answer.values, example.expression, answer.values_with_positions
        ),
        parts: vec![
            Part::Table(vec!["weights", "attention", "feed-forward"], counts),
            Part::Line(String::new()),
            Part::Line(format!("{} ↦ {}", shown(input), shown(output))),
            Part::Line(format!("{} ↦ {}    {verdict}", shown(&permuted), shown(output_of_permuted))),
        ],
        commands: vec![
            format!(
                "{} -o shared && echo '{}' | formwright run shared ⟨input=-⟩",
                build(example),
                json!([input, permuted])
            ),
            "formwright build sort ⟨tokens=3⟩ ⟨resolution=4⟩".to_owned(),
            "formwright build sort ⟨tokens=3⟩ ⟨resolution=4⟩ ⟨positional⟩".to_owned(),
        ],
        numbers: json!(answer),
    }
}

fn norms(answer: &[Normed]) -> Answer {
    let row = |row: &Normed| {
        vec![
            row.construction.to_owned(),
            row.expression.to_owned(),
            format!("{}, {}", row.host, row.precision),
            row.norms.to_string(),
            upward(row.plain, 3),
            upward(row.bound, 3),
            upward(row.term, 2),
        ]
    };
    let command = |row: &Normed| {
        let Normed { construction, expression, tokens, host, precision, .. } = row;
        format!(
            "formwright build \"{expression}\" ⟨construction={construction}⟩ ⟨tokens={tokens}⟩ ⟨precision={precision}⟩ ⟨host={host}⟩"
        )
    };
    Answer {
        number: 2,
        asked: "The proof leaves out layer normalisation. Is that without loss?",
        answer: "For networks of gates it is, up to a term that is proved. Every register is held with its mirror, beside a pin: \
                 the mean is 0, the variance is the pin's, and a norm multiplies all of a token by one number near 1, which a ReLU \
                 passes on. Below are such networks inside of BERT and GPT-2, with a norm in every sub-layer; the first two \
                 are Theorem 4.1 of Alberti et al. 2023. Lattice networks, those of Theorems 2 and 3, are not among them: their ids \
                 are exact sums, and behind a norm no sum is exact. For what they approximate a circuit or a Sumformer is the \
                 answer, where the target has a formula."
            .to_owned(),
        parts: vec![Part::Table(
            vec!["network", "target", "inside of", "norms", "by itself", "behind norms", "the norms' part"],
            answer.iter().map(row).collect(),
        )],
        commands: answer.iter().map(command).collect(),
        numbers: json!({"rows": answer}),
    }
}

fn skips(answer: &Skips) -> Answer {
    let rows =
        answer.states.iter().map(|state| vec![state.after.to_owned(), shown(&state.with), shown(&state.without)]);
    let outputs = if answer.outputs_without == 1 { "output" } else { "outputs" };
    Answer {
        number: 4,
        asked: "Why may layers of one kind be stacked, and what do skip connections do there?",
        answer: format!(
            "A sub-layer whose output weights are zero adds nothing, and with a skip connection adding nothing is the identity: \
             blocks that only attend, and blocks that only feed forward, can follow each other in any number. And every \
             layer here is a correction of a few tokens that must leave the others as they are. The same layers without \
             their skips forget the input: of {} sequences of cell centres {} come out right with skips and {} without, where \
             there is {} {outputs} for all.",
            answer.sequences, answer.right_with, answer.right_without, answer.outputs_without
        ),
        parts: vec![
            Part::Line(shown(&answer.input)),
            Part::Table(vec!["after", "with skips", "without"], rows.collect()),
        ],
        commands: vec![
            format!(
                "{} -o skips && echo '{}' | formwright run skips ⟨input=-⟩ ⟨trace⟩ ⟨without-skips⟩",
                build(&answer.example),
                json!([answer.input])
            ),
            "formwright theorems skip".to_owned(),
        ],
        numbers: json!(answer),
    }
}

fn width(answer: &Width) -> Answer {
    let row = |row: &super::Row| {
        vec![
            row.option.clone(),
            row.blocks.to_string(),
            row.attention_layers.to_string(),
            row.hidden.to_string(),
            row.parameters.to_string(),
            upward(row.rounding, 2),
        ]
    };
    let found = &answer.collision;
    let ids = |ids: &[Int]| format!("{{{}}}", ids.iter().map(Int::to_string).collect::<Vec<_>>().join(", "));
    let first = vec![ids(&found.first), ids(&found.first_apart), ids(&found.first_packed)];
    let second = vec![ids(&found.second), ids(&found.second_apart), ids(&found.second_packed)];
    let example = format!("{} ⟨precision={}⟩", build(&answer.example), answer.precision);
    Answer {
        number: 5,
        asked: "Do larger blocks save blocks?",
        answer: format!(
            "Feed-forward blocks do: windows that touch different tokens may share a layer, and all values fit one. The price is \
             digits, since what one wide sum adds up are numbers as large as ids. Attention layers stay as many as they are: with \
             two windows in one layer both shift by the same amount, and with n = 3, d = 1, N = 4 the sequences {} and {} then \
             share the ids {}: no contextual mapping.",
            first[0],
            second[0],
            ids(&found.shared)
        ),
        parts: vec![
            Part::Table(
                vec!["width", "blocks", "attention", "hidden", "parameters", "rounding at most"],
                answer.rows.iter().map(row).collect(),
            ),
            Part::Line(String::new()),
            Part::Table(vec!["ids", "one window a layer", "two windows a layer"], vec![first, second]),
        ],
        commands: vec![example.clone(), format!("{example} ⟨hidden=64⟩"), format!("{example} ⟨pack⟩")],
        numbers: json!(answer),
    }
}

fn one_number(answer: &OneNumber) -> Answer {
    let OneNumber { phi, t, sequences, sums, targets, error } = answer;
    let rows = sequences.iter().zip(sums).zip(targets);
    let rows = rows.map(|((x, sum), target)| vec![shown(x), sum.to_string(), target.to_string()]).collect();
    let knots: Vec<String> = phi.iter().map(|(x, y)| format!("({x}, {y})")).collect();
    Answer {
        number: 6,
        asked: "Is one number for each token enough for a Sumformer, in the supremum norm?",
        answer: format!(
            "Not if its code φ is continuous, as every network of ReLUs is: for three tokens and f(X)_i = |x_j - x_k|, of the other \
             two, some t has 2φ(t) = φ(0) + φ(1). Of the φ through {}, a histogram on four cells with ramps, it is t = {t}. The two \
             sequences below then have one sum and one first token, so that every ψ gives them one output, which is off by {error} or \
             more at one of them. The discontinuous proof is about integrals, where ramps are as small as one likes; for the \
             supremum more numbers are needed.",
            knots.join(" ")
        ),
        parts: vec![Part::Table(vec!["sequence", "sum of φ", "|x_2 - x_3|"], rows)],
        commands: vec![
            "formwright theorems sumformer-discrete".to_owned(),
            "formwright build mean-centring ⟨construction=sumformer-discrete⟩ ⟨tokens=3⟩ ⟨eps=1/10⟩ ⟨norm=sup⟩"
                .to_owned(),
        ],
        numbers: json!(answer),
    }
}
