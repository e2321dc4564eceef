//! Pages with lines of at most 120 characters, tables, headings and pictures aside.

const WIDTH: usize = 120;

/// The page with its long lines broken at spaces, neither inside code nor before a sign that begins a list or a quote.
/// The further lines of an item of a list are indented.
pub fn wrapped(page: &str) -> String {
    let lines = page
        .lines()
        .flat_map(|line| if line.starts_with(['|', '#', '!']) { vec![line.to_owned()] } else { broken(line) });
    lines.map(|line| line + "\n").collect()
}

fn broken(line: &str) -> Vec<String> {
    let text = line.trim_start_matches(' ');
    let margin = &line[..line.len() - text.len()];
    let indent = if text.starts_with("- ") { format!("{margin}  ") } else { margin.to_owned() };
    let mut words = words(text).into_iter();
    let mut lines = vec![format!("{margin}{}", words.next().unwrap_or_default())];
    for word in words {
        match lines.last_mut() {
            Some(last) if last.chars().count() + 1 + word.chars().count() <= WIDTH => {
                last.push(' ');
                last.push_str(&word);
            }
            _ => lines.push(format!("{indent}{word}")),
        }
    }
    lines
}

/// The parts of a line that stay together.
fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for part in line.split(' ') {
        match words.last_mut() {
            Some(last) if last.matches('`').count() % 2 == 1 || ["-", "+", "*", ">", "#", "|"].contains(&part) => {
                last.push(' ');
                last.push_str(part);
            }
            _ => words.push(part.to_owned()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn lines_break_at_spaces_and_tables_stay() {
        let table = format!("| {} |\n", "wide ".repeat(40));
        assert_eq!(wrapped(&table), table);
        let page = format!("# T\n\n{}\n", "four ".repeat(60).trim_end());
        let line = ["four"; 24].join(" ");
        assert_eq!(wrapped(&page), format!("# T\n\n{line}\n{line}\n{}\n", ["four"; 12].join(" ")));
    }

    #[test]
    fn items_are_indented_and_code_and_signs_stay_together() {
        let long = "x".repeat(111);
        assert_eq!(wrapped(&format!("- {long} `a b c d e f` g\n")), format!("- {long}\n  `a b c d e f` g\n"));
        // One character more, so that the sign has no room behind its word.
        assert_eq!(wrapped(&format!("x{long} `a` `b` > `c`\n")), format!("x{long} `a`\n`b` > `c`\n"));
    }

    #[test]
    fn further_lines_of_a_paragraph_keep_its_margin() {
        let long = "x".repeat(110);
        assert_eq!(wrapped(&format!("  {long} a bcdefgh\n")), format!("  {long} a\n  bcdefgh\n"));
        assert_eq!(wrapped(&format!("  - {long} ab cde\n")), format!("  - {long} ab\n    cde\n"));
    }
}
