//! The results of the runs of an experiment, over their seeds. All of it is `measured`.
//!
//! Two groups of runs are told apart only if every seed of one does better than every seed of the other; a gap that is
//! smaller than the spread of the seeds is *undecided*.

use std::fmt::Write as _;

use formwright::error::Result;
use formwright::markdown::wrapped;

use crate::config::{Architecture, Plot, Run};
use crate::folder::{About, Folder, replace};
use crate::train::{Ended, Epoch, Progress};

/// The least, the middle and the largest of some numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The least.
    pub least: f64,
    /// The middle one; of an even count, the lower of the two.
    pub middle: f64,
    /// The largest.
    pub most: f64,
}

impl Spread {
    /// The spread of at least one number.
    pub fn of(numbers: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut numbers: Vec<f64> = numbers.into_iter().collect();
        numbers.sort_by(f64::total_cmp);
        let middle = *numbers.get(numbers.len().checked_sub(1)? / 2)?;
        Some(Self { least: *numbers.first()?, middle, most: *numbers.last()? })
    }

    /// True if every number of this spread is below every number of the other.
    pub fn below(&self, other: &Self) -> bool {
        self.most < other.least
    }
}

/// The runs that differ in their seeds alone.
pub struct Group {
    /// The function.
    pub target: String,
    /// Coordinates of a token.
    pub dims: usize,
    /// The model.
    pub model: Architecture,
    /// Trained numbers.
    pub parameters: usize,
    /// The validation loss of the best constant.
    pub best_constant: f64,
    /// The runs, by seeds.
    pub runs: Vec<Progress>,
}

impl Group {
    /// A number of every run that has begun.
    pub fn spread(&self, number: impl Fn(&Progress) -> Option<f64>) -> Option<Spread> {
        Spread::of(self.runs.iter().filter_map(number))
    }

    /// The best validation losses.
    pub fn best(&self) -> Option<Spread> {
        self.spread(|run| run.best().map(|epoch| epoch.validation.loss))
    }

    /// The largest errors on the validation samples, at the best epochs.
    pub fn sup(&self) -> Option<Spread> {
        self.spread(|run| run.best().map(|epoch| epoch.validation.score()))
    }
}

/// The groups of an experiment, in the order of its runs; runs that have not begun are left out.
pub fn groups(folder: &Folder) -> Result<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    for (run, known) in folder.runs()? {
        let Some((About { parameters, best_constant, .. }, progress)) = known else { continue };
        let Run { target, dims, model, .. } = run;
        match groups.last_mut() {
            Some(last) if last.target == target && last.dims == dims && last.model == model => last.runs.push(progress),
            _ => groups.push(Group { target, dims, model, parameters, best_constant, runs: vec![progress] }),
        }
    }
    Ok(groups)
}

/// The roughness of a curve: the average number of decades by which the validation loss changes in an epoch, up or
/// down.
#[expect(clippy::cast_precision_loss, reason = "epochs")]
pub fn roughness(run: &Progress) -> Option<f64> {
    let steps = run.epochs.len().checked_sub(1).filter(|steps| *steps > 0)?;
    let change = |pair: &[Epoch]| (pair[1].validation.loss.log10() - pair[0].validation.loss.log10()).abs();
    Some(run.epochs.windows(2).map(change).sum::<f64>() / steps as f64)
}

/// The jumps of a curve: of all decades by which the best loss so far falls, the share in the twentieth of the epochs
/// in which it falls most.
pub fn jumps(run: &Progress) -> Option<f64> {
    let mut best = f64::INFINITY;
    let mut falls: Vec<f64> = Vec::new();
    for epoch in &run.epochs {
        let loss = epoch.validation.loss;
        if best.is_finite() {
            falls.push((best.log10() - loss.log10()).max(0.0));
        }
        best = best.min(loss);
    }
    falls.sort_by(|a, b| b.total_cmp(a));
    let all: f64 = falls.iter().sum();
    let most: f64 = falls.iter().take(falls.len().div_ceil(20)).sum();
    (all > 0.0).then(|| most / all)
}

/// The least of several spreads, and whether that is decided.
pub fn verdict(named: &[(String, Spread)]) -> String {
    let Some((name, best)) = named.iter().min_by(|a, b| a.1.middle.total_cmp(&b.1.middle)) else {
        return "nothing was run".to_owned();
    };
    let rivals: Vec<&str> = named
        .iter()
        .filter(|(other, spread)| other != name && !best.below(spread))
        .map(|(other, _)| other.as_str())
        .collect();
    if rivals.is_empty() {
        format!("{name}, every seed ({})", range(Some(*best)))
    } else {
        format!(
            "undecided: {name} has the least middle, {}, but its seeds and those of {} overlap",
            range(Some(*best)),
            rivals.join(", ")
        )
    }
}

fn range(spread: Option<Spread>) -> String {
    spread.map_or_else(String::new, |Spread { least, middle, most }| format!("{middle:.1e} [{least:.1e}, {most:.1e}]"))
}

/// The ends of runs, counted.
pub fn ends(runs: &[Progress]) -> String {
    let count = |end: Option<Ended>| runs.iter().filter(|run| run.ended == end).count();
    let named = [
        (Some(Ended::Budget), "spent"),
        (Some(Ended::Flat), "flat"),
        (Some(Ended::Diverged), "diverged"),
        (None, "unfinished"),
    ];
    let words = named.into_iter().map(|(end, word)| (count(end), word)).filter(|(count, _)| *count > 0);
    words.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

/// The page of an experiment.
pub fn page(folder: &Folder) -> Result<String> {
    let groups = groups(folder)?;
    let experiment = &folder.experiment;
    let mut page = format!(
        "# {}\n\nmeasured: {} tokens, {} validation samples per target, seeds {:?}. Loss: mean squared error; \
         in brackets the least and the largest of the seeds. \
         `of constant` is the middle loss over that of the best constant. \
         A run ends when its budget of {} epochs is spent, or when its last {} % \
         have brought no new best (flat).\n",
        experiment.title,
        experiment.tokens,
        experiment.data.validation,
        experiment.seeds,
        experiment.budget.epochs,
        experiment.budget.flat * 100.0,
    );
    let mut targets: Vec<(&str, usize)> = groups.iter().map(|group| (group.target.as_str(), group.dims)).collect();
    targets.dedup();
    for (target, dims) in targets {
        let here: Vec<&Group> = groups.iter().filter(|group| group.target == target && group.dims == dims).collect();
        let _ = write!(
            page,
            "\n## `{target}`, {dims} {}\n\n| model | parameters | best validation loss | of constant | largest error | roughness | jumps | epochs | seconds | runs |\n\
             |---|---|---|---|---|---|---|---|---|---|\n",
            if dims == 1 { "coordinate" } else { "coordinates" },
        );
        for group in &here {
            let middle = |number: &dyn Fn(&Progress) -> Option<f64>| group.spread(number).map(|spread| spread.middle);
            let written =
                |number: Option<f64>, digits: usize| number.map_or_else(String::new, |x| format!("{x:.digits$}"));
            #[expect(clippy::cast_precision_loss, reason = "epochs")]
            let epochs = middle(&|run| run.epochs.last().map(|epoch| epoch.epoch as f64));
            let share =
                group.best().map_or_else(String::new, |best| format!("{:.1e}", best.middle / group.best_constant));
            let _ = writeln!(
                page,
                "| {} | {} | {} | {share} | {} | {} | {} | {} | {} | {} |",
                group.model,
                group.parameters,
                range(group.best()),
                range(group.sup()),
                written(middle(&roughness), 3),
                written(middle(&jumps), 2),
                written(epochs, 0),
                written(middle(&|run| run.epochs.last().map(|epoch| epoch.seconds)), 1),
                ends(&group.runs),
            );
        }
        if here.len() > 1 {
            let named = |number: &dyn Fn(&Progress) -> Option<f64>| -> Vec<(String, Spread)> {
                here.iter().filter_map(|group| Some((group.model.to_string(), group.spread(number)?))).collect()
            };
            let loss = named(&|run| run.best().map(|epoch| epoch.validation.loss));
            let _ = writeln!(page, "\nLeast loss: {}.", verdict(&loss));
            if experiment.plot == Plot::Epochs {
                let _ = writeln!(
                    page,
                    "Smoothest: {}.\nFewest jumps: {}.",
                    verdict(&named(&roughness)),
                    verdict(&named(&jumps))
                );
            }
        }
    }
    page.push_str(
        "\n*Roughness*: decades by which the validation loss changes in an epoch, up or down, on average. \
         *Jumps*: of all decades by which the best loss falls, the share in the twentieth of the epochs in which \
         it falls most.\n",
    );
    Ok(wrapped(&page))
}

/// The table: a line for each run.
pub fn table(folder: &Folder) -> Result<String> {
    let mut table =
        "target,dims,model,seed,parameters,best_constant,epochs,best_epoch,best_loss,sup,seconds,ended\n".to_owned();
    for (run, known) in folder.runs()? {
        let Some((about, progress)) = known else { continue };
        let (Some(best), Some(last)) = (progress.best(), progress.epochs.last()) else { continue };
        let ended =
            serde_json::to_value(about.ended).ok().and_then(|end| end.as_str().map(str::to_owned)).unwrap_or_default();
        let _ = writeln!(
            table,
            "\"{}\",{},\"{}\",{},{},{:.6e},{},{},{:.6e},{:.6e},{:.3},{ended}",
            run.target.replace('"', "\"\""),
            run.dims,
            run.model,
            run.seed,
            about.parameters,
            about.best_constant,
            last.epoch,
            best.epoch,
            best.validation.loss,
            best.validation.score(),
            last.seconds,
        );
    }
    Ok(table)
}

/// Writes the page and the table.
pub fn write(folder: &Folder) -> Result<()> {
    replace(&folder.path().join("summary.md"), page(folder)?.as_bytes())?;
    replace(&folder.path().join("results.csv"), table(folder)?.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::Judgement;

    fn run(losses: &[f64]) -> Progress {
        let epoch = |(k, loss): (usize, &f64)| Epoch {
            epoch: k as u64 + 1,
            step: k as u64 + 1,
            seconds: 0.0,
            training: 0.0,
            validation: Judgement { loss: *loss, scores: vec![0.0] },
        };
        Progress { epochs: losses.iter().enumerate().map(epoch).collect(), ..Progress::default() }
    }

    #[test]
    fn the_middle_of_an_even_count_is_the_lower_one() {
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), Some(Spread { least: 1.0, middle: 2.0, most: 3.0 }));
        assert_eq!(Spread::of([4.0, 1.0]), Some(Spread { least: 1.0, middle: 1.0, most: 4.0 }));
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn a_gap_within_the_spread_is_undecided() {
        let named = |a: [f64; 2], b: [f64; 2]| {
            [("a".to_owned(), Spread::of(a).expect("two")), ("b".to_owned(), Spread::of(b).expect("two"))]
        };
        assert_eq!(verdict(&named([1.0, 2.0], [3.0, 4.0])), "a, every seed (1.0e0 [1.0e0, 2.0e0])");
        assert!(
            verdict(&named([1.0, 3.0], [3.0, 4.0])).starts_with("undecided: a "),
            "the worst of one is no better than the best of the other"
        );
    }

    #[test]
    fn stairs_jump_and_slopes_do_not() {
        // Four decades in 40 steps of a tenth each, or in two of two each.
        let slope = run(&(0..41).map(|k| 10_f64.powf(-0.1 * f64::from(k))).collect::<Vec<_>>());
        let stairs = run(&(0..41).map(|k| 10_f64.powf(-2.0 * f64::from(k / 20))).collect::<Vec<_>>());
        assert!((jumps(&slope).expect("a fall") - 0.05).abs() < 1e-9);
        assert!((jumps(&stairs).expect("a fall") - 1.0).abs() < 1e-9);
        assert!(
            (roughness(&slope).expect("steps") - 0.1).abs() < 1e-9
                && (roughness(&stairs).expect("steps") - 0.1).abs() < 1e-9
        );
        assert_eq!((jumps(&run(&[1.0, 2.0])), roughness(&run(&[1.0]))), (None, None));
    }
}
