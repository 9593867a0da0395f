// Doing something: the server is asked, and its refusal is shown where the reader asked.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { act, asProblem, post, type Refusal } from "./api";
import { capital } from "./format";
import { link } from "./live";
import { feed, mayAct } from "./store";
import { rich } from "./ui/text";
import type { Action, Item } from "./types";

export const canAct = (): boolean => mayAct.value && link.value.up;

/** A row that the reader has dealt with: it stays struck for a while, and says what happened next. */
export interface Struck {
  item: Item;
  place: number;
  said: string;
  task: string | null;
  agent: string | null;
  seq: number;
  undo: boolean;
  at: number;
}
export const struck = signal<ReadonlyMap<string, Struck>>(new Map());
const STRUCK_MS = 5_000;

function setStruck(key: string, row: Struck | null): void {
  const next = new Map(struck.peek());
  if (row) next.set(key, row);
  else next.delete(key);
  struck.value = next;
}

/** The part of an address that names the repository of an item, where the list is about several. */
export const inRepo = (repo: string | undefined): string => (repo ? `?repo=${encodeURIComponent(repo)}` : "");

export async function doItem(item: Item, place: number, action: Action, extra: Record<string, unknown>): Promise<void> {
  await act(action.method, action.path, { ...action.body, ...extra });
  const seq = feed.peek().at(-1)?.seq ?? 0;
  const row: Struck = {
    item,
    place,
    said: action.label,
    task: item.task,
    agent: item.agent,
    seq,
    undo: false,
    at: Date.now(),
  };
  setStruck(item.key, row);
  setTimeout(() => setStruck(item.key, null), STRUCK_MS);
  if (!item.task || item.decision) return;
  // Whether the last command can be taken back is a rule of the server's.
  const may = await act("POST", `/tasks/${encodeURIComponent(item.task)}/undo${inRepo(item.repo)}`, {}, true).then(
    () => true,
    () => false,
  );
  const now = struck.peek().get(item.key);
  if (now && may) setStruck(item.key, { ...now, undo: true });
}
export async function undo(item: Item, task: string): Promise<void> {
  await post(`/tasks/${encodeURIComponent(task)}/undo${inRepo(item.repo)}`);
  setStruck(item.key, null);
}

export interface Doing {
  busy: boolean;
  refusal: Refusal | null;
  run: (work: () => Promise<unknown>) => Promise<boolean>;
  clear: () => void;
}
export function useDoing(): Doing {
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<Refusal | null>(null);
  const alive = useRef(true);
  useEffect(
    () => () => {
      alive.current = false;
    },
    [],
  );
  return {
    busy,
    refusal,
    clear: () => setRefusal(null),
    run: async (work) => {
      setBusy(true);
      setRefusal(null);
      try {
        await work();
        return true;
      } catch (problem) {
        if (alive.current) setRefusal(asProblem(problem));
        return false;
      } finally {
        if (alive.current) setBusy(false);
      }
    },
  };
}

export const Refused = ({ refusal }: { refusal: Refusal | null }) =>
  refusal && (
    <p class="refused" role="alert">
      <svg class="g14 failed" aria-hidden="true">
        <use href="#failed" />
      </svg>
      <span>
        {rich(refusal.message)}
        {refusal.hint && <span class="muted"> {rich(refusal.hint)}</span>}
      </span>
    </p>
  );

const QUESTION: Record<string, string> = {
  reason: "Why?",
  needs: "What does it need?",
  text: "What should be said?",
  to: "Whom?",
  agent: "Which agent?",
  commit: "Which commit?",
  answer: "Your answer",
};
/** The words that an action wants before it is sent. */
export function Wants({
  title,
  fields,
  first,
  send,
  cancel,
}: {
  title: string;
  fields: string[];
  first?: string;
  send: (values: Record<string, string>) => Promise<unknown>;
  cancel: () => void;
}) {
  const doing = useDoing();
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    form.current?.querySelector("textarea")?.focus();
  }, []);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (!form.current || doing.busy) return;
    const values = Object.fromEntries([...new FormData(form.current)].map(([key, value]) => [key, String(value).trim()]));
    if (fields.some((field) => !values[field])) return;
    void doing
      .run(() => send(values))
      .then((done) => {
        if (done) cancel();
      });
  };
  const keys = (event: KeyboardEvent): void => {
    if (event.key === "Escape") {
      event.stopPropagation();
      cancel();
    }
    if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) submit(event);
  };
  return (
    <form class="wants" ref={form} onSubmit={submit} onKeyDown={keys} aria-label={title}>
      {fields.map((field) => (
        <label key={field}>
          <span>{QUESTION[field] ?? capital(field.replaceAll("_", " "))}</span>
          <textarea
            name={field}
            rows={field === "reason" && first ? 6 : 2}
            required
            defaultValue={field === "reason" ? (first ?? "") : ""}
          />
        </label>
      ))}
      <Refused refusal={doing.refusal} />
      <div class="row">
        <button class="btn edge" disabled={doing.busy}>
          {title}
        </button>
        <button class="btn" type="button" onClick={cancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}
