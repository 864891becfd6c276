//! Settings on their way from the supervisor to the worker: values of a file as values of JSON.
//!
//! A number goes as `{ "number": "4" }`, since it stays as it was written, and a table, such as a queue, as
//! `{ "table": [["kind", "fq-codel"]] }`, since it keeps its order.

use airtcp_core::Value;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Json {
    Boolean(bool),
    Text(String),
    List(Vec<Json>),
    Number { number: String },
    Table { table: Vec<(String, Json)> },
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Json {
        match value {
            Value::Boolean(value) => Json::Boolean(*value),
            Value::Text(text) => Json::Text(text.clone()),
            Value::Number(number) => Json::Number { number: number.clone() },
            Value::List(items) => Json::List(items.iter().map(Json::from).collect()),
            Value::Table(entries) => {
                Json::Table { table: entries.iter().map(|(key, value)| (key.clone(), value.into())).collect() }
            }
        }
    }
}

impl From<Json> for Value {
    fn from(json: Json) -> Value {
        match json {
            Json::Boolean(value) => Value::Boolean(value),
            Json::Text(text) => Value::Text(text),
            Json::Number { number } => Value::Number(number),
            Json::List(items) => Value::List(items.into_iter().map(Value::from).collect()),
            Json::Table { table } => Value::Table(table.into_iter().map(|(key, value)| (key, value.into())).collect()),
        }
    }
}

pub fn serialize<S: Serializer>(settings: &BTreeMap<String, Value>, serializer: S) -> Result<S::Ok, S::Error> {
    let json: BTreeMap<&String, Json> = settings.iter().map(|(key, value)| (key, value.into())).collect();
    json.serialize(serializer)
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, Value>, D::Error> {
    let json = BTreeMap::<String, Json>::deserialize(deserializer).map_err(D::Error::custom)?;
    Ok(json.into_iter().map(|(key, json)| (key, json.into())).collect())
}

#[cfg(test)]
mod tests {
    use crate::gateway::Config;
    use airtcp_core::Value;

    #[test]
    fn every_kind_of_value_reaches_the_worker_as_it_was_written() {
        let queue: Value = "{ kind = \"fq-codel\", flows = 7, ecn = false }".into();
        assert!(matches!(queue, Value::Table(_)));
        let mut config = Config::new("gsnoop", "air");
        let list = Value::List(vec![Value::Number("1.50".into()), "text".into()]);
        config.settings = [("queue".to_owned(), queue), ("list".to_owned(), list)].into();
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<Config>(&text).unwrap(), config);
    }
}
