//! The lines of any command: `{"comity":…}` lines are events, everything else is text.

use super::Happened;
use comity_core::money::Usd;
use comity_core::run::Tokens;
use comity_core::time::Timestamp;
use serde_json::Value;

/// Reads what a command prints. A cost without the name of its call gets one, so that each counts once.
#[derive(Debug, Default)]
pub struct CommandLines {
    unnamed: u64,
}

impl CommandLines {
    pub fn read(&mut self, line: &str) -> Happened {
        let trimmed = line.trim();
        let value = trimmed.starts_with('{').then(|| serde_json::from_str::<Value>(trimmed).ok());
        let event = value.flatten().and_then(|value| self.event(&value));
        event.unwrap_or_else(|| Happened::Text(line.to_owned()))
    }

    fn event(&mut self, value: &Value) -> Option<Happened> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let count = |key: &str| value.get(key).and_then(Value::as_u64).unwrap_or_default();
        match value.get("comity")?.as_str()? {
            "session" => Some(Happened::Session(text("id")?)),
            "tool" => {
                let ended = text("state").as_deref() == Some("end");
                let input = value.get("input").map(Value::to_string);
                Some(Happened::Tool { id: text("id")?, name: text("name")?, input, ended })
            }
            "usage" => {
                let tokens = Tokens {
                    input: count("input"),
                    cached: count("cached"),
                    cache_write: count("cache_write"),
                    output: count("output"),
                };
                Some(Happened::Usage {
                    call: self.call(text("call")),
                    model: text("model"),
                    tokens,
                })
            }
            "cost" => {
                let usd = value.get("usd").and_then(Value::as_f64).and_then(Usd::from_dollars)?;
                Some(Happened::Cost { call: self.call(text("call")), usd })
            }
            "limited" => {
                let until = text("until").as_deref().and_then(Timestamp::parse);
                Some(Happened::Limited { until })
            }
            _ => None,
        }
    }

    fn call(&mut self, named: Option<String>) -> String {
        named.unwrap_or_else(|| {
            self.unnamed += 1;
            format!("unnamed-{}", self.unnamed)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Happened {
        CommandLines::default().read(line)
    }

    #[test]
    fn the_lines_of_the_interface_are_events() {
        assert_eq!(
            read(r#"{"comity":"usage","call":"c1","model":"m","input":1,"output":2}"#),
            Happened::Usage {
                call: "c1".to_owned(),
                model: Some("m".to_owned()),
                tokens: Tokens { input: 1, output: 2, ..Tokens::default() },
            }
        );
        let usd = Usd::from_micros(300_000);
        let cost = |call: &str| Happened::Cost { call: call.to_owned(), usd };
        assert_eq!(read(r#"{"comity":"cost","usd":0.3,"call":"c1"}"#), cost("c1"));
        assert_eq!(read(r#"{"comity":"cost","usd":0.3}"#), cost("unnamed-1"));
        assert_eq!(read(r#"{"comity":"session","id":"s"}"#), Happened::Session("s".to_owned()));
        assert_eq!(
            read(r#"{"comity":"tool","id":"1","name":"Bash","state":"end"}"#),
            Happened::Tool {
                id: "1".to_owned(),
                name: "Bash".to_owned(),
                input: None,
                ended: true
            }
        );
        let until = Timestamp::parse("2026-11-18T12:00:00Z");
        let limited = read(r#"{"comity":"limited","until":"2026-11-18T12:00:00Z"}"#);
        assert_eq!(limited, Happened::Limited { until });
    }

    #[test]
    fn whatever_else_a_line_holds_is_text_and_no_byte_of_it_stops_the_reader() {
        let whole = r#"{"comity":"usage","call":"c1","model":"m","input":1,"output":2}"#;
        for cut in 0..whole.len() {
            let line = &whole[..cut];
            assert_eq!(read(line), Happened::Text(line.to_owned()), "{line}");
        }
        for line in [
            "",
            "{}",
            r#"{"comity":7}"#,
            r#"{"comity":"cost","usd":-1}"#,
            r#"{"comity":"cost","usd":1e400}"#,
            r#"{"comity":"moon"}"#,
            "plain words",
        ] {
            assert_eq!(read(line), Happened::Text(line.to_owned()), "{line}");
        }
    }
}
