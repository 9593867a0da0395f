//! `comity memory …` and `comity directive …`

#![deny(clippy::wildcard_enum_match_arm)]

use super::{execute, show};
use crate::args::{DirectiveArgs, DirectiveCommand, MemoryCommand, UpdateMemoryArgs, WriteArgs};
use crate::human;
use crate::local_time::end_of;
use crate::output::Reply;
use comity_api::{
    ById, DeleteDirective, ForgetMemory, ListDirectives, ListMemories, SearchMemories,
    ToggleDirective, TriggerDirective, UpdateMemory, op,
};
use comity_core::command::{MemoryChanges, NewDirective, NewMemory};
use comity_core::memory::MemoryFilter;
use comity_core::refusal::Refusal;
use comity_project::Context;

pub(super) fn memory(context: &Context, command: MemoryCommand) -> Result<Reply, Refusal> {
    match command {
        MemoryCommand::Write(args) => write(context, *args),
        MemoryCommand::List { filter, page } => {
            let MemoryFilter { kind, scope, tags, all } = filter.into();
            let (limit, after) = (page.limit.map(usize::from), page.after);
            let wanted = ListMemories { kind, scope, tags, all, limit, after };
            show::<op::MemoryList>(context, wanted, human::memory::memories)
        }
        MemoryCommand::Show { id } => {
            show::<op::MemoryShow>(context, ById { id }, human::memory::memory)
        }
        MemoryCommand::Search { query, filter, page } => {
            let MemoryFilter { kind, scope, tags, all } = filter.into();
            let (limit, after) = (page.limit.map(usize::from), page.after);
            let wanted = SearchMemories { query, kind, scope, tags, all, limit, after };
            show::<op::MemorySearch>(context, wanted, human::memory::memories)
        }
        MemoryCommand::Update(args) => update(context, *args),
        MemoryCommand::Forget { id } => {
            execute::<op::MemoryForget>(context, ForgetMemory { id }, human::memory::forgotten)
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
    execute::<op::MemoryWrite>(context, new, human::memory::memory)
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
    let input = UpdateMemory { id: args.id, changes: Box::new(changes) };
    execute::<op::MemoryUpdate>(context, input, human::memory::memory)
}

pub(super) fn directive(context: &Context, command: DirectiveCommand) -> Result<Reply, Refusal> {
    match command {
        DirectiveCommand::Create(args) => create(context, *args),
        DirectiveCommand::List { active, trigger, page } => {
            let (limit, after) = (page.limit.map(usize::from), page.after);
            let wanted = ListDirectives { trigger, active, limit, after };
            show::<op::DirectiveList>(context, wanted, human::memory::directives)
        }
        DirectiveCommand::Show { id } => {
            show::<op::DirectiveShow>(context, ById { id }, human::memory::directive)
        }
        DirectiveCommand::Toggle { id, on, off } => {
            let enabled = (on || off).then_some(on);
            let input = ToggleDirective { id, enabled };
            execute::<op::DirectiveToggle>(context, input, human::memory::directive)
        }
        DirectiveCommand::Delete { id } => {
            execute::<op::DirectiveDelete>(context, DeleteDirective { id }, human::memory::deleted)
        }
        DirectiveCommand::Trigger { id } => {
            let input = TriggerDirective { id };
            execute::<op::DirectiveTrigger>(context, input, human::memory::directive)
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
    execute::<op::DirectiveCreate>(context, new, human::memory::directive)
}
