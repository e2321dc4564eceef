//! Pictures of a pattern: a row a query, a column a key, the layers of the cycle side by side.

use std::fmt::Write;

use super::Pattern;

impl Pattern {
    /// As text, a character a connection.
    pub fn to_text(&self) -> String {
        let row = |layer: usize, i: usize| -> String {
            (0..self.tokens()).map(|j| if self.layer(layer).sees(i, j) { '■' } else { '·' }).collect()
        };
        let rows =
            (0..self.tokens()).map(|i| (0..self.period()).map(|layer| row(layer, i)).collect::<Vec<_>>().join("   "));
        rows.fold(String::new(), |text, row| text + &row + "\n")
    }

    /// As an SVG picture, with the counts.
    pub fn to_svg(&self) -> String {
        let (n, gap) = (self.tokens(), 2);
        let width = self.period() * (n + gap) - gap;
        let title = |layer: usize| {
            format!("layer {} of {}: {} connections of {}", layer + 1, self.period(), self.layer(layer).count(), n * n)
        };
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-1 -1 {} {}\" width=\"{}\" role=\"img\" shape-rendering=\"crispEdges\">\n<title>{}, {n} tokens</title>\n\
             <style>rect{{fill:#eef1f5}}path{{fill:#1f5fa8}}@media(prefers-color-scheme:dark){{rect{{fill:#252b33}}path{{fill:#7db7f2}}}}</style>\n",
            width + 2,
            n + 2,
            (8 * (width + 2)).min(1600),
            self.name(),
        );
        for layer in 0..self.period() {
            let left = layer * (n + gap);
            // Neighbours of a row are one rectangle.
            let mut runs = String::new();
            for i in 0..n {
                for run in self.layer(layer).keys(i).chunk_by(|a, b| a + 1 == *b) {
                    let _ = write!(runs, "M{} {i}h{}v1h-{}z", left + run[0], run.len(), run.len());
                }
            }
            let _ = writeln!(
                svg,
                "<g><title>{}</title><rect x=\"{left}\" y=\"0\" width=\"{n}\" height=\"{n}\"/><path d=\"{runs}\"/></g>",
                title(layer)
            );
        }
        svg + "</svg>\n"
    }
}
