// All tasks in six columns. Cards change in place; they are moved by dragging or by `m`.
import { computed } from "@preact/signals";
import { useRef, useState } from "preact/hooks";
import { canAct } from "../acting";
import { matches, words } from "../filter";
import { plural } from "../format";
import { useHeld } from "../held";
import { dialog } from "../keys";
import { drag, dropOn, lit, ownMove } from "../moving";
import { go, here, route } from "../route";
import { board, boardError, loadBoard } from "../store";
import type { Card, Column as ColumnShape, ColumnName } from "../types";
import { Menu } from "../ui/menu";
import { COLUMN, GateDot, Icon } from "../ui/shapes";
import { Empty, Outline, Problem } from "../ui/states";
import { Windowed } from "../ui/windowed";
import { CardView } from "./card";

const byRank = (a: Card, b: Card): number => a.rank - b.rank || a.number - b.number;
/** The cards of each column that the filter lets through, in the server's order. */
const columns = computed(() => {
  const found = new Map<ColumnName, Card[]>();
  for (const card of board.value?.cards.values() ?? []) {
    if (!matches(card)) continue;
    const list = found.get(card.column);
    if (list) list.push(card);
    else found.set(card.column, [card]);
  }
  for (const list of found.values()) list.sort(byRank);
  return found;
});

const GROUPS: Record<string, (card: Card) => string> = {
  agent: (card) => card.agent ?? "nobody",
  label: (card) => card.labels[0] ?? "no label",
  priority: (card) => card.priority,
  epic: (card) => card.epic ?? "no epic",
  initiative: (card) => card.initiative ?? "no initiative",
};

function Cards({ column, cards }: { column: ColumnShape; cards: Card[] }) {
  const box = useRef<HTMLDivElement>(null);
  const scroller = (): Element | null =>
    matchMedia("(max-width: 639px)").matches ? document.querySelector("main.page") : box.current;
  const group = GROUPS[route.value.query.get("group") ?? ""];
  const sorted = group ? [...cards].sort((a, b) => group(a).localeCompare(group(b)) || byRank(a, b)) : cards;
  const held = useHeld(
    sorted.map((card) => card.id),
    box,
    scroller,
    drag.value !== null,
    ownMove.value,
  );
  const all = board.value?.cards;
  let before: string | null = null;
  const heads = new Map<string, string>();
  if (group)
    for (const card of sorted) {
      const name = group(card);
      if (name !== before) heads.set(card.id, name);
      before = name;
    }
  return (
    <div class="cards" ref={box}>
      {held.fresh > 0 && (
        <button class="pill" type="button" onClick={held.release}>
          {held.fresh} new
        </button>
      )}
      <Windowed
        ids={held.shown}
        guess={86}
        gap={4}
        scroller={scroller}
        row={(id) => {
          const card = all?.get(id);
          return (
            <>
              {heads.has(id) && <h3 class="group-head">{heads.get(id)}</h3>}
              {card ? <CardView key={id} card={card} away={card.column !== column.name} /> : null}
            </>
          );
        }}
      />
    </div>
  );
}

function Column({ column, tab }: { column: ColumnShape; tab: boolean }) {
  const [over, setOver] = useState(0);
  const look = COLUMN[column.name];
  const cards = columns.value.get(column.name) ?? [];
  const shown = words.value.length ? cards.length : column.count;
  const light = lit(column.name);
  const note = column.name === "queued" ? `${board.value?.ready ?? 0} ready` : column.name === "done" ? "24 h" : null;
  return (
    <section
      class={`col ${tab ? "is-tab" : ""} ${light ? `lit-${light}` : ""} ${over > 0 && drag.value ? "is-over" : ""}`}
      aria-label={column.title}
      data-column={column.name}
      onDragEnter={(event) => {
        if (drag.peek()) {
          event.preventDefault();
          setOver(over + 1);
        }
      }}
      onDragLeave={() => setOver(Math.max(0, over - 1))}
      onDragOver={(event) => {
        if (drag.peek()) event.preventDefault();
      }}
      onDrop={(event) => {
        event.preventDefault();
        setOver(0);
        void dropOn(column.name, column.title);
      }}
    >
      <h2>
        <Icon name={look.icon} tone={look.tone} />
        {column.title} <span class="n">{shown}</span>
        {note && <span class="note">{note}</span>}
      </h2>
      <Cards column={column} cards={cards} />
    </section>
  );
}

const Legend = () => (
  <span class="legend">
    {(["verified", "observed", "claimed", "failed", "open"] as const).map((mark) => (
      <span key={mark}>
        <GateDot mark={mark} />
        {mark}
      </span>
    ))}
  </span>
);

function Tools() {
  const group = route.value.query.get("group") ?? "none";
  const choices = ["none", ...Object.keys(GROUPS)].map((name) => ({
    key: name,
    label: name,
    run: () => go(here({ group: name === "none" ? null : name })),
  }));
  return (
    <div class="tools">
      <Legend />
      <Menu
        label="Group by"
        button={
          <>
            Group: {group} <Icon name="down" />
          </>
        }
        choices={choices}
      />
      {canAct() && (
        <button
          class="btn"
          type="button"
          onClick={() => {
            dialog.value = "create";
          }}
        >
          <Icon name="plus" />
          New task
        </button>
      )}
    </div>
  );
}

export function BoardPage() {
  const now = board.value;
  const tab = route.value.query.get("col") ?? "working";
  const found = words.value.length ? [...columns.value.values()].reduce((sum, list) => sum + list.length, 0) : null;
  return (
    <>
      <div class="head">
        <h1>Board</h1>
        {now && (
          <p class="sum">
            {found !== null ? `${found} of ${plural(now.tasks, "task")}` : plural(now.tasks, "task")}, {now.ready} ready to claim
            {now.more && (
              <>
                . <b>Only the first {now.cards.size} are shown.</b>
              </>
            )}
          </p>
        )}
        <Tools />
      </div>
      {!now && boardError.value && <Problem refusal={boardError.value} retry={() => void loadBoard()} />}
      {!now && !boardError.value && (
        <div class="board">
          {["queued", "working", "review", "approved", "blocked", "done"].map((name) => (
            <section key={name} class="col">
              <Outline rows={4} tall />
            </section>
          ))}
        </div>
      )}
      {now && now.tasks === 0 && <Empty command={'comity task create "Say what should be done"'}>No tasks yet.</Empty>}
      {now && found === 0 && now.tasks > 0 && (
        <Empty>
          Nothing matches {words.value.join(" ")}.{" "}
          <button class="btn" type="button" onClick={() => go(here({ q: null }))}>
            Clear
          </button>
        </Empty>
      )}
      {now && now.tasks > 0 && found !== 0 && (
        <>
          <nav class="tabs" aria-label="Columns">
            {now.columns.map((column) => (
              <a key={column.name} href={here({ col: column.name })} aria-current={tab === column.name ? "true" : undefined}>
                <b>{words.value.length ? (columns.value.get(column.name)?.length ?? 0) : column.count}</b>
                {column.title}
              </a>
            ))}
          </nav>
          <div class="board">
            {now.columns.map((column) => (
              <Column key={column.name} column={column} tab={column.name === tab} />
            ))}
          </div>
        </>
      )}
    </>
  );
}
