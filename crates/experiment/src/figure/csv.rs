//! A figure as CSV, one row per point: pane, line, value of the varied key as the scenario names it, the same as a number
//! with its unit, then the measure in its base unit (bits per second, nanoseconds, ratios) with its 95 % interval.

use super::Figure;

/// The text. Columns: the varied keys that make panes, lines and the axis to the right, `x`, `x_unit`, the measure,
/// `ci95_low`, `ci95_high`; what does not exist is empty.
pub fn text(figure: &Figure) -> String {
    let mut rows = csv::WriterBuilder::new().terminator(csv::Terminator::Any(b'\n')).from_writer(Vec::new());
    let own = |key: &Option<String>| key.clone().into_iter();
    let keys: Vec<String> = own(&figure.panes_by).chain(own(&figure.lines_by)).chain([figure.x.name.clone()]).collect();
    let numbers = ["x", "x_unit", figure.y.name.as_str(), "ci95_low", "ci95_high"];
    let mut put = |row: Vec<String>| rows.write_record(row).expect("writing to memory, rows of one length");
    put(keys.into_iter().chain(numbers.map(str::to_owned)).collect());
    for pane in &figure.panes {
        for line in &pane.lines {
            for point in &line.points {
                let number = |number: Option<f64>| number.map_or_else(String::new, |number| number.to_string());
                let (unit, ends) = (point.x.map(|_| figure.x.unit.clone()), point.ci95);
                let labels =
                    figure.panes_by.iter().map(|_| &pane.label).chain(figure.lines_by.iter().map(|_| &line.label));
                let values = [
                    number(point.x),
                    unit.unwrap_or_default(),
                    number(Some(point.y)),
                    number(ends.map(|ends| ends[0])),
                    number(ends.map(|ends| ends[1])),
                ];
                put(labels.chain([&point.label]).cloned().chain(values).collect());
            }
        }
    }
    let bytes = rows.into_inner().expect("writing to memory");
    String::from_utf8(bytes).expect("made of text")
}
