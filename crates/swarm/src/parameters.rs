//! Random values for parameters, from nothing but their metadata: a scheme that is new in the table is drawn for like
//! the others.

use crate::draw::Draw;
use airtcp_core::parameters::Field;
use airtcp_core::{ByteSize, Duration, Probability, Rate};
use airtcp_tcp::congestion::{ControllerChoice, ControllerEntry};

/// How far from their defaults values may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// As far as progress can be demanded.
    Moderate,
    /// Anything that reads, the ends of the range included; only safety can be demanded.
    Extreme,
}

/// What values are measured against.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// See [`Reach`].
    pub reach: Reach,
    /// Rate of the link the scheme sits on.
    pub rate: Option<Rate>,
    /// Packets that every moderate buffer has room for.
    pub least_packets: u64,
    /// Bytes of a full packet.
    pub mtu: u32,
}

impl Scale {
    /// No moderate size is below this many bytes.
    pub fn least_size(&self) -> u64 {
        self.least_packets * u64::from(self.mtu)
    }
}

/// Values for some of `fields`, as key and text; the others keep their defaults.
pub fn draw_settings(draw: &mut Draw, fields: &[Field], scale: &Scale) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    for field in fields {
        let changes = draw.percent(40);
        let value = value(draw, field, scale);
        if let Some(value) = value.filter(|_| changes) {
            settings.push((field.name.to_owned(), value));
        }
    }
    settings
}

/// The controller of `entry` with some of its parameters changed, within reach; with its defaults if it refuses them.
pub fn draw_controller(draw: &mut Draw, entry: &ControllerEntry) -> ControllerChoice {
    let scale = Scale { reach: Reach::Extreme, rate: None, least_packets: 2, mtu: 1500 };
    let settings = draw_settings(draw, &entry.fields(), &scale);
    entry.with(settings).unwrap_or_else(|_| (*entry).into())
}

/// A value of the field's kind; none for kinds that have no range to draw from (text, tables).
fn value(draw: &mut Draw, field: &Field, scale: &Scale) -> Option<String> {
    let (kind, detail) = field.kind.split_once(',').unwrap_or((field.kind, ""));
    let is_extreme = scale.reach == Reach::Extreme && draw.percent(25);
    Some(match kind.trim() {
        _ if field.kind.starts_with("one of") => choice(draw, field.kind)?,
        "boolean" => draw.pick(&["true", "false"]).to_owned(),
        "integer" => integer(draw, field, detail, scale, is_extreme).to_string(),
        "duration" => duration(draw, field, is_extreme).to_string(),
        "size" => size(draw, field, scale, is_extreme).to_string(),
        "rate" => rate(draw, scale, is_extreme).to_string(),
        "probability" => probability(draw, field, is_extreme).to_string(),
        _ => return None,
    })
}

/// The words in quotes of `one of "a", "b"`.
fn choice(draw: &mut Draw, kind: &str) -> Option<String> {
    let words: Vec<&str> = kind.split('"').skip(1).step_by(2).collect();
    (!words.is_empty()).then(|| draw.pick(&words).to_owned())
}

/// Up to eight times more or less than the default.
fn around(draw: &mut Draw, default: u64) -> u64 {
    draw.magnitude((default / 8).max(1), default.saturating_mul(8).max(1))
}

fn integer(draw: &mut Draw, field: &Field, detail: &str, scale: &Scale, is_extreme: bool) -> u64 {
    let highest = detail.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(u64::from(u32::MAX));
    if is_extreme {
        return draw.pick(&[0, 1, highest]);
    }
    match field.value.parse() {
        Ok(default) => around(draw, default).min(highest),
        Err(_) if field.name.ends_with("_packets") => draw.magnitude(scale.least_packets, 100 * scale.least_packets),
        Err(_) => draw.magnitude(1, 1000).min(highest),
    }
}

fn duration(draw: &mut Draw, field: &Field, is_extreme: bool) -> Duration {
    const YEAR: u64 = 365 * 24 * 3600;
    if is_extreme {
        let seconds = Duration::from_secs;
        return draw.pick(&[Duration::ZERO, Duration::from_nanos(1), seconds(3600), seconds(YEAR)]);
    }
    match field.value.parse::<Duration>() {
        Ok(default) => Duration::from_nanos(around(draw, default.as_nanos())),
        Err(_) => draw.span(Duration::from_millis(1), Duration::from_secs(1)),
    }
}

fn size(draw: &mut Draw, field: &Field, scale: &Scale, is_extreme: bool) -> ByteSize {
    if is_extreme {
        return ByteSize(draw.pick(&[0, 1, 1499, 1 << 40]));
    }
    let drawn = match field.value.parse::<ByteSize>() {
        Ok(default) => around(draw, default.0),
        Err(_) => draw.magnitude(scale.least_size(), 4 * scale.least_size()),
    };
    ByteSize(drawn.max(scale.least_size()))
}

fn rate(draw: &mut Draw, scale: &Scale, is_extreme: bool) -> Rate {
    if is_extreme {
        return Rate::from_bps(draw.pick(&[1, 1000, 1_000_000_000_000]));
    }
    match scale.rate {
        Some(rate) => Rate::from_bps(draw.pick(&[rate.bps() / 2, rate.bps(), rate.bps().saturating_mul(2)]).max(1)),
        None => Rate::from_bps(draw.magnitude(100_000, 100_000_000)),
    }
}

fn probability(draw: &mut Draw, field: &Field, is_extreme: bool) -> Probability {
    if is_extreme {
        return draw.pick(&[Probability::NEVER, Probability::ALWAYS]);
    }
    match field.value.parse::<Probability>() {
        Ok(default) if !default.is_never() => Probability::from_fixed(around(draw, default.fixed())),
        _ => Probability::ratio(draw.between(0, 20), 100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_schemes::SCHEMES;
    use airtcp_tcp::Config;

    fn scale(reach: Reach) -> Scale {
        Scale { reach, rate: Some(Rate::from_bps(1_000_000)), least_packets: 2, mtu: 1500 }
    }

    #[test]
    fn every_drawn_value_is_one_that_a_file_could_hold() {
        use airtcp_core::parameters::Parameters;
        let mut draw = Draw::new(1, "values");
        for reach in [Reach::Moderate, Reach::Extreme] {
            for _ in 0..500 {
                let mut config = Config::default();
                for (key, value) in draw_settings(&mut draw, &Config::default().fields(), &scale(reach)) {
                    config.set(&key, &value.as_str().into()).unwrap_or_else(|error| panic!("{key} = {value}: {error}"));
                }
            }
        }
    }

    #[test]
    fn moderate_buffers_have_room_in_packets_as_in_bytes() {
        let mut draw = Draw::new(1, "buffers");
        let scale = Scale { least_packets: 8, ..scale(Reach::Moderate) };
        let fields: Vec<Field> = SCHEMES.iter().flat_map(|entry| entry.fields()).collect();
        let mut drawn = 0;
        for _ in 0..200 {
            for (key, value) in draw_settings(&mut draw, &fields, &scale) {
                if key == "buffer_packets" {
                    drawn += 1;
                    assert!(value.parse::<u64>().unwrap() >= 8, "{value}");
                }
            }
        }
        assert!(drawn > 20, "{drawn}");
    }

    #[test]
    fn every_scheme_has_parameters_that_are_drawn() {
        let mut draw = Draw::new(1, "schemes");
        for entry in SCHEMES {
            let fields = entry.fields();
            let drawn: usize = (0..50).map(|_| draw_settings(&mut draw, &fields, &scale(Reach::Moderate)).len()).sum();
            assert!(fields.is_empty() || drawn > 0, "{}", entry.slug);
        }
    }
}
