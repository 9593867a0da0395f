// What needs the reader, in the server's order. An item goes when its cause goes; nothing is marked as read.
import { useRef, useState } from "preact/hooks";
import { canAct, struck } from "../acting";
import { matchesItem, words } from "../filter";
import { duration, plural } from "../format";
import { useHeld } from "../held";
import { go, here } from "../route";
import { board, clock, inboxOf, overAll } from "../store";
import type { Inbox, Item } from "../types";
import { Empty, Loaded } from "../ui/states";
import { Aside } from "./inbox_aside";
import { Ask, Row, StruckRow } from "./inbox_rows";
import { FirstRun } from "./first_run";

const isDecision = (item: Item): boolean => item.decision !== null;

function Summary({ inbox }: { inbox: Inbox }) {
  const { at_work, waiting } = inbox.aside.agents;
  const crew = [at_work ? `${plural(at_work, "agent")} at work` : "", waiting ? `${waiting} wait${waiting === 1 ? "s" : ""}` : ""]
    .filter(Boolean)
    .join(", ");
  return (
    <p class="sum">
      {inbox.count > 0 && <b>{plural(inbox.count, "thing needs", "things need")} you.</b>} {crew && `${crew}.`}
    </p>
  );
}

function Nothing({ inbox }: { inbox: Inbox }) {
  const last = inbox.aside.last_event;
  return (
    <Empty>
      Nothing needs you. {plural(inbox.aside.agents.at_work, "agent")} at work
      {last && `, last event ${duration((clock.value - Date.parse(last.ts)) / 1000)} ago`}.
    </Empty>
  );
}

function List({ inbox }: { inbox: Inbox }) {
  const box = useRef<HTMLElement>(null);
  const known = useRef(new Map<string, Item>());
  const dealt = useRef(new Set<string>());
  const [opened, open] = useState<string | null>(null);
  const cards = board.value?.cards;
  const cardOf = (item: Item) => (item.task && !item.repo ? cards?.get(item.task) : undefined);
  const items = inbox.items.filter((item) => matchesItem(item, cardOf(item)));
  for (const item of items) known.current.set(item.key, item);

  // What the reader has just dealt with stays in its place for a while.
  const order = items.map((item) => item.key);
  for (const key of struck.value.keys()) dealt.current.add(key);
  for (const [key, row] of struck.value) if (!order.includes(key)) order.splice(Math.min(row.place, order.length), 0, key);
  const held = useHeld(order, box, () => document.querySelector("main.page"));

  const now = new Set(order);
  const first = items.find((item) => isDecision(item) && !struck.value.has(item.key));
  const asked = opened && items.some((item) => item.key === opened) ? opened : first?.key;
  return (
    <section class="inbox-list" aria-label="What needs you" ref={box} data-can-act={canAct() ? "" : undefined}>
      {held.fresh > 0 && (
        <button class="pill" type="button" onClick={held.release}>
          {held.fresh} new
        </button>
      )}
      {held.shown.map((key, place) => {
        const item = known.current.get(key);
        const row = struck.value.get(key);
        if (row) return <StruckRow key={key} item={row.item} row={row} />;
        if (!item) return null;
        // What the reader dealt with goes; what others settled stays in its place until the list is let go.
        if (!now.has(key)) return dealt.current.has(key) ? null : <StruckRow key={key} item={item} row={null} />;
        return key === asked ? (
          <Ask key={key} item={item} place={place} />
        ) : (
          <Row key={key} item={item} place={place} open={() => open(key)} />
        );
      })}
      {items.length === 0 &&
        held.shown.length === 0 &&
        (words.value.length ? (
          <Empty>
            Nothing matches {words.value.join(" ")}.{" "}
            <button class="btn" type="button" onClick={() => go(here({ q: null }))}>
              Clear
            </button>
          </Empty>
        ) : (
          <Nothing inbox={inbox} />
        ))}
      {inbox.more > 0 && <p class="muted small more">{plural(inbox.more, "more item")} below these.</p>}
    </section>
  );
}

export function InboxPage() {
  const inbox = inboxOf();
  const empty =
    !overAll.value &&
    board.value &&
    board.value.tasks === 0 &&
    inbox.data.value?.count === 0 &&
    inbox.data.value.aside.agents.at_work === 0;
  return (
    <>
      <div class="head">
        <h1>Inbox</h1>
        {inbox.data.value && <Summary inbox={inbox.data.value} />}
        <div class="tools desk">
          <span>
            <kbd>j</kbd> <kbd>k</kbd> move
          </span>
          <span>
            <kbd>1</kbd> to <kbd>9</kbd> answer
          </span>
          <span>
            <kbd>Enter</kbd> open
          </span>
          <span>
            <kbd>?</kbd> keys
          </span>
        </div>
      </div>
      {empty ? (
        <FirstRun />
      ) : (
        <div class="two">
          <Loaded from={inbox} rows={4} tall>
            {(value) => <List inbox={value} />}
          </Loaded>
          {inbox.data.value && <Aside aside={inbox.data.value.aside} items={inbox.data.value.items} />}
        </div>
      )}
    </>
  );
}
