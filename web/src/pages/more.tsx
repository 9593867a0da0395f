// Everything else that is kept: what happened, what was decided, what agents remember and are told.
import type { ComponentChildren } from "preact";
import { canAct, Refused, useDoing } from "../acting";
import { post } from "../api";
import { capital, shortSha } from "../format";
import { here, route, toPage } from "../route";
import { askToNotify, letterKeys, notify } from "../settings";
import { at, feed, resource } from "../store";
import type { Decision, Directive, LogEvent, Memory } from "../types";
import { Empty, Loaded } from "../ui/states";
import { rich, TaskId, Time } from "../ui/text";
import { finds, Interfaces, Messages, Pads, Tokens } from "./more_posts";

const TABS: [string, string, () => ComponentChildren][] = [
  ["activity", "Activity", Activity],
  ["decisions", "Decisions", Decisions],
  ["memories", "Memories", Memories],
  ["directives", "Directives", Directives],
  ["pads", "Pads", Pads],
  ["interfaces", "Interfaces", Interfaces],
  ["messages", "Messages", Messages],
  ["tokens", "Tokens", Tokens],
  ["settings", "This browser", Settings],
];

/** Fields that tell a reader nothing. */
const QUIET = new Set(["reported", "lock_id", "mode", "fence", "ttl_seconds", "round", "origin", "base"]);
function plain(value: unknown): string {
  if (Array.isArray(value)) return value.map(plain).join(", ");
  if (typeof value !== "object" || value === null)
    return /^[0-9a-f]{40}$/.test(String(value)) ? shortSha(String(value)) : String(value);
  return Object.values(value)
    .filter((part) => part !== null && part !== "")
    .map(plain)
    .join(" ");
}

function Activity() {
  const task = route.value.query.get("task");
  const from = resource<{ events: LogEvent[] }>("/log", { limit: "200", task, at: at.value });
  const seen = new Set((from.data.value?.events ?? []).map((event) => event.seq));
  const fresh = at.value
    ? []
    : [...feed.value].reverse().filter((event) => !seen.has(event.seq) && (!task || event.task === task));
  const said = (event: LogEvent): string => {
    const { seq, ts, event: name, v, repo, agent, task: id, prev, hash, via, ...own } = event;
    void [seq, ts, name, v, repo, agent, id, prev, hash, via];
    return Object.entries(own)
      .filter(([, value]) => value !== null && value !== "" && !(Array.isArray(value) && !value.length))
      .filter(([key]) => !QUIET.has(key))
      .map(([key, value]) => `${key.replaceAll("_", " ")} ${plain(value)}`)
      .join(", ");
  };
  return (
    <Loaded from={from} rows={8}>
      {(answer) => {
        const events = [...fresh, ...answer.events].filter((event) =>
          finds(`${event.agent} ${event.event} ${event.task ?? ""} ${said(event)}`),
        );
        return events.length === 0 ? (
          <Empty>Nothing has happened yet.</Empty>
        ) : (
          <ul class="rows" aria-label="Events, newest first">
            {events.map((event) => (
              <li key={event.seq}>
                <span class="muted">
                  <Time ts={event.ts} />
                </span>
                <code>{event.agent}</code>
                <span>
                  {event.event.replaceAll("_", " ")} {event.task && <TaskId id={event.task} />}
                </span>
                <span class="muted one-line" title={said(event)}>
                  {said(event)}
                </span>
                <a class="muted num" href={here({ at: String(event.seq) })} title="Show this moment">
                  {event.seq}
                </a>
              </li>
            ))}
          </ul>
        );
      }}
    </Loaded>
  );
}

function Decisions() {
  const from = resource<{ decisions: Decision[] }>("/decisions", { all: "true", limit: "200", at: at.value });
  return (
    <Loaded from={from} rows={6}>
      {({ decisions }) => {
        const list = decisions.filter((one) => finds(`${one.id} ${one.question} ${one.answer ?? ""}`)).reverse();
        return list.length === 0 ? (
          <Empty command={'comity decision ask "Which of the two?" --option a --option b'}>No decision was asked for.</Empty>
        ) : (
          <ul class="rows">
            {list.map((one) => (
              <li key={one.id} data-decision={one.id} class={route.value.query.get("id") === one.id ? "is-sel" : ""}>
                <span class="muted">
                  <Time ts={one.created_at} />
                </span>
                <code>{one.id}</code>
                <span>
                  {one.question} {one.task && <TaskId id={one.task} />}
                </span>
                <span class="muted">
                  {one.state === "open" ? (
                    <a href={toPage("inbox")}>Open</a>
                  ) : (
                    <>
                      {capital(one.state)}: {one.answer}
                      {one.text && `: ${one.text}`}
                      {one.answered_by && <>, by {rich(one.answered_by)}</>}
                    </>
                  )}
                </span>
              </li>
            ))}
          </ul>
        );
      }}
    </Loaded>
  );
}

function Memories() {
  const from = resource<{ memories: Memory[] }>("/memories", { limit: "200", at: at.value });
  const doing = useDoing();
  return (
    <Loaded from={from} rows={6}>
      {({ memories }) => {
        const list = memories.filter((one) => finds(`${one.id} ${one.text} ${one.scope ?? ""} ${one.tags.join(" ")}`));
        return list.length === 0 ? (
          <Empty command={'comity memory write "Rates come from the day of booking" --type fact'}>
            Nothing is remembered yet.
          </Empty>
        ) : (
          <>
            <Refused refusal={doing.refusal} />
            <ul class="rows">
              {list.map((one) => (
                <li key={one.id}>
                  <span class="muted">
                    <Time ts={one.created_at} />
                  </span>
                  <code>{one.id}</code>
                  <span>{rich(one.text)}</span>
                  <span class="muted">
                    {capital(one.type)}
                    {one.scope && (
                      <>
                        {" "}
                        for <code>{one.scope}</code>
                      </>
                    )}
                    {one.source?.agent && <> by {rich(one.source.agent)}</>}
                  </span>
                  {canAct() && (
                    <button
                      class="btn tiny"
                      type="button"
                      disabled={doing.busy}
                      onClick={() =>
                        void doing.run(async () => {
                          await post(`/memories/${one.id}/forget`);
                          from.refresh();
                        })
                      }
                    >
                      Forget
                    </button>
                  )}
                </li>
              ))}
            </ul>
          </>
        );
      }}
    </Loaded>
  );
}

function Directives() {
  const from = resource<{ directives: Directive[] }>("/directives", { limit: "200", at: at.value });
  const doing = useDoing();
  return (
    <Loaded from={from} rows={4}>
      {({ directives }) =>
        directives.length === 0 ? (
          <Empty command={'comity directive create "Write tests first"'}>No directive is set.</Empty>
        ) : (
          <>
            <Refused refusal={doing.refusal} />
            <ul class="rows">
              {directives.map((one) => (
                <li key={one.id}>
                  <span class="muted">
                    <Time ts={one.created_at} />
                  </span>
                  <code>{one.id}</code>
                  <span>{rich(one.text)}</span>
                  <span class="muted">
                    {one.enabled ? "On" : "Off"}
                    {one.trigger && `, at ${one.trigger}`}
                    {one.expires_at && (
                      <>
                        , until <Time ts={one.expires_at} />
                      </>
                    )}
                  </span>
                  {canAct() && (
                    <button
                      class="btn tiny"
                      type="button"
                      disabled={doing.busy}
                      onClick={() =>
                        void doing.run(async () => {
                          await post(`/directives/${one.id}/toggle`);
                          from.refresh();
                        })
                      }
                    >
                      {one.enabled ? "Turn off" : "Turn on"}
                    </button>
                  )}
                </li>
              ))}
            </ul>
          </>
        )
      }
    </Loaded>
  );
}

function Settings() {
  return (
    <div class="settings">
      <label>
        <input
          type="checkbox"
          checked={letterKeys.value}
          onChange={(event) => {
            letterKeys.value = event.currentTarget.checked;
          }}
        />{" "}
        Letters are keys{" "}
        <span class="muted">Turn this off if you dictate or type by accident. Tab, Enter and Esc still work.</span>
      </label>
      <label>
        <input type="checkbox" checked={notify.value} onChange={() => void askToNotify()} /> Notify me{" "}
        <span class="muted">When a decision has used up half of its time.</span>
      </label>
    </div>
  );
}

export function More() {
  const tab = route.value.query.get("tab") ?? "activity";
  const Shown = TABS.find(([name]) => name === tab)?.[2] ?? Activity;
  return (
    <>
      <div class="head">
        <h1>More</h1>
        <nav class="seg" aria-label="What to show">
          {TABS.map(([name, title]) => (
            <a
              key={name}
              href={here({ tab: name, task: null, id: null, scope: null })}
              aria-current={name === tab ? "true" : undefined}
            >
              {title}
            </a>
          ))}
        </nav>
      </div>
      <Shown />
    </>
  );
}
