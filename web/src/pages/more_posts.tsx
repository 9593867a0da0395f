// What agents leave for each other: pads, interfaces, messages; and the tokens that they call with.
import { useState } from "preact/hooks";
import { canAct, Refused, useDoing } from "../acting";
import { post } from "../api";
import { words } from "../filter";
import { plural } from "../format";
import { here, route } from "../route";
import { at, board, resource } from "../store";
import type { Interface, LogEvent, PadAnswer, Token } from "../types";
import { Empty, Loaded } from "../ui/states";
import { rich, TaskId, Time } from "../ui/text";

export const finds = (text: string): boolean => words.value.every((word) => text.toLowerCase().includes(word.toLowerCase()));
const GLOBAL = "global";

/** The scopes that may have a pad: everybody's, and those that tasks on the board name. */
function scopes(): string[] {
  const found = new Set<string>();
  for (const card of board.value?.cards.values() ?? []) {
    for (const one of [card.initiative, card.epic, card.parent]) if (one) found.add(one);
  }
  return [GLOBAL, ...[...found].sort((a, b) => a.localeCompare(b, "en", { numeric: true }))];
}

export function Pads() {
  const known = scopes();
  const scope = route.value.query.get("scope") ?? GLOBAL;
  const from = resource<PadAnswer>("/pads/show", { scope: scope === GLOBAL ? null : scope, at: at.value });
  const doing = useDoing();
  const [text, setText] = useState("");
  const append = (event: Event): void => {
    event.preventDefault();
    if (!text.trim()) return;
    void doing
      .run(() => post("/pads/append", { text: text.trim(), scope: scope === GLOBAL ? null : scope }))
      .then((done) => {
        if (done) setText("");
      });
  };
  return (
    <>
      <nav class="chips" aria-label="Scope">
        {(known.includes(scope) ? known : [...known, scope]).map((one) => (
          <a key={one} href={here({ scope: one })} aria-current={one === scope ? "true" : undefined}>
            {one === GLOBAL ? "Everybody" : one}
          </a>
        ))}
      </nav>
      <Loaded from={from} rows={4}>
        {({ pad }) => (
          <>
            {pad.version === 0 ? (
              <Empty command={'comity pad append "The old parser stays until T7 is done"'}>Nobody has written here yet.</Empty>
            ) : (
              <>
                <p class="small muted">
                  Version {pad.version}
                  {pad.by && <>, last written by {rich(pad.by)}</>}
                  {pad.ts && (
                    <>
                      , <Time ts={pad.ts} />
                    </>
                  )}
                  {pad.wants_tidying && ". It is long and wants tidying."}
                </p>
                <pre class="sheet" tabIndex={0} role="region" aria-label={`Pad of ${scope}`}>
                  {pad.text}
                </pre>
              </>
            )}
            {canAct() && (
              <form class="wants" onSubmit={append} aria-label="Add to the pad">
                <label>
                  <span>Add to it</span>
                  <textarea rows={3} value={text} onInput={(event) => setText(event.currentTarget.value)} />
                </label>
                <Refused refusal={doing.refusal} />
                <div class="row">
                  <button class="btn edge" disabled={doing.busy || !text.trim()}>
                    Add
                  </button>
                </div>
              </form>
            )}
          </>
        )}
      </Loaded>
    </>
  );
}

export function Interfaces() {
  const from = resource<{ interfaces: Interface[] }>("/interfaces", { limit: "200", at: at.value });
  const chosen = route.value.query.get("id");
  return (
    <Loaded from={from} rows={4}>
      {({ interfaces }) => {
        const list = interfaces.filter((one) => finds(`${one.name} ${one.by} ${one.paths.join(" ")}`));
        return list.length === 0 ? (
          <Empty command="comity interface publish auth-api api.ts --path 'src/auth/**'">No interface is published.</Empty>
        ) : (
          <div class="leaves">
            {list.map((one) => (
              <details key={one.name} open={one.name === chosen}>
                <summary>
                  <b>{one.name}</b>{" "}
                  <span class="muted">
                    version {one.version} by {one.by}, <Time ts={one.ts} />
                  </span>
                </summary>
                <p class="small muted">
                  {one.task && (
                    <>
                      Published for <TaskId id={one.task} />.{" "}
                    </>
                  )}
                  {one.paths.length > 0 && (
                    <>
                      About <code>{one.paths.join(", ")}</code>.{" "}
                    </>
                  )}
                  {one.for.length > 0 && <>For {one.for.join(", ")}.</>}
                </p>
                <pre class="sheet" tabIndex={0} role="region" aria-label={`Interface ${one.name}`}>
                  {one.text}
                </pre>
              </details>
            ))}
          </div>
        );
      }}
    </Loaded>
  );
}

const said = (event: LogEvent, key: string): string => {
  const value = event[key];
  return typeof value === "string" ? value : value == null ? "" : JSON.stringify(value);
};

export function Messages() {
  const from = resource<{ events: LogEvent[] }>("/events", { event: "message_sent", limit: "200", at: at.value });
  return (
    <Loaded from={from} rows={4}>
      {({ events }) => {
        const list = events.filter((one) => finds(`${one.agent} ${said(one, "to")} ${said(one, "text")}`)).reverse();
        return list.length === 0 ? (
          <Empty command={"comity tell T7 'parse_date now returns a Result'"}>No message was sent.</Empty>
        ) : (
          <ul class="rows" aria-label="Messages, newest first">
            {list.map((one) => (
              <li key={one.seq}>
                <span class="muted">
                  <Time ts={one.ts} />
                </span>
                <code>{one.agent}</code>
                <span>{rich(said(one, "text"))}</span>
                <span class="muted">to {rich(said(one, "to"))}</span>
                <a class="muted num" href={here({ at: String(one.seq) })} title="Show this moment">
                  {one.seq}
                </a>
              </li>
            ))}
          </ul>
        );
      }}
    </Loaded>
  );
}

export function Tokens() {
  const from = resource<{ tokens: Token[] }>("/tokens");
  const doing = useDoing();
  return (
    <Loaded from={from} rows={3}>
      {({ tokens }) =>
        tokens.length === 0 ? (
          <Empty command="comity token create --agent codex:web --expires 7d">Nobody has a token.</Empty>
        ) : (
          <>
            <p class="small muted">{plural(tokens.length, "token")}. comity keeps their hashes only.</p>
            <Refused refusal={doing.refusal} />
            <ul class="rows">
              {tokens.map((one) => (
                <li key={one.id}>
                  <code>{one.id}</code>
                  <code>{one.agent}</code>
                  <span>
                    {one.task || one.verbs.length
                      ? `Only ${[one.task, ...one.verbs].filter(Boolean).join(", ")}`
                      : "All that its roles may"}
                  </span>
                  <span class="muted">
                    until <Time ts={one.expires_at} />, made by {one.created_by}
                  </span>
                  {canAct() && (
                    <button
                      class="btn tiny"
                      type="button"
                      disabled={doing.busy}
                      onClick={() =>
                        void doing.run(async () => {
                          await post(`/tokens/${one.id}/revoke`);
                          from.forget();
                        })
                      }
                    >
                      Revoke
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
