// One task: why it is where it is, what can be done now, and how it came here.
import { useEffect, useRef, useState } from "preact/hooks";
import { canAct, Refused, useDoing, Wants } from "../acting";
import { post } from "../api";
import { sentence } from "../format";
import { ownMove } from "../moving";
import { closeTask, go, here, route, toTask } from "../route";
import { at, board, resource } from "../store";
import type { Panel, Verb } from "../types";
import { copyText, useKeyAct } from "../ui/hooks";
import { COLUMN, Icon, State, STATUS } from "../ui/shapes";
import { Loaded } from "../ui/states";
import { Age, rich, Time } from "../ui/text";
import { BriefOf } from "./brief";
import { DiffSection } from "./diff";
import { Facts } from "./facts";
import { Gates } from "./gates";
import { Graph } from "./graph";
import { arrival, History } from "./history";
import { Review } from "./review";
import { RunsOf } from "./runs";

/** The one filled button: approving. The next one has an edge. */
const weight = (verb: Verb): string => (verb.verb === "approve" ? "primary" : verb.verb === "request-changes" ? "edge" : "");
const KEY: Record<string, string> = { approve: "a", "request-changes": "r" };

export function Verbs({ panel, quoted }: { panel: Panel; quoted?: string }) {
  const doing = useDoing();
  const { task, verbs } = panel;
  const asked = route.value.query.get("verb");
  const wanting = verbs.find((verb) => verb.verb === asked && verb.allowed);
  const send = async (verb: Verb, values: Record<string, unknown> = {}): Promise<void> => {
    ownMove.value = task.id;
    await post(`/tasks/${encodeURIComponent(task.id)}/${verb.verb}`, values);
    go(here({ verb: null, review: null }), true);
  };
  const choose = (verb: Verb): void => {
    if (!canAct() || doing.busy) return;
    if (verb.wants.length) go(here({ verb: verb.verb }), true);
    else void doing.run(() => send(verb));
  };
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const listen = (event: Event): void => {
      const key = (event as CustomEvent<{ key: string }>).detail.key;
      const verb = verbs.find((one) => one.allowed && KEY[one.verb] === key);
      if (!verb) return;
      event.preventDefault();
      choose(verb);
    };
    const panelBox = box.current?.closest("[data-panel]");
    panelBox?.addEventListener("keyact", listen);
    return () => panelBox?.removeEventListener("keyact", listen);
  });
  const allowed = panel.at ? [] : verbs.filter((verb) => verb.allowed);
  const not = verbs.filter((verb) => !verb.allowed && verb.why);
  const order = (verb: Verb): number => (verb.verb === "approve" ? 0 : verb.verb === "request-changes" ? 1 : 2);
  return (
    <div ref={box}>
      {allowed.length > 0 && (
        <div class="verbs">
          {[...allowed]
            .sort((a, b) => order(a) - order(b))
            .map((verb) => (
              <button
                key={verb.verb}
                type="button"
                class={`btn ${weight(verb)}`}
                data-verb={verb.verb}
                disabled={!canAct() || doing.busy}
                onClick={() => choose(verb)}
              >
                {verb.label}
                {KEY[verb.verb] && <kbd>{KEY[verb.verb]}</kbd>}
              </button>
            ))}
        </div>
      )}
      {wanting && (
        <Wants
          key={wanting.verb}
          title={wanting.label}
          fields={wanting.wants}
          {...(quoted ? { first: quoted } : {})}
          send={(values) => send(wanting, values)}
          cancel={() => go(here({ verb: null }), true)}
        />
      )}
      <Refused refusal={doing.refusal} />
      {not.length > 0 && !panel.at && (
        <details class="notnow">
          <summary>
            Not now, because:{" "}
            {not.slice(0, 3).map((verb, index) => (
              <span key={verb.verb}>
                {index > 0 && ", "}
                <b>{verb.label.toLowerCase()}</b>
              </span>
            ))}
            {not.length > 3 && ` and ${not.length - 3} more`}
          </summary>
          <ul>
            {not.map((verb) => (
              <li key={verb.verb}>
                <b>{verb.label}</b>: {rich(verb.why ?? "")}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

/** The tasks of the column that a task is in, as the board shows them. */
function column(id: string): string[] {
  const cards = board.value?.cards;
  const card = cards?.get(id);
  if (!cards || !card) return [];
  return [...cards.values()]
    .filter((one) => one.column === card.column)
    .sort((a, b) => a.rank - b.rank || a.number - b.number)
    .map((one) => one.id);
}

const STANDS: Record<string, string> = { in_progress: "At work", review: "In review", merging: "In the merge" };

function Head({ panel }: { panel: Panel }) {
  const { task, card, why } = panel;
  const list = column(task.id);
  const how = arrival(panel);
  return (
    <div class="panel-head">
      <div class="bar">
        <State look={STATUS[task.status]}>{STATUS[task.status].word}</State>
        <span>·</span>
        <code>{task.id}</code>
        <span>·</span>
        <span class={`pri ${task.priority <= "P1" ? "hi" : ""}`}>{task.priority}</span>
        <span>·</span>
        <span>
          <Age since={card.since} /> in this state
        </span>
        <span class="push" />
        {list.length > 1 && (
          <span class="desk">
            {list.indexOf(task.id) + 1} of {list.length} in {COLUMN[card.column].word.toLowerCase()} <kbd>j</kbd> <kbd>k</kbd>
          </span>
        )}
        <a class="icon-btn" href={closeTask()} aria-label="Close (Esc)">
          <Icon name="close" large />
        </a>
      </div>
      <h1 id="panel-title">{task.title}</h1>
      <p class="because">
        {how && (
          <>
            {STANDS[task.status] ?? STATUS[task.status].word} since <Time ts={card.since} />, when <code>{how.who}</code>{" "}
            {rich(how.what)}.{" "}
          </>
        )}
        {rich([why.summary, ...why.reasons.filter((reason) => reason !== why.summary)].map(sentence).join(" "))}
      </p>
      <Verbs panel={panel} />
    </div>
  );
}

export function TaskPanel({ id, reviewing }: { id: string; reviewing: boolean }) {
  const box = useRef<HTMLElement>(null);
  const [opener] = useState(() => document.activeElement);
  const from = resource<Panel>(`/tasks/${encodeURIComponent(id)}/panel`, { at: at.value });
  useEffect(() => {
    box.current?.focus({ preventScroll: true });
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected && !route.peek().task) opener.focus({ preventScroll: true });
    };
  }, []);
  useKeyAct(box, (key) => {
    if (key === "y") {
      copyText(id);
      return true;
    }
    return false;
  });
  const keys = (event: KeyboardEvent): void => {
    if ((event.key !== "j" && event.key !== "k") || event.target !== box.current || event.metaKey || event.ctrlKey) return;
    const list = column(id);
    const next = list[list.indexOf(id) + (event.key === "j" ? 1 : -1)];
    if (next) {
      event.preventDefault();
      event.stopPropagation();
      go(toTask(next, { verb: null }), true);
    }
  };
  return (
    <section
      class={`panel ${reviewing ? "is-review" : ""}`}
      role="dialog"
      aria-modal={false}
      aria-label={`Task ${id}`}
      data-panel={id}
      tabIndex={-1}
      ref={box}
      onKeyDown={keys}
    >
      <Loaded from={from} rows={6} tall>
        {(panel) =>
          reviewing ? (
            <Review panel={panel} />
          ) : (
            <>
              <Head panel={panel} />
              <div class="cols" tabIndex={0} role="region" aria-label="Details">
                <div>
                  {panel.task.description && (
                    <section class="sec">
                      <p class="described">{rich(panel.task.description)}</p>
                    </section>
                  )}
                  <RunsOf panel={panel} />
                  <Gates panel={panel} />
                  <Graph panel={panel} />
                  <History panel={panel} />
                  <DiffSection panel={panel} />
                </div>
                <div>
                  <Facts panel={panel} />
                  <BriefOf task={panel.task.id} />
                </div>
              </div>
            </>
          )
        }
      </Loaded>
      {from.error.value && !from.data.value && (
        <a class="icon-btn alone" href={closeTask()} aria-label="Close (Esc)">
          <Icon name="close" large />
        </a>
      )}
    </section>
  );
}
