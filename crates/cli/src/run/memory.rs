//! `comity memory …` and `comity directive …`

use super::{execute, query};
use crate::args::{DirectiveArgs, DirectiveCommand, MemoryCommand, UpdateMemoryArgs, WriteArgs};
use crate::context::Context;
use crate::human::Shape;
use crate::local_time::end_of;
use crate::output::Reply;
use comity_core::command::{Command, MemoryChanges, NewDirective, NewMemory};
use comity_core::directive::DirectiveFilter;
use comity_core::refusal::Refusal;
use comity_engine::Query;

pub(super) fn memory(context: &Context, command: MemoryCommand) -> Result<Reply, Refusal> {
    match command {
        MemoryCommand::Write(args) => write(context, *args),
        MemoryCommand::List { filter, page } => {
            let (filter, page) = (filter.into(), page.into());
            query(context, Query::Memories { filter, page }, Shape::Memories)
        }
        MemoryCommand::Show { id } => query(context, Query::Memory { id }, Shape::Memory),
        MemoryCommand::Search { query: words, filter, page } => {
            let (filter, page) = (filter.into(), page.into());
            let search = Query::SearchMemories { query: words, filter, page };
            query(context, search, Shape::Memories)
        }
        MemoryCommand::Update(args) => update(context, *args),
        MemoryCommand::Forget { id } => {
            execute(context, Command::MemoryForget { id }, Shape::Forgotten)
        }
    }
}

fn write(context: &Context, args: WriteArgs) -> Result<Reply, Refusal> {
    let new = NewMemory {
        text: args.text,
        kind: args.kind,
        scope: args.scope,
        tags: args.tags,
        expires: args.expires,
        task: args.task,
        supersedes: args.supersedes,
    };
    execute(context, Command::MemoryWrite(Box::new(new)), Shape::Memory)
}

fn update(context: &Context, args: UpdateMemoryArgs) -> Result<Reply, Refusal> {
    let tags = (args.no_tags || !args.tags.is_empty()).then_some(args.tags);
    let changes = MemoryChanges {
        text: args.text,
        kind: args.kind,
        scope: args.scope,
        tags,
        expires: args.expires,
        keep: args.no_expiry,
    };
    let command = Command::MemoryUpdate { id: args.id, changes: Box::new(changes) };
    execute(context, command, Shape::Memory)
}

pub(super) fn directive(context: &Context, command: DirectiveCommand) -> Result<Reply, Refusal> {
    match command {
        DirectiveCommand::Create(args) => create(context, *args),
        DirectiveCommand::List { active, trigger, page } => {
            let filter = DirectiveFilter { trigger, active };
            let list = Query::Directives { filter, page: page.into() };
            query(context, list, Shape::Directives)
        }
        DirectiveCommand::Show { id } => query(context, Query::Directive { id }, Shape::Directive),
        DirectiveCommand::Toggle { id, on, off } => {
            let enabled = (on || off).then_some(on);
            execute(context, Command::DirectiveToggle { id, enabled }, Shape::Directive)
        }
        DirectiveCommand::Delete { id } => {
            execute(context, Command::DirectiveDelete { id }, Shape::Deleted)
        }
        DirectiveCommand::Trigger { id } => {
            execute(context, Command::DirectiveTrigger { id }, Shape::Directive)
        }
    }
}

fn create(context: &Context, args: DirectiveArgs) -> Result<Reply, Refusal> {
    let end = args.duration.as_deref().map(end_of).transpose()?.unwrap_or_default();
    let new = NewDirective {
        text: args.text,
        trigger: args.trigger,
        priority: args.priority,
        description: args.description,
        duration: args.duration,
        end,
    };
    execute(context, Command::DirectiveCreate(Box::new(new)), Shape::Directive)
}
