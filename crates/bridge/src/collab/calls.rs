//! The `collab.*` methods by their names: parameters in, JSON out.

use super::methods::{Collab, Failure};
use super::params::Params;
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_protocol::collab::StateFile as Kind;
use serde::Serialize;
use serde_json::{Map, Value, json};

impl Collab {
    /// Calls a method; none when there is no such method.
    pub fn call(
        &mut self,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<Option<Value>, Failure> {
        let params = Params(params);
        let answer = match method {
            "initialize" => Ok(json!({"capabilities": {"experimental": true}})),
            "collab.get_state" => self.called_state(&params),
            "collab.list_tasks" => {
                let (status, assignee) = (params.optional("status")?, params.optional("assignee")?);
                shape(self.list_tasks(status.as_deref(), assignee.as_deref()))
            }
            "collab.create_task" => {
                let id = params.optional("id")?;
                params.text("title")?;
                shape(self.create_task(id, params.0))
            }
            "collab.update_task" => shape(self.update_task(&params.text("id")?, &params.0)),
            "collab.transition_task" => self.called_transition(&params),
            "collab.suggest_assignee" => {
                shape(self.suggest_assignee(params.texts("labels")?.unwrap_or_default()))
            }
            "collab.auto_assign" => {
                shape(self.auto_assign(params.text("id")?, params.texts("labels")?))
            }
            "collab.link_external" => self.called_link(&params),
            "collab.emit_event" => shape(self.emit_event(params.0)),
            "collab.acquire_lease" => {
                let (path, owner) = (params.text("path")?, params.agent("owner")?);
                shape(self.acquire_lease(&path, owner, params.optional("purpose")?))
            }
            "collab.renew_lease" => {
                shape(self.renew_lease(&params.text("lock_id")?, &params.agent("owner")?))
            }
            "collab.release_lease" => {
                shape(self.release_lease(&params.text("lock_id")?, &params.agent("owner")?))
            }
            "collab.reclaim" => shape(self.reclaim()),
            "collab.generate_log" => shape(self.generate_log()),
            "collab.list_agents" => self.state_file(Kind::Agents).map(|file| file.data),
            "collab.update_agent" => shape(self.update_agent(params.agent("id")?, &params.0)),
            _ => return Ok(None),
        };
        answer.map(Some)
    }

    fn called_state(&mut self, params: &Params) -> Result<Value, Failure> {
        match params.optional("kind")?.unwrap_or_default().as_str() {
            "events" => shape(self.file_text(&self.tree.events())),
            "log" => shape(self.file_text(&self.tree.log())),
            word => {
                let kind = Kind::ALL.into_iter().find(|kind| kind.list() == word);
                let wrong = "kind must be one of tasks|locks|agents|events|log";
                shape(self.state_file(kind.ok_or_else(|| Failure::input(wrong))?))
            }
        }
    }

    fn called_transition(&mut self, params: &Params) -> Result<Value, Failure> {
        let (id, word) = (params.text("id")?, params.text("new_status")?);
        let reason = params.optional("reason")?;
        let needs = params.optional("needs")?;
        let known = Status::ALL.into_iter().find(|status| status.as_str() == word);
        let status = known.ok_or_else(|| Failure::input("Invalid status"))?;
        shape(self.transition_task(id, status, reason, needs))
    }

    fn called_link(&mut self, params: &Params) -> Result<Value, Failure> {
        let (id, provider) = (params.text("id")?, params.text("provider")?);
        let key = params.optional("key")?.unwrap_or_else(|| "id".to_owned());
        let given = params.0.get("value").cloned().unwrap_or_default();
        // Numbers of issues are often given as numbers.
        if !given.is_number() {
            params.text("value")?;
        }
        shape(self.link_external(id, provider, key, &given))
    }
}

fn shape(answer: Result<impl Serialize, Failure>) -> Result<Value, Failure> {
    serde_json::to_value(answer?)
        .map_err(|error| Refusal::new(Code::Internal, format!("an answer: {error}")).into())
}
