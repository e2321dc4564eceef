//! `formwright theorems questions`.

use std::fmt::Write as _;

use formwright::bound::norm::upward;
use formwright::error::Result;
use formwright::exact::Int;
use formwright::questions::{self, Example, OneNumber, Sharing, Skips, Width};
use formwright::show::shown;
use serde_json::{Value, json};

use crate::Answer;
use crate::show::{lines, sequence, table, wrap};

/// A question, its answer, and the command that reproduces it.
struct Question {
    number: usize,
    asked: &'static str,
    answer: String,
    table: String,
    numbers: Value,
    commands: Vec<String>,
}

pub fn execute() -> Result<Answer> {
    let one = questions::one_number(&questions::stepped_code()?)?;
    let questions =
        [sharing(&questions::sharing()?), skips(&questions::skips()?), width(&questions::width()?), one_number(&one)];
    // Writing to a String cannot fail.
    let mut text = String::from(
        "Questions that readers of Yun et al. 2020 ask, and one about Alberti et al. 2023; every number is computed here and now.\n",
    );
    for Question { number, asked, answer, table, commands, .. } in &questions {
        let _ = write!(text, "\n{number}. {asked}\n\n{}\n\n{table}\n", wrap(answer, "  "));
        for command in commands {
            let _ = write!(text, "\n  $ {command}");
        }
        text.push('\n');
    }
    text.push_str(
        "\nTwo more, 2 and 3, are for experiments: whether layer normalisation may be left out, and whether training finds such weights.\n\
         The lab has put both to the test (results/README.md of the repository):\n\n  \
         $ formwright lab run construction\n  $ formwright lab compare construction\n",
    );
    let documents: Vec<Value> = questions
        .into_iter()
        .map(|Question { number, asked, answer, numbers, commands, .. }| {
            json!({"number": number, "question": asked, "answer": answer, "numbers": numbers, "commands": commands})
        })
        .collect();
    Ok(Answer { text, json: json!({"questions": documents}) })
}

/// The options of `build` for an example.
fn build(example: &Example) -> String {
    let Example { expression, tokens, resolution, positional, .. } = example;
    let positional = if *positional { " --positional" } else { "" };
    format!("formwright build \"{expression}\"{positional} --tokens {tokens} --resolution {resolution}")
}

fn sharing(answer: &Sharing) -> Question {
    let Sharing { input, output, permutation, output_of_permuted, positions, .. } = answer;
    let permuted: Vec<_> = permutation.iter().map(|place| input[*place].clone()).collect();
    let mut counts = table(&["weights", "attention", "feed-forward"]);
    counts.add_row(["the same for every token", &answer.attention.to_string(), &answer.feed_forward.to_string()]);
    counts.add_row([
        "of its own for every token, or pair",
        &answer.attention_unshared.to_string(),
        &answer.feed_forward_unshared.to_string(),
    ]);
    let verdict = if answer.equivariant { "the same, permuted" } else { "NOT THE SAME" };
    let witness = format!(
        "{} ↦ {}\n{} ↦ {}    {verdict}",
        sequence(&shown(input)),
        sequence(&shown(output)),
        sequence(&shown(&permuted)),
        sequence(&shown(output_of_permuted))
    );
    Question {
        number: 1,
        asked: "Why do shared parameters make universal approximation hard?",
        answer: format!(
            "Because shared weights cannot tell positions apart: whatever they are, permuted tokens give permuted outputs, and \
             every function that is not equivariant is out of reach. What is in reach has to be told apart by what the tokens \
             hold: {} windows for {} in Theorem 2. Positions, {positions} numbers more, break the symmetry, and then every \
             sequence is a context of its own: {} windows.",
            answer.values, answer.example.expression, answer.values_with_positions
        ),
        table: indent(&format!("{}\n\n{witness}", lines(&counts))),
        numbers: json!(answer),
        commands: vec![
            format!(
                "{} -o shared && echo '{}' | formwright run shared --input -",
                build(&answer.example),
                json!([input, permuted])
            ),
            "formwright build sort --tokens 3 --resolution 4".to_owned(),
            "formwright build sort --tokens 3 --resolution 4 --positional".to_owned(),
        ],
    }
}

fn skips(answer: &Skips) -> Question {
    let mut rows = table(&["after", "with skips", "without"]);
    for state in &answer.states {
        rows.add_row([state.after, &sequence(&shown(&state.with)), &sequence(&shown(&state.without))]);
    }
    let outputs = if answer.outputs_without == 1 { "output".to_owned() } else { "outputs".to_owned() };
    Question {
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
        table: indent(&format!("{}\n{}", sequence(&shown(&answer.input)), lines(&rows))),
        numbers: json!(answer),
        commands: vec![
            format!(
                "{} -o skips && echo '{}' | formwright run skips --input - --trace --without-skips",
                build(&answer.example),
                json!([answer.input])
            ),
            "formwright theorems skip".to_owned(),
        ],
    }
}

fn width(answer: &Width) -> Question {
    let mut rows = table(&["width", "blocks", "attention", "hidden", "parameters", "rounding at most"]);
    for row in &answer.rows {
        rows.add_row([
            row.option.clone(),
            row.blocks.to_string(),
            row.attention_layers.to_string(),
            row.hidden.to_string(),
            row.parameters.to_string(),
            upward(row.rounding, 2),
        ]);
    }
    let found = &answer.collision;
    let ids = |ids: &[Int]| format!("{{{}}}", ids.iter().map(Int::to_string).collect::<Vec<_>>().join(", "));
    let mut collisions = table(&["ids", "one window a layer", "two windows a layer"]);
    collisions.add_row([ids(&found.first), ids(&found.first_apart), ids(&found.first_packed)]);
    collisions.add_row([ids(&found.second), ids(&found.second_apart), ids(&found.second_packed)]);
    let example = format!("{} --precision {}", build(&answer.example), answer.precision);
    Question {
        number: 5,
        asked: "Do larger blocks save blocks?",
        answer: format!(
            "Feed-forward blocks do: windows that touch different tokens may share a layer, and all values fit one. The price is \
             digits, since what one wide sum adds up are numbers as large as ids. Attention layers stay as many as they are: with \
             two windows in one layer both shift by the same amount, and with n = 3, d = 1, N = 4 the sequences {} and {} then \
             share the ids {}: no contextual mapping.",
            ids(&found.first),
            ids(&found.second),
            ids(&found.shared)
        ),
        table: indent(&format!("{}\n\n{}", lines(&rows), lines(&collisions))),
        numbers: json!(answer),
        commands: vec![example.clone(), format!("{example} --hidden 64"), format!("{example} --pack")],
    }
}

fn one_number(answer: &OneNumber) -> Question {
    let OneNumber { phi, t, sequences, sums, targets, error } = answer;
    let mut rows = table(&["sequence", "sum of φ", "|x_2 - x_3|"]);
    for ((x, sum), target) in sequences.iter().zip(sums).zip(targets) {
        rows.add_row([sequence(&shown(x)), sum.to_string(), target.to_string()]);
    }
    let knots: Vec<String> = phi.iter().map(|(x, y)| format!("({x}, {y})")).collect();
    Question {
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
        table: indent(&lines(&rows)),
        numbers: json!(answer),
        commands: vec![
            "formwright theorems sumformer-discrete".to_owned(),
            "formwright build mean-centring --construction sumformer-discrete --tokens 3 --eps 1/10 --norm sup"
                .to_owned(),
        ],
    }
}

/// Puts two spaces in front of every line that is not empty.
fn indent(text: &str) -> String {
    let line = |line: &str| if line.is_empty() { String::new() } else { format!("  {}", line.trim_start()) };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}
