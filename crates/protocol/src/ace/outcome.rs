//! The comments that end an agent's work: a pull request is open, or the attempt failed.

use super::{COMPLETE, FAILED, Generation, OPENED};
use crate::markdown::{self, Line};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Done {
    pub number: Option<u64>,
    pub url: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Failed {
    pub error: String,
}

impl Done {
    /// Makes one of a pull request as comity knows it: its address, its number, or `#` and the number.
    pub fn of(pr: &str) -> Done {
        let pr = pr.trim();
        let number = pr.trim_start_matches('#').parse().ok();
        if number.is_some() {
            return Done { number, url: None };
        }
        Done { number: pull_request_number(pr), url: Some(pr.to_owned()) }
    }

    pub(super) fn opened(what: &str) -> Done {
        Done::of(what.split_whitespace().next().unwrap_or_default())
    }

    pub(super) fn read(rest: &[Line<'_>]) -> Done {
        let mut done = Done::default();
        for line in rest.iter().filter(|line| line.plain) {
            match line.text.trim().split_once(':') {
                Some(("PR", value)) => {
                    let given = Done::of(value);
                    done.number = given.number;
                    done.url = done.url.or(given.url);
                }
                Some(("URL", value)) => {
                    done.url = Some(value.trim().to_owned()).filter(|url| !url.is_empty());
                    done.number = done.number.or_else(|| pull_request_number(value.trim()));
                }
                _ => {}
            }
        }
        done
    }

    pub(super) fn render(&self, generation: Generation) -> String {
        let number = self.number.map(|number| format!("#{number}"));
        let url = self.url.as_deref().map(|url| url.replace(char::is_whitespace, "%20"));
        match generation {
            Generation::Labels => {
                format!("{OPENED} {}", number.or(url).unwrap_or_default()).trim_end().to_owned()
            }
            Generation::Project => {
                let line = |name: &str, value: Option<String>| {
                    value.map_or_else(String::new, |value| format!("{name}: {value}\n"))
                };
                format!("{COMPLETE}\n\n{}{}\nStatus: Done\n", line("PR", number), line("URL", url))
            }
        }
    }
}

pub(crate) fn pull_request_number(url: &str) -> Option<u64> {
    let after = ["/pull/", "/pulls/", "/merge_requests/"]
        .into_iter()
        .find_map(|part| url.split_once(part).map(|(_, after)| after))?;
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    after.get(..digits)?.parse().ok()
}

impl Failed {
    pub(super) fn read(rest: &[Line<'_>]) -> Failed {
        let mut fenced = rest.iter().skip_while(|line| line.fence.is_none());
        let open = fenced.next().map(|line| line.text.trim().to_owned());
        let inside: Vec<&str> = fenced
            .take_while(|line| line.fence.is_some() && Some(line.text.trim()) != open.as_deref())
            .map(|line| line.text)
            .collect();
        if open.is_some() {
            return Failed { error: inside.join("\n") };
        }
        // Without a fence it is what is said, without the words around it.
        let said = rest.iter().map(|line| line.text).filter(|text| {
            let text = text.trim();
            !text.is_empty() && text != "Error:" && !text.starts_with("Status:")
        });
        Failed { error: said.collect::<Vec<_>>().join("\n").trim().to_owned() }
    }

    pub(super) fn render(&self, generation: Generation) -> String {
        let error = self.error.trim_end_matches('\n');
        let fence = markdown::fence_for(error);
        let next = match generation {
            Generation::Labels => {
                "Status: Failed - Please review and re-add the `agent:ready` label to retry."
            }
            Generation::Project => {
                "Status: Blocked - Please review and re-add the `agent` label to retry."
            }
        };
        format!("{FAILED}\n\nError:\n{fence}\n{error}\n{fence}\n\n{next}")
    }
}
