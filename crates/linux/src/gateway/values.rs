//! Settings on their way from the supervisor to the worker: values of a file as values of JSON.
//!
//! Settings of schemes are single values. A number goes as `{ "number": "4" }`, since it stays as it was written.

use airtcp_core::Value;
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Json {
    Boolean(bool),
    Text(String),
    Number { number: String },
}

pub fn serialize<S: Serializer>(settings: &BTreeMap<String, Value>, serializer: S) -> Result<S::Ok, S::Error> {
    let json = settings.iter().map(|(key, value)| match value {
        Value::Boolean(value) => Ok((key, Json::Boolean(*value))),
        Value::Text(text) => Ok((key, Json::Text(text.clone()))),
        Value::Number(number) => Ok((key, Json::Number { number: number.clone() })),
        Value::List(_) | Value::Table(_) => Err(S::Error::custom(format!("'{key}' is {}", value.kind()))),
    });
    json.collect::<Result<BTreeMap<_, _>, _>>()?.serialize(serializer)
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, Value>, D::Error> {
    let json = BTreeMap::<String, Json>::deserialize(deserializer).map_err(D::Error::custom)?;
    let value = |json| match json {
        Json::Boolean(value) => Value::Boolean(value),
        Json::Text(text) => Value::Text(text),
        Json::Number { number } => Value::Number(number),
    };
    Ok(json.into_iter().map(|(key, json)| (key, value(json))).collect())
}
