// What this tab knows. All pages read it, and the stream alone changes it, so no two of them disagree.
import { batch, computed, effect, signal } from "@preact/signals";
import { address, ask, asProblem, type Refusal, session } from "./api";
import { link, startLive } from "./live";
import { ALL, route } from "./route";
import type { Message } from "./stream";
import type { Board, Card, CardsMessage, Column, Inbox, LogEvent, PresenceMessage } from "./types";

/** One answer of the server, kept and asked for again when the stream says that it changed. */
export class Resource<T> {
  readonly data = signal<T | null>(null);
  readonly error = signal<Refusal | null>(null);
  private etag: string | null = null;
  private running = false;
  private again = false;
  private last = 0;
  private took = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  readers = 0;

  constructor(
    readonly url: string,
    private readonly seen?: (value: T) => void,
  ) {}

  /** Asks now; while an answer is awaited, asks once more after it. What takes the server long, or nobody looks at, is asked for less often. */
  refresh(): void {
    if (this.running) {
      this.again = true;
      return;
    }
    const wait = this.last + Math.max(document.hidden ? HIDDEN_MS : REFRESH_MS, REST * this.took) - performance.now();
    if (wait > 0 && this.data.peek()) {
      this.timer ??= setTimeout(() => {
        this.timer = undefined;
        this.refresh();
      }, wait);
      return;
    }
    void this.load();
  }
  /** Asks without saying what is known: time alone may have changed the answer. */
  forget(): void {
    this.etag = null;
    this.refresh();
  }
  async load(): Promise<void> {
    this.running = true;
    this.last = performance.now();
    try {
      const fresh = await ask<T>(this.url, this.etag);
      if (fresh) {
        this.etag = fresh.etag;
        batch(() => {
          this.data.value = fresh.value;
          this.error.value = null;
          this.seen?.(fresh.value);
        });
      } else this.error.value = null;
    } catch (problem) {
      this.error.value = asProblem(problem);
    } finally {
      this.running = false;
      this.took = performance.now() - this.last;
      if (this.again) {
        this.again = false;
        this.refresh();
      }
    }
  }
}
const REFRESH_MS = 250;
const HIDDEN_MS = 2_000;
/** The server rests this many times as long as its last answer took. */
const REST = 4;

const kept = new Map<string, Resource<unknown>>();
/** Answers that nobody shows are forgotten beyond this number. */
const KEPT = 40;
export function resource<T>(path: string, params: Record<string, string | null> = {}): Resource<T> {
  const url = address(path, params);
  let found = kept.get(url) as Resource<T> | undefined;
  if (!found) {
    found = new Resource<T>(url);
    kept.set(url, found as Resource<unknown>);
    for (const [key, old] of kept) {
      if (kept.size <= KEPT) break;
      if (old.readers === 0 && old !== (found as Resource<unknown>)) kept.delete(key);
    }
    found.refresh();
  }
  return found;
}

// --- the moment ---------------------------------------------------------------------------------------------------

/** The moment that the pages show; null is now. */
export const at = computed(() => route.value.query.get("at"));
export const past = computed(() => at.value !== null);

/** Tasks that were given up are asked for only when the filter names them. */
const withAbandoned = computed(() => /\bis:abandoned\b/.test(route.value.query.get("q") ?? ""));

/** How far the server's clock is ahead of this one. */
let ahead = 0;
/** The server's time, second by second. */
export const present = signal(Date.now());
const setClock = (now: string): void => {
  ahead = Date.parse(now) - Date.now();
  present.value = Date.now() + ahead;
};
export const startClock = (): void => {
  setInterval(() => {
    present.value = Date.now() + ahead;
  }, 1000);
};
/** The time that the pages count from: the present, or the moment of the past that they show. */
export const clock = computed(() => {
  const moment = past.value ? board.value?.at?.ts : undefined;
  return moment ? Date.parse(moment) : present.value;
});

// --- board --------------------------------------------------------------------------------------------------------

export interface BoardState {
  seq: number;
  repo: string;
  tasks: number;
  ready: number;
  columns: Column[];
  cards: ReadonlyMap<string, Card>;
  at: Board["at"];
  more: boolean;
}
export const board = signal<BoardState | null>(null);
export const boardError = signal<Refusal | null>(null);
export const lastEvent = signal<{ seq: number; ts: string } | null>(null);
export const seen = signal<ReadonlyMap<string, string>>(new Map());
/** The newest events that this tab saw, newest last. */
export const feed = signal<LogEvent[]>([]);
const FEED = 200;

let headSeq = 0;
let held: Message[] | null = [];
let boardLoading: Promise<void> | null = null;

function setBoard(answer: Board): void {
  batch(() => {
    if (!answer.at) setClock(answer.now);
    board.value = {
      seq: answer.seq,
      repo: answer.repo,
      tasks: answer.tasks,
      ready: answer.ready,
      columns: answer.columns,
      at: answer.at,
      more: answer.more,
      cards: new Map(answer.cards.map((card) => [card.id, card])),
    };
    boardError.value = null;
    if (answer.last_event && !answer.at) lastEvent.value = answer.last_event;
  });
}

/** How long a page waits before it asks a server again that did not answer. */
const RETRY_MS = 2_000;
export function loadBoard(): Promise<void> {
  boardLoading ??= (async () => {
    const moment = at.peek(),
      given = withAbandoned.peek();
    // What the stream says while the answer is on its way is applied after it.
    if (moment === null) held ??= [];
    try {
      const fresh = await ask<Board>(address("/board", { at: moment, abandoned: given ? "1" : null }), null);
      if (!fresh || moment !== at.peek()) return;
      setBoard(fresh.value);
      if (moment === null) headSeq = Math.max(headSeq, fresh.value.seq);
      else if (headSeq === 0) await findHead();
      const waiting = held ?? [];
      held = null;
      take(waiting);
      firstLoad();
    } catch (problem) {
      const refusal = asProblem(problem);
      boardError.value = refusal;
      if (refusal.status === 0 || refusal.status >= 500) setTimeout(() => void loadBoard(), RETRY_MS);
    }
    if (moment !== at.peek() || given !== withAbandoned.peek()) setTimeout(() => void loadBoard());
  })().finally(() => {
    boardLoading = null;
  });
  return boardLoading;
}
/** A page that opens in the past still follows the present: it counts what came later. */
async function findHead(): Promise<void> {
  const fresh = await ask<Board>(address("/board"), null);
  if (!fresh) return;
  setClock(fresh.value.now);
  headSeq = fresh.value.seq;
  lastEvent.value = fresh.value.last_event;
}
let firstLoad: () => void = () => undefined;
const loaded = new Promise<void>((done) => {
  firstLoad = done;
});

// Messages are applied once a frame: a storm of events draws as often as one.
let pending: Message[] = [];
let scheduled = false;
function take(messages: Message[]): void {
  if (held) {
    held.push(...messages);
    return;
  }
  pending.push(...messages);
  if (!scheduled && pending.length) schedule();
}
/** In the next frame; a hidden tab gets none, but its title still counts. */
function schedule(): void {
  scheduled = true;
  let ran = false;
  const run = (): void => {
    if (ran) return;
    ran = true;
    drain();
  };
  requestAnimationFrame(run);
  setTimeout(run, FRAMELESS_MS);
}
const FRAMELESS_MS = 250;

/** How long one frame may read messages; the rest waits for the next. */
const BUDGET_MS = 6;
function drain(): void {
  const began = performance.now();
  const changed = new Set<string>();
  const tasks = new Set<string>();
  const events: LogEvent[] = [];
  batch(() => {
    let cards: Map<string, Card> | null = null;
    let read = 0;
    for (const message of pending) {
      if (read > 0 && performance.now() - began > BUDGET_MS) break;
      read += 1;
      if (message.event === "cards") {
        const body = JSON.parse(message.data) as CardsMessage;
        for (const name of body.changed) changed.add(name);
        for (const card of body.cards) tasks.add(card.id);
        const state = board.peek();
        if (!state || state.at || body.seq < state.seq) continue;
        cards ??= new Map(state.cards);
        for (const card of body.cards) cards.set(card.id, card);
        for (const id of body.gone) cards.delete(id);
        board.value = { ...state, seq: body.seq, tasks: body.tasks, ready: body.ready, columns: body.columns, cards };
      } else if (message.event === "log") {
        const event = JSON.parse(message.data) as LogEvent;
        if (event.seq <= headSeq) continue;
        headSeq = event.seq;
        events.push(event);
        if (event.task) tasks.add(event.task);
      } else if (message.event === "presence") {
        cards = presence(JSON.parse(message.data) as PresenceMessage, cards);
      } else if (message.event === "reset") {
        headSeq = 0;
        reload();
      }
    }
    pending = pending.slice(read);
    const last = events.at(-1);
    if (last) {
      lastEvent.value = { seq: last.seq, ts: last.ts };
      feed.value = [...feed.peek(), ...events].slice(-FEED);
    }
  });
  scheduled = false;
  if (pending.length) schedule();
  invalidate(changed, tasks, events);
}

function presence(body: PresenceMessage, cards: Map<string, Card> | null): Map<string, Card> | null {
  setClock(body.now);
  const next = new Map(seen.peek());
  for (const agent of body.agents) next.set(agent.id, agent.last_seen);
  seen.value = next;
  const state = board.peek();
  if (!state || state.at) return cards;
  const changed = cards ?? new Map(state.cards);
  for (const { task, life } of body.lives) {
    const card = changed.get(task);
    if (card) changed.set(task, { ...card, life });
  }
  board.value = { ...state, cards: changed };
  return changed;
}

/** Answers that change with events of one kind; the empty beginning is every event's. */
const ABOUT: Record<string, string> = {
  why: "",
  brief: "",
  decisions: "decision",
  memories: "memory",
  directives: "directive",
  runs: "run_",
  cost: "budget_",
  budgets: "budget_",
  pads: "pad_",
  interfaces: "interface_",
  events: "message_",
  tokens: "token_",
};

/** Asks again for what changed and is shown. The past does not change. */
function invalidate(changed: ReadonlySet<string>, tasks: ReadonlySet<string>, events: readonly LogEvent[]): void {
  for (const [url, one] of kept) {
    if (/[?&]at=/.test(url)) continue;
    const [, name = "", id = ""] = /^\/api\/v1\/([a-z]+)(?:\/([^/?]+))?/.exec(url) ?? [];
    const about = ABOUT[name];
    const stale =
      name === "tasks"
        ? tasks.has(decodeURIComponent(id)) || (events.length > 0 && url.includes("/panel"))
        : changed.has(name) || (about !== undefined && events.some((event) => event.event.startsWith(about)));
    if (!stale) continue;
    if (one.readers > 0) one.refresh();
    else kept.delete(url);
  }
}

/** Everything is asked for again: after a gap, and when the store was replaced. */
export function reload(): void {
  void loadBoard();
  for (const [url, one] of kept) {
    if (one.readers > 0) one.refresh();
    else kept.delete(url);
  }
}

export const newerEvents = computed(() => {
  const shown = board.value?.at?.seq,
    last = lastEvent.value?.seq;
  return shown !== undefined && last !== undefined ? Math.max(0, last - shown) : 0;
});

/** The inbox shows all repositories together; the past is about one. */
export const overAll = computed(() => route.value.query.get("repo") === ALL && !past.value);
export const inboxOf = (): Resource<Inbox> =>
  overAll.value ? resource<Inbox>("/inbox", { repo: ALL }) : resource<Inbox>("/inbox", { at: at.value });
export const mayAct = computed(() => session.value?.csrf != null && !past.value);

/** Some things become true by waiting alone: silence, a decision past half of its time. Nothing in the stream says so. */
const ROUND_MS = 30_000;
const ALL_MS = 5_000;
const BY_TIME = /^\/api\/v1\/(inbox|crew|tree)(\?|$)/;
function startRounds(): void {
  setInterval(() => {
    if (past.peek() || !link.peek().up) return;
    for (const [url, one] of kept) if (one.readers > 0 && BY_TIME.test(url) && !/[?&]at=/.test(url)) one.forget();
  }, ROUND_MS);
  // The stream tells of one repository; what happens in others is asked for.
  setInterval(() => {
    if (overAll.peek() && link.peek().up && !document.hidden) inboxOf().refresh();
  }, ALL_MS);
  let before: { seq: number; items: string } | null = null;
  effect(() => {
    const inbox = inboxOf().data.value;
    if (!inbox || inbox.at) return;
    const items = inbox.items.map((item) => item.kind + item.key).join();
    // An item came or went without an event: the strips on the cards are as old as the last one.
    if (before && before.seq === inbox.seq && before.items !== items) void loadBoard();
    before = { seq: inbox.seq, items };
  });
}

export function startStore(): void {
  startClock();
  startRounds();
  const repo = route.peek().query.get("repo");
  startLive(repo === ALL ? null : repo, { ready: loaded, lastSeq: () => headSeq, take, reopened: reload });
  effect(() => {
    void [at.value, withAbandoned.value];
    void loadBoard();
  });
}
