//! Pictures of a pattern: a row per query, a column per key, the layers of the cycle side by side.

use std::fmt::Write;

use super::Pattern;

impl Pattern {
    /// The pattern as text, one character per connection.
    pub fn to_text(&self) -> String {
        let row = |layer: usize, i: usize| -> String {
            (0..self.tokens()).map(|j| if self.layer(layer).sees(i, j) { '■' } else { '·' }).collect()
        };
        let rows =
            (0..self.tokens()).map(|i| (0..self.period()).map(|layer| row(layer, i)).collect::<Vec<_>>().join("   "));
        rows.fold(String::new(), |text, row| text + &row + "\n")
    }

    /// The pattern as an SVG picture, with the counts.
    pub fn to_svg(&self) -> String {
        let style = "<style>.unseen{fill:#eef1f5}.seen{fill:#1f5fa8}@media(prefers-color-scheme:dark){.unseen{fill:#252b33}.seen{fill:#7db7f2}}</style>";
        self.svg(style)
    }

    /// As [`Pattern::to_svg`], with this style, or none where the page has one.
    pub(crate) fn svg(&self, style: &str) -> String {
        let (n, gap) = (self.tokens(), 2);
        let (width, height) = (self.period() * (n + gap) - gap + 2, n + 2);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-1 -1 {width} {height}\" width=\"{}\" role=\"img\" \
             shape-rendering=\"crispEdges\"><title>{}, {n} tokens</title>{style}\n",
            (8 * width).clamp(160, 1200),
            self.name().replace('&', "&amp;").replace('<', "&lt;"),
        );
        for layer in 0..self.period() {
            let (left, count) = (layer * (n + gap), self.layer(layer).count());
            let title = format!("layer {} of {}: {count} connections of {}", layer + 1, self.period(), n * n);
            // Neighbours in a row are drawn as one rectangle.
            let mut runs = String::new();
            for i in 0..n {
                for run in self.layer(layer).keys(i).chunk_by(|a, b| a + 1 == *b) {
                    let _ = write!(runs, "M{} {i}h{}v1h-{}z", left + run[0], run.len(), run.len());
                }
            }
            let all = format!("<rect class=\"unseen\" x=\"{left}\" y=\"0\" width=\"{n}\" height=\"{n}\"/>");
            let _ = writeln!(svg, "<g><title>{title}</title>{all}<path class=\"seen\" d=\"{runs}\"/></g>");
        }
        svg + "</svg>\n"
    }
}
