//! `neo directive …`

use super::print;
use crate::args::NeoDirective;
use crate::human::now;
use crate::local_time::end_of;
use crate::output::Reply;
use crate::terminal::neutral;
use comity_api::{ById, DeleteDirective, DirectiveAnswer, ListDirectives, ToggleDirective, op};
use comity_bridge::neo::{find, records};
use comity_core::command::NewDirective;
use comity_core::directive::Trigger;
use comity_core::refusal::Refusal;
use comity_core::time::Timestamp;
use comity_core::view::DirectiveView;
use comity_engine::{Caller, Service};
use comity_project::Context;
use comity_project::store::Access;
use serde_json::{Value, json};

pub(super) fn run(context: &Context, command: NeoDirective) -> Result<Reply, Refusal> {
    match command {
        NeoDirective::Create { action: None, .. } => print::refuse(USAGE),
        NeoDirective::Create {
            action: Some(action),
            trigger,
            duration,
            priority,
            description,
            ..
        } => {
            let Ok(kind) = Trigger::parse(&trigger) else {
                let all: Vec<&str> = Trigger::ALL.iter().map(|it| it.as_str()).collect();
                let all = all.join(", ");
                let message = format!("Invalid trigger \"{trigger}\". Must be one of: {all}");
                return print::refuse(message);
            };
            // comity's lowest priority is 0, so a negative one becomes 0.
            let Ok(rank) = priority.parse::<i64>() else {
                return print::refuse(format!(
                    "Invalid priority \"{priority}\". Use a whole number."
                ));
            };
            let duration = duration.filter(|text| !text.trim().is_empty());
            let Ok(end) = duration.as_deref().map(end_of).transpose() else {
                let message = format!(
                    "Invalid --duration format \"{}\". Use: \"2h\", \"30m\", \"for 2 hours\", \"until \
                     midnight\", \"until 18:00\", or \"indefinitely\"",
                    duration.unwrap_or_default()
                );
                return print::refuse(message);
            };
            let end = end.unwrap_or_default();
            let new = NewDirective {
                text: action,
                trigger: kind,
                priority: u64::try_from(rank).unwrap_or(0),
                description,
                duration,
                end,
            };
            let reply = create(context, new)?;
            Ok(if rank < 0 {
                reply.note(format!("note: 0 is the lowest priority here; {rank} counts as 0"))
            } else {
                reply
            })
        }
        NeoDirective::List { .. } => list(context),
        NeoDirective::Delete { id: Some(id), .. } => delete(context, &id),
        NeoDirective::Toggle { id: Some(id), .. } => toggle(context, &id),
        NeoDirective::Show { id: Some(id), .. } => show(context, &id),
        NeoDirective::Delete { .. } => print::refuse("Usage: neo directive delete <id>"),
        NeoDirective::Toggle { .. } => print::refuse("Usage: neo directive toggle <id>"),
        NeoDirective::Show { .. } => print::refuse("Usage: neo directive show <id>"),
        NeoDirective::Other(words) => super::unknown(&words, "create, list, delete, toggle, show"),
    }
}

const USAGE: &str = "Usage: neo directive create \"<action>\" [--trigger idle] [--duration \"2h\"]";

fn answer(directive: &DirectiveView) -> Value {
    json!({"directive": records::directive(directive).map()})
}

/// The time that is left, in neo's units.
fn left(expires_at: Option<Timestamp>) -> String {
    let Some(at) = expires_at else { return "∞".to_owned() };
    let now = now();
    if at <= now {
        return "expired".to_owned();
    }
    let minutes = at.since(now).ms() / 60_000;
    let (hours, minutes) = (minutes / 60, minutes % 60);
    match hours {
        25.. => format!("{}d {}h", hours / 24, hours % 24),
        1..25 => format!("{hours}h {minutes}m"),
        _ => format!("{minutes}m"),
    }
}

fn state(directive: &DirectiveView) -> &'static str {
    if directive.expires_at.is_some_and(|at| at <= now()) {
        "expired"
    } else if directive.enabled {
        "active"
    } else {
        "disabled"
    }
}

fn create(context: &Context, new: NewDirective) -> Result<Reply, Refusal> {
    let service = context.service(Access::Write)?;
    let DirectiveAnswer { directive } =
        service.call::<op::DirectiveCreate>(&context.caller(), new)?;
    let lasts = match directive.expires_at {
        Some(at) => left(Some(at)),
        None => "indefinitely".to_owned(),
    };
    let said = format!(
        "{}  Trigger: {}\n  Action: {}\n  Duration: {lasts}\n",
        print::success(&format!("Directive created: {}", find::directive_id(&directive))),
        directive.trigger,
        neutral(&directive.text),
    );
    Ok(Reply::text(answer(&directive), said))
}

fn list(context: &Context) -> Result<Reply, Refusal> {
    let (service, all) = (context.service(Access::Read)?, ListDirectives::default());
    let mut directives = find::directives(&service, &context.caller(), all)?;
    // The newest first, as neo lists them.
    directives.reverse();
    directives.sort_by_key(|it| std::cmp::Reverse(it.created_at));
    let row = |it: &DirectiveView| {
        let action = match it.text.chars().count() {
            0..=40 => it.text.clone(),
            _ => it.text.chars().take(37).collect::<String>() + "...",
        };
        vec![
            find::directive_id(it),
            it.trigger.to_string(),
            state(it).to_owned(),
            left(it.expires_at),
            it.priority.to_string(),
            action.replace('\n', " "),
        ]
    };
    let rows: Vec<Vec<String>> = directives.iter().map(row).collect();
    let said = if rows.is_empty() {
        "No directives found.\n".to_owned()
    } else {
        print::table(&["ID", "TRIGGER", "STATUS", "EXPIRES", "PRIORITY", "ACTION"], &rows)
    };
    let maps: Vec<Value> =
        directives.iter().map(|it| Value::Object(records::directive(it).map().clone())).collect();
    Ok(Reply::text(json!({"directives": maps}), said))
}

/// Finds a directive, or says in neo's words that there is none.
fn found(service: &Service, caller: &Caller, id: &str) -> Result<DirectiveView, Refusal> {
    find::directive(service, caller, id)
        .and_then(|id| service.call::<op::DirectiveShow>(caller, ById { id }))
        .map(|answer| answer.directive)
        .map_err(|refusal| print::not_found(refusal, "Directive", "directive", id))
}

fn delete(context: &Context, id: &str) -> Result<Reply, Refusal> {
    let (service, caller) = (context.service(Access::Write)?, context.caller());
    let directive = found(&service, &caller, id)?;
    let deleted = DeleteDirective { id: directive.id.clone() };
    service.call::<op::DirectiveDelete>(&caller, deleted)?;
    let said = print::success(&format!("Directive deleted: {id}"));
    Ok(Reply::text(answer(&directive), said))
}

fn toggle(context: &Context, id: &str) -> Result<Reply, Refusal> {
    let (service, caller) = (context.service(Access::Write)?, context.caller());
    let toggled = ToggleDirective { id: found(&service, &caller, id)?.id, enabled: None };
    let DirectiveAnswer { directive } = service.call::<op::DirectiveToggle>(&caller, toggled)?;
    let now = if directive.enabled { "enabled" } else { "disabled" };
    let said = print::success(&format!("Directive {id} {now}"));
    Ok(Reply::text(answer(&directive), said))
}

fn show(context: &Context, id: &str) -> Result<Reply, Refusal> {
    let directive = found(&context.service(Access::Read)?, &context.caller(), id)?;
    let record = records::directive(&directive);
    let text = |key: &str| neutral(record.text(key).unwrap_or_default());
    let mut said = format!(
        "ID:          {}\nTrigger:     {}\nStatus:      {}\nPriority:    {}\nAction:      {}\n",
        text("id"),
        text("trigger"),
        state(&directive),
        directive.priority,
        text("action"),
    );
    if record.get("description").is_some() {
        said.push_str(&format!("Description: {}\n", text("description")));
    }
    said.push_str(&format!("Created:     {}\n", text("createdAt")));
    said.push_str(&match directive.expires_at {
        Some(at) => format!("Expires:     {at} ({})\n", left(Some(at))),
        None => "Expires:     never (indefinite)\n".to_owned(),
    });
    if record.get("lastTriggeredAt").is_some() {
        said.push_str(&format!("Last triggered: {}\n", text("lastTriggeredAt")));
    }
    Ok(Reply::text(answer(&directive), said))
}
