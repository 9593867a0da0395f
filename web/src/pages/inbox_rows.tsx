// The rows of the inbox: the open question, one line for everything else, and what was just dealt with.
import { useRef, useState } from "preact/hooks";
import { canAct, doItem, inRepo, Refused, type Struck, undo, useDoing, Wants } from "../acting";
import { capital, clockTime, duration, sentence, shortAgent } from "../format";
import { go, toPage, toTask, within } from "../route";
import { clock, feed } from "../store";
import type { Action, Item } from "../types";
import { copyText, useKeyAct, useTint } from "../ui/hooks";
import { GateWords, Icon, kindLook, Ring } from "../ui/shapes";
import { sizeOf } from "./sizes";
import { Age, Left, rich, TaskId } from "../ui/text";

export function openItem(item: Item): void {
  const repo = within(item.repo);
  if (item.task) go(toTask(item.task, repo));
  else if (item.path) go(toPage("tree", { path: item.path, ...repo }));
  else if (item.agent) go(toPage("agents", repo));
}

const attributes = (item: Item): Record<string, string> => ({
  "data-nav": "",
  "data-kind": item.kind,
  ...(item.task ? { "data-task": item.task } : {}),
  ...(item.decision ? { "data-decision": item.id } : {}),
});

/** Actions, and the form of the one that wants words first. */
function useActions(item: Item, place: number) {
  const doing = useDoing();
  const [wanting, want] = useState<Action | null>(null);
  const choose = (action: Action, extra: Record<string, unknown> = {}): void => {
    if (action.method === "GET") {
      openItem(item);
      return;
    }
    if (!canAct() || doing.busy) return;
    if (action.wants.length && !action.wants.every((field) => field in extra)) {
      want(action);
      return;
    }
    void doing.run(() => doItem(item, place, action, extra));
  };
  const form = wanting && (
    <Wants
      title={wanting.label}
      fields={wanting.wants}
      cancel={() => want(null)}
      send={(values) => doItem(item, place, wanting, values)}
    />
  );
  return { doing, choose, form };
}
/** An option without a label is its key; those of an approval have words of their own. */
const KEYS: Record<string, string> = { approved: "Approve", approved_with_changes: "With changes", rejected: "Reject" };
const labelOf = (action: Action): string => {
  const key = action.body["answer"];
  return action.label === key ? (KEYS[action.label] ?? capital(action.label.replaceAll("_", " "))) : action.label;
};
const named = (item: Item, operation: string): Action | undefined =>
  item.actions.find((action) => action.operation === operation);

export function Ask({ item, place }: { item: Item; place: number }) {
  const box = useRef<HTMLElement>(null);
  const note = useRef<HTMLInputElement>(null);
  const [chosen, choose] = useState<number | null>(null);
  const { doing, choose: send, form } = useActions(item, place);
  useTint(box, item.decision?.context);
  const answers = item.actions.filter((action) => action.operation === "decision.answer");
  const others = item.actions.filter((action) => action.operation !== "decision.answer");
  const words = (): string => note.current?.value.trim() ?? "";
  const answer = (action: Action): void => {
    const text = words();
    send(action, text ? { answer: `${String(action.body["answer"])}: ${text}` } : {});
  };
  const free = (): void => {
    const text = words();
    const picked = chosen === null ? undefined : answers[chosen];
    if (picked) {
      answer(picked);
      return;
    }
    if (!text) {
      note.current?.focus();
      return;
    }
    send({
      label: `“${text}”`,
      operation: "decision.answer",
      method: "POST",
      path: `/api/v1/decisions/${item.id}/answer${inRepo(item.repo)}`,
      body: { answer: text },
      wants: [],
      note: null,
    });
  };
  useKeyAct(box, (key) => {
    const digit = Number(key);
    if (digit >= 1 && digit <= answers.length) {
      choose(digit - 1);
      return true;
    }
    if (key === "Enter") {
      const picked = chosen === null ? undefined : answers[chosen];
      if (picked) answer(picked);
      else openItem(item);
      return true;
    }
    if (key === "y") {
      copyText(item.id);
      return true;
    }
    return false;
  });
  const look = kindLook(item.kind);
  return (
    <article class="ask" ref={box} tabIndex={0} aria-label={`Decision ${item.id}`} {...attributes(item)}>
      <p class="line">
        <span class={`state ${look.tone}`}>
          <Icon name={look.icon} tone={look.tone} />
          {item.word}
        </span>
        <span class="for">
          <In repo={item.repo} />
          <code>{item.id}</code>
          {item.task && (
            <>
              {" "}
              for <TaskId id={item.task} repo={item.repo} />
            </>
          )}{" "}
          {item.about}
        </span>
        {item.deadline && (
          <span class={`due ${item.urgent ? "" : "is-far"}`}>
            {item.left !== null && <Ring share={item.left} tone="due-ring" />}
            <Left until={item.deadline} /> left
          </span>
        )}
      </p>
      <h2>{item.title}</h2>
      {(item.decision?.context || item.reason) && (
        <p class="ctx">
          {item.decision?.context && rich(item.decision.context)}{" "}
          {item.reason && <>{rich(sentence(`${item.reason}, ${duration((clock.value - Date.parse(item.since)) / 1000)}`))}</>}
        </p>
      )}
      {answers.length > 0 && (
        <div class="opts">
          {answers.map((action, index) => (
            <button
              key={action.label}
              class="opt"
              type="button"
              disabled={!canAct() || doing.busy}
              aria-pressed={chosen === index}
              data-option={String(action.body["answer"])}
              aria-keyshortcuts={String(index + 1)}
              onClick={() => answer(action)}
            >
              <kbd>{index + 1}</kbd>
              <b>{labelOf(action)}</b>
              {action.note && <span>{rich(action.note)}</span>}
            </button>
          ))}
        </div>
      )}
      <form
        class="reply"
        onSubmit={(event) => {
          event.preventDefault();
          free();
        }}
      >
        <input
          ref={note}
          class="field"
          type="text"
          placeholder={answers.length ? "Add a note, then choose" : "Answer in your own words"}
          aria-label={answers.length ? "A note for the answer" : "Your answer"}
          disabled={!canAct()}
        />
        <button class="btn" disabled={!canAct() || doing.busy}>
          Send
        </button>
        {others.map((action) => (
          <button key={action.label} class="btn" type="button" disabled={!canAct()} onClick={() => send(action)}>
            {action.label}
          </button>
        ))}
      </form>
      {form}
      <Refused refusal={doing.refusal} />
    </article>
  );
}

/** Where an item is, in a list about several repositories. */
const In = ({ repo }: { repo: string | undefined }) => (repo ? <b class="in-repo">{repo} </b> : null);

function Meta({ item }: { item: Item }) {
  const said = item.reason && rich(item.reason);
  const size = sizeOf(item);
  if (item.decision) {
    return (
      <p class="meta">
        <In repo={item.repo} />
        <code>{item.id}</code>
        {item.task && (
          <>
            {" "}
            for <TaskId id={item.task} repo={item.repo} />
          </>
        )}
        {said && <> · {said}</>}
        {item.deadline && <> · answer by {clockTime(item.deadline)}</>}
      </p>
    );
  }
  return (
    <p class="meta">
      <In repo={item.repo} />
      {item.task && <TaskId id={item.task} repo={item.repo} />}
      {item.task && said && " · "}
      {said}
      {size && ` · ${size}`}
      {item.kind === "silent" && item.deadline && Date.parse(item.deadline) > clock.value && (
        <>
          ; frees itself in <Left until={item.deadline} />
        </>
      )}
    </p>
  );
}

export function Row({ item, place, open }: { item: Item; place: number; open: () => void }) {
  const box = useRef<HTMLElement>(null);
  const { doing, choose, form } = useActions(item, place);
  const [chosen, pick] = useState<number | null>(null);
  useTint(box, `${item.reason}${item.gates.map((gate) => gate.mark).join()}`);
  useKeyAct(box, (key) => {
    const digit = Number(key);
    if (digit >= 1 && digit <= item.actions.length) {
      pick(digit - 1);
      return true;
    }
    if (key === "Enter") {
      const picked = chosen === null ? undefined : item.actions[chosen];
      if (picked) choose(picked);
      else if (item.decision) open();
      else openItem(item);
      return true;
    }
    const wanted = key === "a" ? named(item, "task.approve") : key === "r" ? named(item, "task.request-changes") : undefined;
    if (wanted) {
      choose(wanted);
      return true;
    }
    if (key === "y") {
      copyText(item.id);
      return true;
    }
    return false;
  });
  const look = kindLook(item.kind);
  return (
    <article class="item" ref={box} tabIndex={0} aria-label={`${item.word}: ${item.title}`} {...attributes(item)}>
      <span class={`kind state ${look.tone}`}>
        <Icon name={look.icon} tone={look.tone} />
        {item.word}
      </span>
      <div class="body">
        <p class="title">
          {item.decision ? (
            <button type="button" class="as-text" onClick={open}>
              {item.title}
            </button>
          ) : item.task ? (
            <a href={toTask(item.task, within(item.repo))}>{rich(item.title)}</a>
          ) : (
            rich(item.title)
          )}
        </p>
        <Meta item={item} />
        {item.gates.length > 0 && <GateWords gates={item.gates} />}
        {form}
        <Refused refusal={doing.refusal} />
      </div>
      <div class="acts">
        {item.actions.map((action, index) => (
          <button
            key={action.label}
            class="btn"
            type="button"
            title={action.note ?? undefined}
            aria-pressed={chosen === index ? true : undefined}
            data-option={action.operation === "decision.answer" ? String(action.body["answer"]) : undefined}
            data-verb={action.operation}
            disabled={action.method !== "GET" && (!canAct() || doing.busy)}
            onClick={() => choose(action)}
          >
            {labelOf(action)}
          </button>
        ))}
      </div>
      <span class="age">
        <Age since={item.since} />
      </span>
    </article>
  );
}

/** Struck by the reader (`row`), or settled elsewhere while the list stood still. */
export function StruckRow({ item, row }: { item: Item; row: Struck | null }) {
  const doing = useDoing();
  const next = row && feed.value.find((event) => event.seq > row.seq && event.task === row.task && event.agent === row.agent);
  return (
    <article class="item was" aria-label={`Settled: ${item.title}`}>
      <span class="kind state">
        <Icon name="approved" />
        {row ? (item.decision ? "Answered" : "Done") : "Settled"}
      </span>
      <div class="body">
        <p class="title">{item.title}</p>
        <Refused refusal={doing.refusal} />
      </div>
      <div class="acts small">
        <span>
          {row ? (
            <>
              You said {row.said.charAt(0).toLowerCase() + row.said.slice(1)}
              {next && row.agent && (
                <>
                  , <code>{shortAgent(row.agent)}</code> went on
                </>
              )}
            </>
          ) : (
            "It no longer needs you"
          )}
        </span>
        {row?.undo && row.task && (
          <button class="btn" type="button" onClick={() => void doing.run(() => undo(item, row.task as string))}>
            Undo
          </button>
        )}
      </div>
      <span class="age">{row && duration((clock.value - row.at) / 1000)}</span>
    </article>
  );
}
