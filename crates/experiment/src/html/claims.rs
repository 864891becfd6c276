//! The claims of a paper as HTML: verdict, number and interval, and folded away what decided.

use crate::markup::escape;
use crate::paper::output::verdict_in_words;
use serde_json::Value;
use std::fmt::Write;

/// The section; `claims` is what `claims.json` holds.
pub fn html(claims: &Value) -> String {
    let text = |node: &Value| escape(node.as_str().unwrap_or_default());
    let paper = &claims["paper"];
    let mut body = format!(
        "<header><h1>{}</h1><p class=\"about\">{}</p><p class=\"facts\">{}</p></header>",
        text(&paper["title"]),
        text(&paper["citation"]),
        escape(&facts(claims)),
    );
    body.push_str("<section class=\"claims\"><h2>Claims</h2><div class=\"scroll\"><table class=\"text\"><thead><tr>");
    for title in ["claim", "verdict", "value", "95 % interval", "what the paper says"] {
        let _ = write!(body, "<th>{title}</th>");
    }
    body.push_str("</tr></thead><tbody>");
    for claim in claims["claims"].as_array().into_iter().flatten() {
        let columns = [text(&claim["id"]), escape(&verdict(claim)), number(&claim["value"]), interval(claim)];
        let columns: String = columns.iter().map(|text| format!("<td>{text}</td>")).collect();
        let _ = write!(body, "<tr>{columns}<td>{}{}</td></tr>", text(&claim["sentence"]), details(claim));
    }
    body.push_str("</tbody></table></div></section>");
    body
}

fn facts(claims: &Value) -> String {
    let mut parts = vec![format!("{} claims", claims["claims"].as_array().map_or(0, Vec::len))];
    if claims["mutations"] == true {
        parts.push("mutations: the mechanism of each claim switched off, so none of them may hold".into());
    }
    if claims["control"] == true {
        parts.push("control: every scheme replaced by plain forwarding, so no comparative claim may hold".into());
    }
    if claims["quick"] == true {
        parts.push("quick: few and short runs, no sweeps; every verdict is indicative only".into());
    }
    parts.push("a check holds only if its whole 95 % interval is on the right side".into());
    parts.join(" · ")
}

fn verdict(claim: &Value) -> String {
    if claim["vacuous"] == true {
        return "vacuous: holds without what it is about".into();
    }
    let words = verdict_in_words(claim);
    match claim["ratio"].as_f64() {
        Some(ratio) if words == "ours beside theirs" => format!("{words}, ratio {ratio}"),
        _ => words,
    }
}

fn number(value: &Value) -> String {
    value.as_f64().map_or_else(|| "–".into(), |value| format!("{value}"))
}

fn interval(node: &Value) -> String {
    match node["ci95"].as_array() {
        Some(ends) if ends.iter().all(Value::is_number) => {
            format!("{} to {}", number(&node["ci95"][0]), number(&node["ci95"][1]))
        }
        _ => "–".into(),
    }
}

/// Checks, points, what the claim leans on and how sensitive it is.
fn details(claim: &Value) -> String {
    let mut rows = String::new();
    let mut row = |what: &str, node: &Value, outcome: &str| {
        let columns = [escape(what), escape(outcome), number(&node["value"]), interval(node)];
        let columns: String = columns.iter().map(|text| format!("<td>{text}</td>")).collect();
        let _ = write!(rows, "<tr>{columns}</tr>");
    };
    for check in claim["checks"].as_array().into_iter().flatten() {
        row(check["text"].as_str().unwrap_or_default(), check, outcome(&check["holds"]));
        for point in check["points"].as_array().into_iter().flatten() {
            let labels = point["at"].as_object().into_iter().flatten();
            let labels: Vec<&str> = labels.filter_map(|(_, label)| label.as_str()).collect();
            row(&labels.join(", "), point, outcome(&point["holds"]));
        }
    }
    for variant in claim["sensitivity"].as_array().into_iter().flatten() {
        let (item, about) =
            (variant["item"].as_str().unwrap_or_default(), variant["about"].as_str().unwrap_or_default());
        row(&format!("{item}: {about}"), variant, variant["verdict"].as_str().unwrap_or_default());
    }
    for (index, base) in claim["bases"].as_array().into_iter().flatten().enumerate().skip(1) {
        row(&format!("seeds, set {}", index + 1), base, base["verdict"].as_str().unwrap_or_default());
    }
    for sweep in claim["sweeps"].as_array().into_iter().flatten() {
        let about = sweep["about"].as_str().unwrap_or_default();
        for step in sweep["settings"].as_array().into_iter().flatten() {
            let setting = step["setting"].as_str().unwrap_or_default();
            row(&format!("{about}: {setting}"), step, step["verdict"].as_str().unwrap_or_default());
        }
    }
    let leans: Vec<&str> = claim["leans_on"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let leans = if leans.is_empty() {
        String::new()
    } else {
        format!("<p class=\"facts\">Leans on {}.</p>", escape(&leans.join(", ")))
    };
    let reason = claim["reason"].as_str().filter(|reason| !reason.is_empty());
    let reason = reason.map_or(String::new(), |reason| format!("<p class=\"note\">{}</p>", escape(reason)));
    format!(
        "{reason}<details><summary>How it was decided</summary><div class=\"scroll\"><table class=\"text\"><tbody>{rows}</tbody></table></div>{leans}</details>"
    )
}

fn outcome(holds: &Value) -> &'static str {
    match holds.as_bool() {
        Some(true) => "holds",
        Some(false) => "fails",
        None => "not run",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn claim() -> Value {
        json!({"id": "GSN-C1", "sentence": "a < b & c", "verdict": "holds only with", "item": "GSN-U3", "vacuous": false,
            "reason": "", "value": 1.5, "ci95": [1.2, null], "leans_on": ["GSN-U1"],
            "checks": [{"text": "x over y", "holds": true, "value": 1.5, "ci95": [1.2, 1.8], "points": [
                {"at": {"links.air.loss": "1%"}, "holds": false, "value": null, "ci95": null}]}],
            "sensitivity": [{"item": "GSN-U3", "about": "window 20", "verdict": "holds", "value": 2.0, "ci95": [2.0, 2.0]}]})
    }

    #[test]
    fn a_claim_shows_verdict_item_numbers_and_what_decided() {
        let page = html(&json!({"paper": {"title": "T", "citation": "C"}, "claims": [claim()]}));
        for part in [
            "holds only with GSN-U3",
            "1.2 to 1.8",
            "<td>1%</td><td>fails</td><td>–</td>",
            "GSN-U3: window 20",
            "Leans on GSN-U1.",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
    }

    #[test]
    fn other_seeds_settings_of_a_sweep_and_a_ratio_are_shown() {
        let mut claim = claim();
        claim["bases"] = json!([{"verdict": "holds"}, {"verdict": "does not hold", "value": 3.0, "ci95": [3.0, 4.0]}]);
        claim["sweeps"] =
            json!([{"about": "jitter", "settings": [{"setting": "2ms", "verdict": "holds", "value": 7.0}]}]);
        let page = html(&json!({"paper": {"title": "T", "citation": "C"}, "claims": [claim.clone()]}));
        for part in
            ["seeds, set 2</td><td>does not hold</td><td>3</td><td>3 to 4", "jitter: 2ms</td><td>holds</td><td>7"]
        {
            assert!(page.contains(part), "{part} in {page}");
        }
        claim["verdict"] = "ours beside theirs".into();
        (claim["item"], claim["ratio"]) = (Value::Null, 0.9.into());
        assert_eq!(verdict(&claim), "ours beside theirs, ratio 0.9");
    }

    #[test]
    fn text_of_the_paper_cannot_break_the_page() {
        let page = html(&json!({"paper": {"title": "<script>", "citation": "C"}, "claims": [claim()]}));
        assert!(page.contains("a &lt; b &amp; c") && !page.contains("<script>"), "{page}");
    }

    #[test]
    fn a_vacuous_claim_is_called_so() {
        let mut vacuous = claim();
        vacuous["vacuous"] = true.into();
        assert_eq!(verdict(&vacuous), "vacuous: holds without what it is about");
    }
}
