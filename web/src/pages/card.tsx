// One task on the board.
import { Component } from "preact";
import { useRef, useState } from "preact/hooks";
import { canAct, Refused } from "../acting";
import { fileName, plural } from "../format";
import { beginDrag, doVerb, drag, drops, endDrag, refusedMove, tryVerb, verbsOf } from "../moving";
import { asProblem } from "../api";
import { go, route, toTask } from "../route";
import type { Card, Verb } from "../types";
import { copyText, useKeyAct, useTint } from "../ui/hooks";
import { type Choice, Choices } from "../ui/menu";
import { Agent, COLUMN, GateDots, Icon, kindLook, STATUS } from "../ui/shapes";
import { Age, Time } from "../ui/text";

const LINE_ICON: Record<string, [string, string]> = {
  held: ["lock", ""],
  claimed: ["claimed", "working"],
  sent_back: ["changes", "changes"],
  reviewer: ["review", "review"],
  merging: ["merging", "approved"],
  blocker: ["blocked", "blocked"],
};

function QuietLine({ line, note }: { line: NonNullable<Card["line"]>; note: boolean }) {
  const icon = LINE_ICON[line.kind];
  const held = line.kind === "held" ? /^(Held:?) (.+)$/.exec(line.words) : null;
  return (
    <span class={`r3 ${note ? "note" : ""} ${line.kind === "ready" ? "can" : ""}`} title={line.words}>
      {icon && <Icon name={icon[0]} tone={icon[1]} />}
      <span class="one-line">
        {held ? (
          <>
            {held[1]} <code>{fileName(held[2] as string)}</code>
          </>
        ) : (
          line.words
        )}
      </span>
    </span>
  );
}

function MoveMenu({ id, close }: { id: string; close: () => void }) {
  const [verbs, set] = useState<Verb[] | null>(null);
  const asked = useRef(false);
  if (!asked.current) {
    asked.current = true;
    verbsOf(id).then(set, (problem: unknown) => {
      refusedMove.value = { id, refusal: asProblem(problem) };
      close();
    });
  }
  if (!verbs) return null;
  const choices: Choice[] = drops(verbs)
    .filter((verb) => verb.allowed)
    .map((verb) => ({
      key: verb.verb,
      label: (
        <>
          <Icon name={verb.to ? COLUMN[verb.to].icon : "right"} tone={verb.to ? COLUMN[verb.to].tone : ""} /> {verb.label}
        </>
      ),
      note: verb.to ? COLUMN[verb.to].word : "",
      run: () =>
        void doVerb(id, verb).catch((problem: unknown) => {
          refusedMove.value = { id, refusal: asProblem(problem) };
        }),
    }));
  if (choices.length === 0)
    choices.push({ key: "none", label: <>It cannot be moved now</>, note: "", run: () => go(toTask(id)) });
  return <Choices label={`Move ${id}`} choices={choices} close={close} />;
}

function View({ card, away }: { card: Card; away: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const link = useRef<HTMLAnchorElement>(null);
  const [moving, move] = useState(false);
  useTint(link, card.version);
  useKeyAct(box, (key) => {
    if (key === "Enter") {
      go(toTask(card.id));
      return true;
    }
    if (key === "y") {
      copyText(card.id);
      return true;
    }
    if (!canAct()) return false;
    if (key === "m") {
      move(true);
      return true;
    }
    if (key === "a") {
      void tryVerb(card.id, "approve");
      return true;
    }
    if (key === "r") {
      void tryVerb(card.id, "request-changes");
      return true;
    }
    return false;
  });
  const refused = refusedMove.value?.id === card.id ? refusedMove.value.refusal : null;
  const done = card.column === "done" || card.column === "abandoned";
  const open = route.value.task === card.id;
  const strip = card.strip && kindLook(card.strip.kind);
  const alone = !card.agent && card.gates.every((gate) => gate.mark === "open");
  return (
    <div class="card-box" ref={box}>
      <a
        class={`card ${done ? "is-done" : ""} ${open ? "is-open" : ""} ${away ? "is-away" : ""} ${drag.value?.id === card.id ? "is-dragged" : ""}`}
        ref={link}
        href={toTask(card.id)}
        data-nav
        {...(away ? {} : { "data-task": card.id })}
        data-status={card.status}
        draggable={canAct()}
        onDragStart={(event) => {
          event.dataTransfer?.setData("text/plain", card.id);
          beginDrag(card.id, card.column);
        }}
        onDragEnd={endDrag}
      >
        <span class="r1">
          <span class="id">{card.id}</span>
          <span class={`pri ${card.priority <= "P1" ? "hi" : ""}`}>{card.priority}</span>
          {card.files.length > 0 && <span>{plural(card.files.length, "file")}</span>}
          <span class="age">{done ? <Time ts={card.since} /> : <Age since={card.since} />}</span>
        </span>
        <span class="name">{card.title}</span>
        {!alone && (
          <span class="r3">
            {card.agent && <Agent id={card.agent} life={card.life} dense />}
            <GateDots gates={card.gates} />
          </span>
        )}
        {away ? (
          <span class="r3 note">
            <Icon name={STATUS[card.status].icon} tone={STATUS[card.status].tone} />
            Now {STATUS[card.status].word.toLowerCase()}
          </span>
        ) : (
          card.line && <QuietLine line={card.line} note={!alone} />
        )}
        {card.strip && strip && !away && (
          <span class={`need on-${strip.tone}`}>
            <Icon name={strip.icon} tone={strip.tone} />
            <span class="one-line">{card.strip.words}</span>
          </span>
        )}
      </a>
      {moving && (
        <MoveMenu
          id={card.id}
          close={() => {
            move(false);
            link.current?.focus();
          }}
        />
      )}
      <Refused refusal={refused} />
    </div>
  );
}
/** A card draws again when it changed, not when its neighbours did. */
export class CardView extends Component<{ card: Card; away: boolean }> {
  override shouldComponentUpdate(next: { card: Card; away: boolean }): boolean {
    return next.card !== this.props.card || next.away !== this.props.away;
  }
  override render() {
    return <View card={this.props.card} away={this.props.away} />;
  }
}
