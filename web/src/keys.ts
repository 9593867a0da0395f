// The keyboard. Letters act on the focused item only, and one setting turns them off.
import { signal } from "@preact/signals";
import { closeTask, go, here, type Page, route, toPage } from "./route";
import { letterKeys } from "./settings";
import { at, board, lastEvent } from "./store";

export type Dialog = "keys" | "create" | null;
export const dialog = signal<Dialog>(null);

const GO: Record<string, Page> = { i: "inbox", b: "board", t: "tree", a: "agents", l: "timeline", f: "flow", m: "more" };
/** How long `g` waits for the letter of a page. */
const CHORD_MS = 1_500;
let chord = 0;

const visible = (element: HTMLElement): boolean => element.offsetParent !== null;
const rows = (root: ParentNode): HTMLElement[] => [...root.querySelectorAll<HTMLElement>("[data-nav]")].filter(visible);
const scope = (): ParentNode => document.querySelector(".review-mode") ?? document.querySelector("main") ?? document;

export function focusRow(row: HTMLElement | undefined): void {
  row?.focus({ preventScroll: true });
  row?.scrollIntoView({ block: "nearest" });
}
function move(by: number): void {
  const current = document.activeElement?.closest<HTMLElement>("[data-nav]");
  const within = current?.closest("[data-column]") ?? scope();
  const list = rows(within);
  const place = current ? list.indexOf(current) : -1;
  focusRow(current ? list[Math.min(list.length - 1, Math.max(0, place + by))] : list[0]);
}
function across(by: number): void {
  const columns = [...document.querySelectorAll<HTMLElement>("[data-column]")].filter((column) => rows(column).length > 0);
  const current = document.activeElement?.closest<HTMLElement>("[data-column]");
  if (!current) {
    focusRow(rows(scope())[0]);
    return;
  }
  const list = rows(current);
  const place = list.findIndex((row) => row.contains(document.activeElement));
  const next = columns[columns.indexOf(current) + by];
  if (next) {
    const there = rows(next);
    focusRow(there[Math.min(place, there.length - 1)]);
  }
}

/** One event earlier or later. The newest event is now. */
export function step(by: number): void {
  const head = lastEvent.peek()?.seq;
  if (head === undefined) return;
  const shown = at.peek();
  const from = shown === null ? head : /^\d+$/.test(shown) ? Number(shown) : board.peek()?.at?.seq;
  if (from === undefined) return;
  const next = from + by;
  if (next >= head) go(here({ at: null }), true);
  else if (next >= 1) go(here({ at: String(next) }), true);
}

const typing = (target: EventTarget | null): boolean =>
  target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;

/** Tells the focused item what was pressed; it listens with `onKeyAct`. */
export class KeyAct extends CustomEvent<{ key: string }> {
  constructor(key: string) {
    super("keyact", { detail: { key }, bubbles: true, cancelable: true });
  }
}
const ACTS = new Set(["a", "r", "m", "y", "Enter", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);

function escape(event: KeyboardEvent): void {
  if (dialog.peek()) {
    dialog.value = null;
    return;
  }
  if (typing(event.target)) {
    (event.target as HTMLElement).blur();
    return;
  }
  if (route.peek().query.get("review")) {
    go(here({ review: null }));
    return;
  }
  const { task } = route.peek();
  if (task) {
    go(closeTask());
    requestAnimationFrame(() =>
      focusRow(document.querySelector<HTMLElement>(`[data-nav][data-task="${CSS.escape(task)}"]`) ?? undefined),
    );
    return;
  }
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
}

function pressed(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey) return;
  const { key } = event;
  if (key === "Escape") {
    escape(event);
    return;
  }
  if (typing(event.target) || dialog.peek()) return;
  const target = event.target instanceof Element ? event.target : null;
  if (key === "Enter" && target?.matches("a, button, summary") && !target.matches("[data-nav]")) return;
  const letters = letterKeys.peek();
  if (!letters && key !== "Enter") return;
  const done = (): void => event.preventDefault();
  if (chord && Date.now() - chord < CHORD_MS && GO[key]) {
    chord = 0;
    done();
    go(toPage(GO[key]));
    return;
  }
  chord = 0;
  if (ACTS.has(key)) {
    const focused = document.activeElement?.closest("[data-nav]") ?? document.querySelector("[data-panel]");
    if (focused && !focused.dispatchEvent(new KeyAct(key))) {
      done();
      return;
    }
  }
  switch (key) {
    case "g":
      chord = Date.now();
      break;
    case "j":
      done();
      move(1);
      break;
    case "k":
      done();
      move(-1);
      break;
    case "h":
      done();
      across(-1);
      break;
    case "l":
      done();
      across(1);
      break;
    case "/":
      done();
      document.querySelector<HTMLInputElement>("#filter")?.focus();
      break;
    case "c":
      done();
      dialog.value = "create";
      break;
    case "?":
      done();
      dialog.value = "keys";
      break;
    case "[":
      done();
      step(-1);
      break;
    case "]":
      done();
      step(1);
      break;
    case "n":
      done();
      go(here({ at: null }));
      break;
  }
}
export const startKeys = (): void => document.addEventListener("keydown", pressed);
