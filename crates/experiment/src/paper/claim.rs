//! Reads the claims of a paper's file.

use super::change::Changes;
use super::keys::{CLAIM_KEYS, check_item, names, text};
use super::{Claim, ClaimKind, Experiment, Mode, Subject, check};
use crate::scenario::document::{Node, Value};
use crate::scenario::{Keys, Place, ScenarioError};

/// What a claim can refer to.
struct Context<'a> {
    mode: Mode,
    experiments: &'a [Experiment],
    changes: &'a Changes,
}

/// The claims in the order of the file.
pub(super) fn claims(
    keys: &Keys<'_>,
    mode: Mode,
    experiments: &[Experiment],
    changes: &Changes,
) -> Result<Vec<Claim>, ScenarioError> {
    let context = Context { mode, experiments, changes };
    let entry = keys.required("claims", "[[claims]]")?;
    let expected = "tables, each under [[claims]]";
    let Value::List(items) = &entry.node.value else { return Err(keys.wrong_type(entry, expected)) };
    let mut claims: Vec<Claim> = Vec::new();
    for item in items {
        let Value::Table(table) = &item.value else { return Err(keys.wrong_type(entry, expected)) };
        let keys = Keys { table, place: Place::item_of("claims"), origin: &item.origin, show: "paper".into() };
        let claim = context.claim(&keys)?;
        if claims.iter().any(|other| other.id == claim.id) {
            return Err(keys.refuse("id", format!("'{}' is there twice", claim.id)));
        }
        claims.push(claim);
    }
    Ok(claims)
}

impl Context<'_> {
    fn claim(&self, keys: &Keys<'_>) -> Result<Claim, ScenarioError> {
        keys.only(&names(CLAIM_KEYS))?;
        let id = text(keys, "id", CLAIM_KEYS)?;
        check_item(keys, keys.table.get("id").expect("read above"), &id, &['C'])?;
        let keys = &Keys {
            place: Place::Item { list: "claims".into(), name: Some(id.clone()) },
            show: keys.show.clone(),
            ..*keys
        };
        keys.required("kind", "kind = \"trend\"")?;
        let kind: ClaimKind = keys.value("kind")?.expect("required above");
        if matches!(kind, ClaimKind::Exact | ClaimKind::Trend) {
            keys.required("comparative", "comparative = true")?;
        }
        let mut leans_on = Vec::new();
        for (item, _) in listed(keys, "leans_on")? {
            check_item(keys, keys.table.get("leans_on").expect("it has items"), &item, &['U', 'X'])?;
            leans_on.push(item);
        }
        let variants = |key: &str| {
            let index = |(name, node): (String, &Node)| self.changes.variant_called(keys, &name, key, &node.origin);
            listed(keys, key)?.into_iter().map(index).collect::<Result<Vec<usize>, _>>()
        };
        let mutation = listed(keys, "mutation")?.into_iter().next();
        let mutation =
            mutation.map(|(name, node)| self.changes.mutation_called(keys, &name, &node.origin)).transpose()?;
        let comparative = keys.value("comparative")?.unwrap_or(false);
        let mutation_explained: Option<String> = keys.value("mutation_explained")?;
        let sweep = |(name, node): (String, &Node)| self.changes.sweep_called(keys, &name, &node.origin);
        let subject = self.subject(keys, &id)?;
        if comparative && mutation.is_none() && mutation_explained.is_none() {
            let sentence = "a comparative claim names the mutation under which it must not hold, or says in \
                            mutation_explained why it has none";
            return Err(keys.refuse("comparative", sentence));
        }
        Ok(Claim {
            sentence: text(keys, "sentence", CLAIM_KEYS)?,
            kind,
            comparative,
            mutation,
            mutation_explained,
            leans_on,
            with: variants("with")?.into_iter().next(),
            sensitivity: variants("sensitivity")?,
            sweeps: listed(keys, "sweeps")?.into_iter().map(sweep).collect::<Result<_, _>>()?,
            not_quick: keys.value("not_quick")?,
            subject,
            id,
        })
    }

    fn subject(&self, keys: &Keys<'_>, id: &str) -> Result<Subject, ScenarioError> {
        if let Some(entry) = keys.table.get("not_checkable") {
            if let Some(checks) = keys.table.get("checks") {
                return Err(keys.bad(checks, "it is said to be not checkable; keep one of the two"));
            }
            let below = keys.below(entry, "paper")?;
            below.only(&["item", "reason"])?;
            let item = below.scalar(below.required("item", "item = \"GSN-U1\"")?, "text")?;
            check_item(&below, below.table.get("item").expect("read above"), &item, &['U', 'X'])?;
            let reason = below.scalar(below.required("reason", "reason = \"…\"")?, "text")?;
            return Ok(Subject::NotCheckable { item, reason });
        }
        let entry = keys.required("checks", "checks = [{ kind = \"ratio\", … }]")?;
        let expected = "a list of checks, [{ kind = \"ratio\", … }]";
        let Value::List(items) = &entry.node.value else { return Err(keys.wrong_type(entry, expected)) };
        if items.is_empty() {
            return Err(keys.bad(entry, "nothing would decide the claim"));
        }
        let mut checks = Vec::new();
        for item in items {
            let Value::Table(table) = &item.value else { return Err(keys.wrong_type(entry, expected)) };
            let keys = Keys {
                table,
                place: Place::Described(format!("a check of {id}")),
                origin: &item.origin,
                show: "paper".into(),
            };
            checks.push(check::read(&keys, self.experiments, self.mode.quick)?);
        }
        Ok(Subject::Checks(checks))
    }
}

/// The names under `key`; none if it is not there.
fn listed<'a>(keys: &Keys<'a>, key: &str) -> Result<Vec<(String, &'a Node)>, ScenarioError> {
    keys.table.get(key).map_or(Ok(Vec::new()), |entry| keys.texts(entry, "a name or a list of names"))
}
