// Moving a card: the server says which columns are open to it, and its words come back when one is not.
import { signal } from "@preact/signals";
import { asProblem, get, post, type Refusal, Refusal as RefusalClass } from "./api";
import { go, toTask } from "./route";
import type { ColumnName, Verb } from "./types";

/** What a drop on a column can mean. */
const DROPS = ["start", "submit", "approve", "block", "done"];

export interface Drag {
  id: string;
  from: ColumnName;
  verbs: Verb[] | null;
}
export const drag = signal<Drag | null>(null);
/** The card that the reader moved last. */
export const ownMove = signal<string | null>(null);
export const refusedMove = signal<{ id: string; refusal: Refusal } | null>(null);

export const verbsOf = (id: string): Promise<Verb[]> => get<Verb[]>(`/tasks/${encodeURIComponent(id)}/verbs`);

let asked: Promise<Verb[]> | null = null;
export function beginDrag(id: string, from: ColumnName): void {
  refusedMove.value = null;
  drag.value = { id, from, verbs: null };
  asked = verbsOf(id);
  asked.then(
    (verbs) => {
      if (drag.peek()?.id === id) drag.value = { id, from, verbs };
    },
    () => undefined,
  );
}
export const endDrag = (): void => {
  drag.value = null;
};

export const drops = (verbs: Verb[]): Verb[] => verbs.filter((verb) => DROPS.includes(verb.verb) && verb.to);
export const legal = (verbs: Verb[], column: ColumnName): Verb | undefined =>
  drops(verbs).find((verb) => verb.allowed && verb.to === column);

/** Whether a column is lit: yes, no, or not known yet. */
export function lit(column: ColumnName): "yes" | "no" | undefined {
  const now = drag.value;
  if (!now || now.from === column) return undefined;
  return now.verbs ? (legal(now.verbs, column) ? "yes" : "no") : undefined;
}

export async function dropOn(column: ColumnName, title: string): Promise<void> {
  const now = drag.peek();
  drag.value = null;
  if (!now || now.from === column) return;
  try {
    const verbs = now.verbs ?? (await (asked ?? verbsOf(now.id)));
    const verb = legal(verbs, column);
    if (verb) {
      await doVerb(now.id, verb);
      return;
    }
    const why = drops(verbs).find((one) => one.to === column);
    throw new RefusalClass(why?.code ?? "invalid-transition", why?.why ?? `${now.id} cannot be moved to ${title}.`, null, 409);
  } catch (problem) {
    refusedMove.value = { id: now.id, refusal: asProblem(problem) };
  }
}

/** Does it, or opens the panel where the missing words are asked for. */
export async function doVerb(id: string, verb: Verb): Promise<void> {
  ownMove.value = id;
  if (verb.wants.length) go(toTask(id, { verb: verb.verb }));
  else await post(`/tasks/${encodeURIComponent(id)}/${verb.verb}`);
}
export async function tryVerb(id: string, verb: string): Promise<void> {
  try {
    const found = (await verbsOf(id)).find((one) => one.verb === verb);
    if (!found) return;
    if (!found.allowed)
      throw new RefusalClass(found.code ?? "refused", found.why ?? `${found.label} is not possible now.`, null, 409);
    await doVerb(id, found);
  } catch (problem) {
    refusedMove.value = { id, refusal: asProblem(problem) };
  }
}

export function startMoving(): void {
  const clear = (): void => {
    if (refusedMove.peek()) refusedMove.value = null;
  };
  document.addEventListener("keydown", clear, { capture: true });
}
