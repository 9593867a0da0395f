// The frame around the pages: rail, top bar, the band of the past, the task beside them.
import { effect } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { asProblem, openSession, Refusal, session } from "./api";
import { startAttention } from "./attention";
import { CreateTask, KeyHelp } from "./dialogs";
import { clockTime, duration, plural, when } from "./format";
import { dialog } from "./keys";
import { link, locked } from "./live";
import { startMoving } from "./moving";
import { Agents } from "./pages/agents";
import { BoardPage } from "./pages/board";
import { FlowPage } from "./pages/flow";
import { InboxPage } from "./pages/inbox";
import { More } from "./pages/more";
import { TimelinePage } from "./pages/timeline";
import { TreePage } from "./pages/tree";
import { ALL, go, here, type Page, route, toPage } from "./route";
import { nextTheme, theme } from "./settings";
import { at, board, inboxOf, lastEvent, newerEvents, overAll, past, present, startStore } from "./store";
import { TaskPanel } from "./task/panel";
import { useAnswer } from "./ui/hooks";
import { Menu } from "./ui/menu";
import { Icon } from "./ui/shapes";
import { Command, Problem } from "./ui/states";

const RAIL: [Page, string, string][] = [
  ["inbox", "Inbox", "g i"],
  ["board", "Board", "g b"],
  ["tree", "Tree", "g t"],
  ["agents", "Agents", "g a"],
  ["timeline", "Timeline", "g l"],
  ["flow", "Flow", "g f"],
  ["more", "More", "g m"],
];

function Rail() {
  const count = useAnswer(inboxOf())?.count ?? 0;
  return (
    <nav class="rail" aria-label="Pages">
      <a class="brand" href={toPage("inbox")} aria-label="comity">
        <svg width="24" height="24" aria-hidden="true">
          <use href="#mark" />
        </svg>
      </a>
      {RAIL.map(([page, title, keys]) => (
        <a
          key={page}
          class="to"
          href={toPage(page)}
          title={`${title} (${keys})`}
          aria-current={route.value.page === page ? "page" : undefined}
        >
          <svg aria-hidden="true">
            <use href={`#p-${page}`} />
          </svg>
          {title}
          {page === "inbox" && count > 0 && (
            <span class="badge" title={`${plural(count, "thing needs", "things need")} you`}>
              {count}
            </span>
          )}
        </a>
      ))}
    </nav>
  );
}

/** A stream that is gone for less than this is not worth a word. */
const QUIET_MS = 2_000;
function Live() {
  const { up, since } = link.value;
  // The clock is read for its tick alone: it may be the server's.
  const gone = present.value ? Date.now() - since : 0;
  if (!up && board.value && gone >= QUIET_MS) {
    return (
      <span class="live push" role="status">
        <Icon name="ring" tone="changes" />
        <b>Reconnecting</b>
        <span>, {duration(gone / 1000)} old</span>
      </span>
    );
  }
  const last = lastEvent.value;
  const said = past.value
    ? ` · ${plural(newerEvents.value, "newer event")}`
    : last
      ? ` · last event ${duration((present.value - Date.parse(last.ts)) / 1000)} ago`
      : "";
  return (
    <span class="live push">
      <Icon name="dot" tone="done" />
      <b>Live</b>
      <span class="seq">{said}</span>
    </span>
  );
}

const FILTER_MS = 150;
function Filter() {
  const [open, setOpen] = useState(false);
  const [text, setText] = useState(route.value.query.get("q") ?? "");
  const asked = route.value.query.get("q") ?? "";
  useEffect(() => setText(asked), [asked]);
  useEffect(() => {
    if (text === asked) return;
    const timer = setTimeout(() => go(here({ q: text }), true), FILTER_MS);
    return () => clearTimeout(timer);
  }, [text]);
  useEffect(() => {
    if (open) document.getElementById("filter")?.focus();
  }, [open]);
  return (
    <>
      <label class={`field filter ${open ? "is-open" : ""}`}>
        <Icon name="search" />
        <input
          id="filter"
          type="search"
          value={text}
          placeholder="Filter, for example is:stuck or agent:codex"
          aria-label="Filter"
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => setText(event.currentTarget.value)}
          onBlur={() => setOpen(false)}
        />
        <kbd>/</kbd>
      </label>
      <button class="icon-btn only-phone" type="button" aria-label="Filter" onClick={() => setOpen(!open)}>
        <Icon name="search" large />
      </button>
    </>
  );
}

function Repo() {
  const repos = session.value?.repos ?? [];
  const name = overAll.value ? "All repositories" : (board.value?.repo ?? "");
  if (repos.length < 2) return <span class="repo">{name}</span>;
  const choices = [
    { key: ALL, label: "All repositories", note: "Inbox", run: () => go(toPage("inbox", { repo: ALL, at: null })) },
    ...repos.map((repo) => ({ key: repo, label: repo, run: () => go(toPage(route.peek().page, { repo, at: null })) })),
  ];
  return (
    <span class="repo">
      <Menu
        label="Repository"
        button={
          <>
            {name} <Icon name="down" />
          </>
        }
        choices={choices}
      />
    </span>
  );
}

const THEME = { system: "as the system", light: "light", dark: "dark" };
const Top = () => (
  <header class="top">
    <Repo />
    <Filter />
    <Live />
    <button
      class="icon-btn"
      type="button"
      aria-label={`Theme: ${THEME[theme.value]}`}
      title={`Theme: ${THEME[theme.value]}`}
      onClick={nextTheme}
    >
      <Icon name="theme" large />
    </button>
    <code class="who muted">{session.value?.me ?? "read only"}</code>
  </header>
);

/** The band that every page has while it shows the past. */
export function Band() {
  if (!past.value) return null;
  const moment = board.value?.at;
  const same = moment && (at.value === String(moment.seq) || at.value === moment.ts);
  return (
    <div class="band" role="status">
      <Icon name="clock" tone="changes" />
      <span>
        <strong>
          {moment
            ? `As of ${when(moment.ts, present.value)}, seq ${moment.seq}.`
            : `As of ${/^\d+$/.test(at.value ?? "") ? `seq ${at.value}` : clockTime(at.value ?? "")}.`}
        </strong>
        <span class="desk"> Every page shows this moment and is read-only.</span>
      </span>
      <span class="push" />
      {same !== false && (
        <span class="muted small desk">
          <kbd>[</kbd> <kbd>]</kbd> step
        </span>
      )}
      <button class="btn edge" type="button" onClick={() => go(here({ at: null }))}>
        Back to now <kbd>n</kbd>
      </button>
    </div>
  );
}

const PAGE: Record<Page, () => ComponentChildren> = {
  inbox: InboxPage,
  board: BoardPage,
  tree: TreePage,
  agents: Agents,
  timeline: TimelinePage,
  flow: FlowPage,
  more: More,
};

function Shell() {
  const { page, task, query } = route.value;
  const Shown = PAGE[page];
  return (
    <div class={`app ${task ? "has-panel" : ""}`}>
      <Rail />
      <Top />
      <main class={`page ${page}-page`} tabIndex={-1}>
        <Band />
        <Shown />
      </main>
      {task && <TaskPanel key={task} id={task} reviewing={query.get("review") !== null} />}
      {dialog.value === "keys" && <KeyHelp />}
      {dialog.value === "create" && <CreateTask />}
    </div>
  );
}

function Door({ refusal }: { refusal: Refusal }) {
  const locked = refusal.status === 401 || refusal.status === 403;
  return (
    <main class="door">
      <svg width="32" height="32" aria-hidden="true">
        <use href="#mark" />
      </svg>
      {locked ? (
        <>
          <h1>This page needs a link</h1>
          <p>A link opens it once, for one browser. Make one in the repository:</p>
          <Command text="comity link" />
          <p class="muted">{refusal.message}</p>
        </>
      ) : (
        <Problem refusal={refusal} retry={() => location.reload()} />
      )}
    </main>
  );
}

const RETRY_MS = 2_000;
export function App() {
  const [refusal, refuse] = useState<Refusal | null>(null);
  const [open, setOpen] = useState(false);
  useEffect(() => {
    const begin = (): void => {
      openSession().then(
        () => {
          refuse(null);
          startStore();
          startAttention();
          startMoving();
          setOpen(true);
        },
        (problem: unknown) => {
          const one = asProblem(problem);
          refuse(one);
          if (one.status === 0 || one.status >= 500) setTimeout(begin, RETRY_MS);
        },
      );
    };
    begin();
    return effect(() => {
      document.documentElement.dataset["page"] = route.value.page;
    });
  }, []);
  if (locked.value) return <Door refusal={new Refusal("unauthenticated", "The session of this browser has ended.", null, 401)} />;
  if (refusal && !open) return <Door refusal={refusal} />;
  return open ? <Shell /> : null;
}
