//! Whether an agent gets on: it changes files, and does not make the same call again and again.

use crate::time::Millis;

/// How long an agent may work without getting on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Calls of the model without a change of a file, and the time that they took: both have to be over.
    pub turns: u64,
    pub time: Millis,
    /// How often the same tool is called in the same way, one call after the other.
    pub same_call: u32,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { turns: 20, time: Millis::from_secs(1_800), same_call: 5 }
    }
}

/// What an agent did since it last got on.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    turns: u64,
    /// How long it had worked when it last got on.
    since: Millis,
    last_call: Option<String>,
    same: u32,
}

impl Progress {
    /// A call of the model ended.
    pub fn turn(&mut self) {
        self.turns += 1;
    }

    /// A tool is called: which, and with what.
    pub fn call(&mut self, call: &str) {
        if self.last_call.as_deref() == Some(call) {
            self.same += 1;
        } else {
            (self.last_call, self.same) = (Some(call.to_owned()), 1);
        }
    }

    /// A file changed, or a person lets it go on, after so much work.
    pub fn got_on(&mut self, worked: Millis) {
        *self = Progress { since: worked, ..Progress::default() };
    }

    /// Says why an agent does not get on. Whoever only reads changes no file.
    pub fn stuck(&self, worked: Millis, writes: bool, patience: &Patience) -> Option<String> {
        if self.same >= patience.same_call {
            let tool = self.last_call.as_deref().and_then(|call| call.split_whitespace().next());
            let tool = tool.unwrap_or("a tool");
            return Some(format!("it called {tool} {} times in the same way", self.same));
        }
        let passed = Millis::from_ms(worked.ms().saturating_sub(self.since.ms()));
        let is_long = self.turns >= patience.turns && passed >= patience.time;
        let minutes = passed.ms() / 60_000;
        (writes && is_long).then(|| {
            format!("it changed no file in {} calls of the model and {minutes} minutes", self.turns)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_call_again_and_again_is_no_progress() {
        let (mut progress, patience) = (Progress::default(), Patience::default());
        let mut stuck = |call: &str| {
            progress.call(call);
            progress.stuck(Millis::from_ms(0), false, &patience)
        };
        for _ in 0..4 {
            assert_eq!(stuck("Bash ls"), None);
        }
        assert_eq!(stuck("Bash ls").unwrap(), "it called Bash 5 times in the same way");
        assert_eq!(stuck("Bash pwd"), None, "another call is another matter");
    }

    #[test]
    fn many_calls_of_the_model_over_a_long_time_without_a_change_are_no_progress() {
        let (mut progress, patience) = (Progress::default(), Patience::default());
        let minutes = |count: i64| Millis::from_secs(count * 60);
        for _ in 0..20 {
            assert_eq!(progress.stuck(minutes(40), true, &patience), None, "too few calls");
            progress.turn();
        }
        assert_eq!(progress.stuck(minutes(29), true, &patience), None, "too short a time");
        assert_eq!(progress.stuck(minutes(30), false, &patience), None, "it only reads");
        let why = progress.stuck(minutes(30), true, &patience).unwrap();
        assert_eq!(why, "it changed no file in 20 calls of the model and 30 minutes");
        progress.got_on(minutes(30));
        assert_eq!(progress.stuck(minutes(59), true, &patience), None);
    }
}
