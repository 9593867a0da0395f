//! Markdown tables with aligned columns.

/// A table that is printed when it is complete.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Starts a table with its column heads.
    pub fn new(heads: &[&str]) -> Table {
        Table { rows: vec![heads.iter().map(|head| (*head).to_owned()).collect()] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Prints it under a heading.
    pub fn print(&self, heading: &str) {
        println!("\n## {heading}\n");
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cell = |row: &Vec<String>, at: usize| row.get(at).cloned().unwrap_or_default();
        let width = |at: usize| {
            self.rows.iter().map(|row| cell(row, at).chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for (place, row) in self.rows.iter().enumerate() {
            let cells: Vec<String> = widths
                .iter()
                .enumerate()
                .map(|(at, width)| {
                    let text = cell(row, at);
                    let gap = " ".repeat(width.saturating_sub(text.chars().count()));
                    if at == 0 { format!("{text}{gap}") } else { format!("{gap}{text}") }
                })
                .collect();
            println!("| {} |", cells.join(" | "));
            if place == 0 {
                let rules: Vec<String> = widths
                    .iter()
                    .enumerate()
                    .map(|(at, width)| {
                        let dashes = "-".repeat((*width).max(2));
                        if at == 0 { format!("-{dashes}-") } else { format!("-{dashes}:") }
                    })
                    .collect();
                println!("|{}|", rules.join("|"));
            }
        }
    }
}
