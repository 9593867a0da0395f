//! `neo decision …`

use super::{Form, print};
use crate::args::{NeoAsk, NeoDecision};
use crate::output::{self, Reply};
use crate::run::import::bridge;
use crate::terminal::neutral;
use comity_api::{
    AnswerDecision, AnsweredDecision, ById, DecisionAnswer, DecisionFilter, NeoQuestion, op,
};
use comity_bridge::neo::{find, records};
use comity_core::command::Question;
use comity_core::decision::{Addressee, DecisionOption, DecisionType};
use comity_core::refusal::{Code, Refusal};
use comity_core::time::Millis;
use comity_core::view::DecisionView;
use comity_engine::{Caller, Handler, Service};
use comity_project::Context;
use comity_project::store::Access;
use comity_protocol::neotx::records::Record;
use serde_json::{Value, json};
use std::fmt::Write;

const RULE: &str = "─────────────────────────────────────────";

pub(super) fn run(context: &Context, command: NeoDecision, form: Form) -> Result<Reply, Refusal> {
    match command {
        NeoDecision::Create(args) => create(context, &args, form),
        NeoDecision::List { all, .. } => list(context, all, form),
        NeoDecision::Pending { .. } => pending(context, form),
        NeoDecision::Get { id: Some(id), .. } => get(context, &id, form),
        NeoDecision::Get { .. } => print::refuse("Usage: neo decision get <id>"),
        NeoDecision::Answer { id: Some(id), answer: Some(answer), .. } => {
            answer_one(context, &id, answer)
        }
        NeoDecision::Answer { .. } => print::refuse("Usage: neo decision answer <id> <answer>"),
        NeoDecision::Other(words) => super::unknown(&words, "create, list, get, answer, pending"),
    }
}

/// A length of time as neo writes it: 24h, 30m or 7d. Seconds are taken, too.
fn duration(text: &str) -> Option<Millis> {
    Millis::parse(text).filter(|length| length.ms() > 0)
}

fn options(text: Option<&str>) -> Result<Vec<DecisionOption>, String> {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return Ok(Vec::new()) };
    let one = |part: &str| {
        let mut parts = part.trim().splitn(3, ':').map(str::trim);
        match (parts.next(), parts.next()) {
            (Some(key), Some(label)) if !key.is_empty() && !label.is_empty() => {
                Ok(DecisionOption {
                    key: key.to_owned(),
                    label: Some(label.to_owned()),
                    description: parts.next().map(str::to_owned),
                })
            }
            _ => Err(format!(
                "Invalid option format: \"{part}\". Expected \"key:label\" or \"key:label:description\""
            )),
        }
    };
    text.split(',').map(one).collect()
}

/// Asks the question. A type that comity does not have is kept in the origin.
fn asked(
    context: &Context,
    args: &NeoAsk,
    question: &str,
    options: Vec<DecisionOption>,
    expires: Millis,
) -> Result<DecisionAnswer, Refusal> {
    let kind = (args.kind == "approval" && options.is_empty()).then_some(DecisionType::Approval);
    let own = args.kind != "generic" && kind.is_none();
    let question = Question {
        question: question.to_owned(),
        task: None,
        options,
        kind,
        context: args.context.clone(),
        default: args.default_answer.clone(),
        to: Some(Addressee::Planner),
        expires: Some(expires),
        proposes: None,
    };
    let (bridge, caller) = (bridge(context, Access::Write)?, context.caller());
    if own {
        let input = NeoQuestion { question, kind: args.kind.clone() };
        return Ok(Handler::<op::NeoAsk>::handle(&bridge, &caller, input)?.output);
    }
    bridge.service.call::<op::DecisionAsk>(&caller, question)
}

const USAGE: &str = "Usage: neo decision create <question> --options 'key1:label1,key2:label2' \
                     [--default <key>] [--expires-in 24h]";

fn create(context: &Context, args: &NeoAsk, form: Form) -> Result<Reply, Refusal> {
    let Some(question) = &args.question else { return print::refuse(USAGE) };
    let options = options(args.options.as_deref()).or_else(print::refuse)?;
    let Some(expires) = duration(&args.expires_in) else {
        return print::refuse("Invalid --expires-in format. Use e.g. \"24h\", \"30m\", or \"7d\".");
    };
    let Some(timeout) = duration(&args.timeout) else {
        return print::refuse("Invalid --timeout format. Use e.g. \"30m\" or \"1h\".");
    };
    let (service, caller) = (context.service(Access::Write)?, context.caller());
    let DecisionAnswer { decision } = asked(context, args, question, options, expires)?;
    let id = find::decision_id(&decision);
    let said = print::success(&format!("Decision created: {id}")) + &id + "\n";
    if !args.wait {
        let answer = json!({"decision": records::decision(&decision).map()});
        return Ok(Reply::text(answer, said));
    }
    let words = form == Form::Words;
    if words {
        let waits = format!("{said}Waiting for answer (timeout: {})...\n", args.timeout);
        let _ = output::text(&waits);
    }
    match service.wait_for_decision(&caller, &decision.id, Some(timeout)) {
        Ok(DecisionAnswer { decision }) => {
            let answered = neutral(&records::answer_text(&decision).unwrap_or_default());
            let answer = json!({"decision": records::decision(&decision).map()});
            Ok(Reply::text(answer, format!("Answer: {answered}\n")))
        }
        Err(mut refusal) if refusal.code == Code::TimedOut => {
            let state = refusal.details.get("decision").and_then(|it| it.get("state"));
            refusal.message = if state == Some(&json!("open")) {
                format!("Decision {id} timed out after {} (it stays pending)", args.timeout)
            } else {
                format!("Decision {id} expired after {} without an answer", args.expires_in)
            };
            Err(refusal)
        }
        Err(refusal) => Err(refusal),
    }
}

fn sorted(context: &Context, all: bool) -> Result<Vec<Record>, Refusal> {
    let service = context.service(Access::Read)?;
    let wanted = DecisionFilter { all, ..DecisionFilter::default() };
    Ok(find::decisions(&service, &context.caller(), wanted)?
        .iter()
        .map(records::decision)
        .collect())
}

/// The records as JSON: neo's list, or comity's object.
fn as_json(records: &[Record], form: Form) -> Reply {
    let all: Vec<Value> = records.iter().map(|it| Value::Object(it.map().clone())).collect();
    if form == Form::Neos {
        return print::json(&all);
    }
    Reply::text(json!({"decisions": all}), String::new())
}

fn text<'r>(record: &'r Record, key: &str) -> &'r str {
    record.text(key).unwrap_or_default()
}

fn list(context: &Context, all: bool, form: Form) -> Result<Reply, Refusal> {
    let records = sorted(context, all)?;
    if form != Form::Words {
        return Ok(as_json(&records, form));
    }
    if records.is_empty() {
        let said = if all { "No decisions.\n" } else { "No pending decisions.\n" };
        return Ok(Reply::text(Value::Null, said.to_owned()));
    }
    let row = |record: &Record| {
        let created = comity_core::time::Timestamp::parse(text(record, "createdAt"));
        let mut row = vec![
            text(record, "id").chars().take(12).collect(),
            text(record, "type").to_owned(),
            print::cut(text(record, "question"), 50, "…"),
            text(record, "source").to_owned(),
            created.map(print::ago).unwrap_or_default(),
        ];
        if all {
            row.push(state(record).to_owned());
        }
        row
    };
    let rows: Vec<Vec<String>> = records.iter().map(row).collect();
    let mut heads = vec!["ID", "TYPE", "QUESTION", "SOURCE", "CREATED"];
    heads.extend(all.then_some("STATUS"));
    Ok(Reply::text(Value::Null, print::table(&heads, &rows)))
}

fn state(record: &Record) -> &'static str {
    if record.get("answer").is_some() {
        "answered"
    } else if record.get("expiredAt").is_some() {
        "expired"
    } else {
        "pending"
    }
}

fn pending(context: &Context, form: Form) -> Result<Reply, Refusal> {
    let records = sorted(context, false)?;
    if form != Form::Words {
        return Ok(as_json(&records, form));
    }
    if records.is_empty() {
        let said = "No pending decisions.\n".to_owned();
        return Ok(Reply::text(Value::Null, said));
    }
    let mut out = String::new();
    for record in &records {
        let created = comity_core::time::Timestamp::parse(text(record, "createdAt"));
        let ago = created.map(print::ago).unwrap_or_default();
        let _ = writeln!(out, "{RULE}\nID: {}  ({ago})", text(record, "id"));
        let _ = writeln!(out, "Question: {}", neutral(text(record, "question")));
        out.push_str(&option_lines(record, false));
        if let Some(default) = record.text("defaultAnswer") {
            let _ = writeln!(out, "Default: {}", neutral(default));
        }
        out.push('\n');
    }
    let _ = write!(out, "{RULE}\n\nAnswer with: neo decision answer <id> <answer>\n");
    Ok(Reply::text(Value::Null, out))
}

fn option_lines(record: &Record, described: bool) -> String {
    let options = record.get("options").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut out = String::new();
    for (place, option) in options.iter().enumerate() {
        let part = |key: &str| neutral(option.get(key).and_then(Value::as_str).unwrap_or_default());
        if place == 0 {
            out.push_str("Options:\n");
        }
        let more = match part("description") {
            text if text.is_empty() || !described => String::new(),
            text => format!(" - {text}"),
        };
        let _ = writeln!(out, "  [{}] {}{more}", part("key"), part("label"));
    }
    out
}

/// Words a refusal as neo does, where neo has words for it.
fn in_neos_words(mut refusal: Refusal, id: &str) -> Refusal {
    if refusal.code == Code::AlreadyAnswered {
        refusal.message = format!("Decision already answered: {id}");
        return refusal;
    }
    print::not_found(refusal, "Decision", "decision", id)
}

fn found(service: &Service, caller: &Caller, id: &str) -> Result<DecisionView, Refusal> {
    let id = find::decision(service, caller, id)?;
    Ok(service.call::<op::DecisionShow>(caller, ById { id })?.decision)
}

fn get(context: &Context, id: &str, form: Form) -> Result<Reply, Refusal> {
    let service = context.service(Access::Read)?;
    let decision = found(&service, &context.caller(), id).map_err(|it| in_neos_words(it, id))?;
    let record = records::decision(&decision);
    match form {
        Form::Neos => return Ok(print::json(record.map())),
        Form::Object => {
            let answer = json!({"decision": record.map()});
            return Ok(Reply::text(answer, String::new()));
        }
        Form::Words => {}
    }
    let line = |key: &str| neutral(text(&record, key));
    let mut out = format!(
        "ID:       {}\nStatus:   {}\nType:     {}\nSource:   {}\nCreated:  {}\n\nQuestion: {}\n",
        line("id"),
        state(&record),
        line("type"),
        line("source"),
        line("createdAt"),
        line("question"),
    );
    if record.get("context").is_some() {
        let said: Vec<String> = text(&record, "context").lines().map(neutral).collect();
        let _ = writeln!(out, "\nContext:\n{}", said.join("\n"));
    }
    if record.get("options").is_some() {
        let _ = write!(out, "\n{}", option_lines(&record, true));
    }
    if record.get("answer").is_some() {
        let _ = writeln!(out, "\nAnswer:   {}", line("answer"));
        let _ = writeln!(out, "Answered: {}", line("answeredAt"));
    }
    for (key, name) in [("defaultAnswer", "Default:  "), ("expiresAt", "Expires:  ")] {
        if record.get(key).is_some() {
            let _ = writeln!(out, "{name}{}", line(key));
        }
    }
    Ok(Reply::text(Value::Null, out))
}

fn answer_one(context: &Context, id: &str, answer: String) -> Result<Reply, Refusal> {
    let (service, caller) = (context.service(Access::Write)?, context.caller());
    let ours = find::decision(&service, &caller, id).map_err(|it| in_neos_words(it, id))?;
    let said = format!("Decision answered: {id} → \"{answer}\"");
    let input = AnswerDecision { id: ours, answer };
    let AnsweredDecision { decision, .. } = service
        .call::<op::DecisionAnswerOne>(&caller, input)
        .map_err(|it| in_neos_words(it, id))?;
    let answer = json!({"decision": records::decision(&decision).map()});
    Ok(Reply::text(answer, print::success(&said)))
}
