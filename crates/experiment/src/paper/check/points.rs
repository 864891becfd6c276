//! Where a check is applied: the points of its lines.

use super::Point;
use super::read::Reader;
use crate::paper::number;
use crate::paper::selection::{At, CellRef, Selection};
use crate::scenario::ScenarioError;

impl Reader<'_> {
    /// Every combination of what the lines leave open, with the cell of each line; a rule that follows an axis gets
    /// the cells along it as one point.
    pub(super) fn points(
        &self,
        lines: &[Selection],
        restriction: &Selection,
        along: Option<&str>,
    ) -> Result<Vec<Point>, ScenarioError> {
        let first = &lines[0];
        let mut points: Vec<Point> = Vec::new();
        // Cells of each line along the axis, for the point being filled.
        let mut gathered: Vec<Vec<Vec<CellRef>>> = Vec::new();
        for cell in &self.experiments[first.experiment].scenario.cells {
            if !first.takes(&cell.at) || !restriction.takes(&cell.at) {
                continue;
            }
            let open: At = cell.at.iter().filter(|(axis, _)| !first.names(axis)).cloned().collect();
            let at: At = open.iter().filter(|(axis, _)| Some(axis.as_str()) != along).cloned().collect();
            let x = open.iter().find(|(axis, _)| Some(axis.as_str()) == along).map(|(_, label)| label.as_str());
            let index = points.iter().position(|point| point.at == at).unwrap_or_else(|| {
                points.push(Point { at, cells: Vec::new(), x: Vec::new() });
                gathered.push(vec![Vec::new(); lines.len()]);
                points.len() - 1
            });
            let place = points[index].x.len() as f64;
            points[index].x.push(x.and_then(number::of_label).unwrap_or(place));
            for (line, cells) in lines.iter().zip(&mut gathered[index]) {
                cells.push(self.cell_at(line, &open)?);
            }
        }
        for (point, cells) in points.iter_mut().zip(gathered) {
            point.cells = cells.concat();
            if along.is_some() && point.x.len() < 2 {
                let entry = self.required("along")?;
                return Err(self.keys.bad(entry, "fewer than two steps are left to follow"));
            }
        }
        if points.is_empty() {
            let entry = self.keys.table.get("at").unwrap_or(self.required("experiment")?);
            return Err(self.keys.bad(entry, "no cell is left to compare"));
        }
        Ok(points)
    }

    /// The one cell of `line` that agrees with `open` in everything the line leaves open.
    fn cell_at(&self, line: &Selection, open: &At) -> Result<CellRef, ScenarioError> {
        let cells = &self.experiments[line.experiment].scenario.cells;
        let agrees = |at: &At| {
            line.takes(at)
                && at.iter().all(|(axis, label)| {
                    line.names(axis) || open.iter().any(|(other, value)| other == axis && value == label)
                })
        };
        let found = cells.iter().position(|cell| agrees(&cell.at));
        found.map(|cell| CellRef { experiment: line.experiment, cell }).ok_or_else(|| {
            let labels: Vec<&str> = open.iter().map(|(_, label)| label.as_str()).collect();
            let id = &self.experiments[line.experiment].id;
            let sentence = format!("'{}' has no cell of {id} at {}", line.describe(), labels.join(", "));
            let entry = self.keys.table.get("kind").expect("every check has a kind");
            self.keys.bad(entry, sentence)
        })
    }
}
