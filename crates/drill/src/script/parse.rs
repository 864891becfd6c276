//! From text to steps.

use super::assertion::Assertion;
use super::cursor::Cursor;
use super::segment::SegmentSpec;
use super::{Action, Call, Outcome, Script, ScriptError, SocketOption, Step, When};
use airtcp_core::Duration;

pub(super) fn script(text: &str) -> Result<Script, ScriptError> {
    let mut script = Script::default();
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        let at_line = |message| ScriptError { line: line_number, message };
        let line = line.split("//").next().unwrap_or_default().trim();
        if line.is_empty() {
        } else if let Some(option) = line.strip_prefix("--") {
            set_option(&mut script, option).map_err(at_line)?;
        } else {
            let (when, action) = step(&mut Cursor::new(line)).map_err(at_line)?;
            let is_first_or_expected = script.steps.is_empty() || matches!(action, Action::Expect(_));
            if matches!(when, When::Any | When::Between(..)) && !is_first_or_expected {
                return Err(at_line("only an expected segment can come at any time; say when".into()));
            }
            script.steps.push(Step { line: line_number, when, action });
        }
    }
    Ok(script)
}

fn set_option(script: &mut Script, option: &str) -> Result<(), String> {
    match option.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
        Some(("ip_version", "ipv4")) => script.is_ipv6 = false,
        Some(("ip_version", "ipv6")) => script.is_ipv6 = true,
        Some(("mtu", value)) => script.mtu = Some(Cursor::new(value).value()?),
        _ => return Err(format!("unknown option '--{option}'; there are --ip_version=ipv4|ipv6 and --mtu=BYTES")),
    }
    Ok(())
}

fn step(cursor: &mut Cursor) -> Result<(When, Action), String> {
    if cursor.take("`") {
        return Ok((When::After(Duration::ZERO), Action::Settings(settings(cursor.until("`")?)?)));
    }
    let when = when(cursor)?;
    let action = if cursor.take("< ") {
        let segment = SegmentSpec::parse(cursor)?;
        if segment.window.is_none() && !segment.flags.rst() {
            return Err("an injected segment says its window: win N".into());
        }
        Action::Inject(segment)
    } else if cursor.take("> ") {
        Action::Expect(SegmentSpec::parse(cursor)?)
    } else if cursor.take("`") {
        Action::Settings(settings(cursor.until("`")?)?)
    } else if cursor.take("%{") {
        Action::Assert(Assertion::parse_all(cursor.until("}%")?)?)
    } else {
        let (call, outcome) = call(cursor)?;
        Action::Call(call, outcome)
    };
    if cursor.is_empty() { Ok((when, action)) } else { Err(format!("'{}' is left over", cursor.rest())) }
}

fn when(cursor: &mut Cursor) -> Result<When, String> {
    if cursor.take("*") {
        return Ok(When::Any);
    }
    if !cursor.take("+") {
        return Ok(When::At(seconds(cursor)?));
    }
    let from = seconds(cursor)?;
    if !cursor.take("~") {
        return Ok(When::After(from));
    }
    cursor.need("+")?;
    let to = seconds(cursor)?;
    if from <= to { Ok(When::Between(from, to)) } else { Err("a time range ends before it begins".into()) }
}

/// Seconds with up to nine decimals.
fn seconds(cursor: &mut Cursor) -> Result<Duration, String> {
    let start = cursor.rest();
    let word = cursor.word(|c| c.is_ascii_digit() || c == '.');
    let (whole, fraction) = word.split_once('.').unwrap_or((word, ""));
    let nanos = format!("{whole:0>1}{fraction:0<9}").parse().ok().filter(|_| !word.is_empty() && fraction.len() <= 9);
    nanos.map(Duration::from_nanos).ok_or_else(|| format!("expected a time in seconds at '{start}'"))
}

/// `sysctl -q net.ipv4.tcp_ecn=1 …`
fn settings(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut words = text.split_whitespace();
    if words.next() != Some("sysctl") {
        return Err("of commands only 'sysctl -q NAME=VALUE …' is understood".into());
    }
    let pairs = words.filter(|word| !word.starts_with('-'));
    pairs
        .map(|pair| match pair.split_once('=') {
            Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
            None => Err(format!("'{pair}' is not NAME=VALUE")),
        })
        .collect()
}

fn call(cursor: &mut Cursor) -> Result<(Call, Outcome), String> {
    let name = cursor.word(|c| c.is_ascii_alphanumeric() || c == '_');
    cursor.need("(")?;
    let arguments: Vec<&str> = cursor.until(")")?.split(',').map(str::trim).collect();
    cursor.need("=")?;
    let value = cursor.number()?;
    let outcome = if value == -1 {
        let errno = cursor.word(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
        if cursor.take("(") {
            cursor.until(")")?;
        }
        Outcome::Error(errno.to_owned())
    } else {
        Outcome::Value(value)
    };
    let count = |index: usize| -> Result<u64, String> {
        let argument = arguments.get(index).ok_or_else(|| format!("{name}() needs {} arguments", index + 1))?;
        Cursor::new(argument).value()
    };
    let call = match name {
        "socket" => Call::Socket,
        "bind" | "fcntl" => Call::Nothing,
        "listen" => Call::Listen,
        "accept" => Call::Accept,
        "connect" => Call::Connect,
        "write" | "send" => Call::Write(count(2)?),
        "read" | "recv" => Call::Read(count(2)?),
        "shutdown" if arguments.get(1) == Some(&"SHUT_WR") => Call::Shutdown,
        "close" => Call::Close,
        "setsockopt" => socket_option(&arguments)?,
        _ => return Err(format!("'{name}' is no call here; docs/drills.md lists them")),
    };
    Ok((call, outcome))
}

const OPTIONS: [(&str, SocketOption); 6] = [
    ("SO_KEEPALIVE", SocketOption::Keepalive),
    ("TCP_KEEPIDLE", SocketOption::KeepaliveTime),
    ("TCP_KEEPINTVL", SocketOption::KeepaliveInterval),
    ("TCP_KEEPCNT", SocketOption::KeepaliveProbes),
    ("TCP_LINGER2", SocketOption::FinTimeout),
    ("SO_MAX_PACING_RATE", SocketOption::MaxPacingRate),
];

/// `setsockopt(3, SOL_TCP, TCP_KEEPIDLE, [1], 4)`
fn socket_option(arguments: &[&str]) -> Result<Call, String> {
    let (name, value) = (arguments.get(2).unwrap_or(&""), arguments.get(3).unwrap_or(&""));
    match *name {
        "TCP_CONGESTION" => return Ok(Call::SetController(value.trim_matches('"').to_owned())),
        "SO_REUSEADDR" | "TCP_NODELAY" => return Ok(Call::Nothing),
        _ => {}
    }
    let Some((_, option)) = OPTIONS.iter().find(|(known, _)| known == name) else {
        let known = OPTIONS.map(|(known, _)| known).join(", ");
        return Err(format!("setsockopt() knows TCP_CONGESTION, SO_REUSEADDR, TCP_NODELAY, {known}, not '{name}'"));
    };
    let value = value.strip_prefix('[').and_then(|value| value.strip_suffix(']'));
    let value = value.ok_or_else(|| format!("{name} is set to a number: [N]"))?;
    Ok(Call::SetOption(*option, Cursor::new(value).value()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(line: &str) -> Step {
        script(line).unwrap().steps.remove(0)
    }

    #[test]
    fn times_are_read_exactly() {
        assert_eq!(only("+.1 < . 1:1(0) ack 1 win 5").when, When::After(Duration::from_millis(100)));
        assert_eq!(only("0.000001 > . 1:1(0) ack 1").when, When::At(Duration::from_micros(1)));
        let range = When::Between(Duration::from_secs(1), Duration::from_millis(1500));
        assert_eq!(only("+1~+1.5 > . 1:1(0) ack 1").when, range);
        assert_eq!(only("* > . 1:1(0) ack 1").when, When::Any);
    }

    #[test]
    fn calls_and_settings_are_read() {
        let write = Action::Call(Call::Write(1000), Outcome::Value(1000));
        assert_eq!(only("+0 write(4, ..., 1000) = 1000 // all").action, write);
        let connect = Action::Call(Call::Connect, Outcome::Error("EINPROGRESS".into()));
        assert_eq!(only("+0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)").action, connect);
        let reno = Action::Call(Call::SetController("reno".into()), Outcome::Value(0));
        assert_eq!(only("+0 setsockopt(3, SOL_TCP, TCP_CONGESTION, \"reno\", 4) = 0").action, reno);
        let keepalive = Action::Call(Call::SetOption(SocketOption::KeepaliveTime, 2), Outcome::Value(0));
        assert_eq!(only("+0 setsockopt(3, SOL_TCP, TCP_KEEPIDLE, [2], 4) = 0").action, keepalive);
        let ecn = Action::Settings(vec![("net.ipv4.tcp_ecn".into(), "1".into())]);
        assert_eq!(only("`sysctl -q net.ipv4.tcp_ecn=1`").action, ecn);
    }

    #[test]
    fn what_is_not_understood_is_named_with_its_line() {
        let error = |text: &str| script(text).unwrap_err().to_string();
        assert!(error("\n+0 ioctl(3) = 0").starts_with("2: 'ioctl' is no call"));
        assert!(error("+0 < . 1:1(0) ack 1").contains("win N"));
        assert!(error("--mss=3").contains("unknown option"));
        assert!(error("+0 setsockopt(3, SOL_TCP, TCP_CORK, [1], 4) = 0").contains("not 'TCP_CORK'"));
        assert!(error("+0 setsockopt(3, SOL_TCP, TCP_LINGER2, 1, 4) = 0").contains("[N]"));
        assert!(error("+x close(3) = 0").contains("a time in seconds"));
        assert!(error("+0 close(3) = 0 now").contains("left over"));
        assert!(error("+0 close(3) = 0\n* close(3) = 0").contains("say when"));
    }
}
