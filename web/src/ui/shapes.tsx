// Small marks. Each state has a silhouette and a word of its own, so colour never stands alone.
import type { ComponentChildren } from "preact";
import { shortAgent } from "../format";
import { clock } from "../store";
import type { ColumnName, GateMark, Life, Status } from "../types";

export const Icon = ({ name, tone = "", large = false }: { name: string; tone?: string; large?: boolean }) => (
  <svg class={`${large ? "g" : "g14"} ${tone}`} aria-hidden="true">
    <use href={`#${name}`} />
  </svg>
);

interface Look {
  icon: string;
  tone: string;
  word: string;
}
export const STATUS: Record<Status, Look> = {
  queued: { icon: "queued", tone: "queued", word: "Queued" },
  claimed: { icon: "claimed", tone: "working", word: "Claimed" },
  in_progress: { icon: "working", tone: "working", word: "Working" },
  review: { icon: "review", tone: "review", word: "Review" },
  changes_requested: { icon: "changes", tone: "changes", word: "Sent back" },
  approved: { icon: "approved", tone: "approved", word: "Approved" },
  merging: { icon: "merging", tone: "approved", word: "Merging" },
  done: { icon: "done", tone: "done", word: "Done" },
  blocked: { icon: "blocked", tone: "blocked", word: "Blocked" },
  failed: { icon: "failed", tone: "failed", word: "Failed" },
  abandoned: { icon: "failed", tone: "queued", word: "Abandoned" },
};
export const COLUMN: Record<ColumnName, Look> = {
  queued: STATUS.queued,
  working: STATUS.in_progress,
  review: STATUS.review,
  approved: STATUS.approved,
  blocked: STATUS.blocked,
  done: STATUS.done,
  abandoned: STATUS.abandoned,
};
/** Kinds of inbox items, and the strips of cards that have one. */
export const KIND: Record<string, { icon: string; tone: string }> = {
  decision: { icon: "decision", tone: "blocked" },
  exhausted: { icon: "failed", tone: "failed" },
  failed: { icon: "failed", tone: "failed" },
  stuck: { icon: "blocked", tone: "blocked" },
  red_gate: { icon: "red", tone: "failed" },
  blocked: { icon: "blocked", tone: "blocked" },
  review: { icon: "review", tone: "review" },
  merge: { icon: "merging", tone: "approved" },
  sent_back: { icon: "changes", tone: "changes" },
  silent: { icon: "silent", tone: "changes" },
  stray_lease: { icon: "lock", tone: "changes" },
  write_seen: { icon: "write", tone: "changes" },
  clock: { icon: "clock", tone: "changes" },
};
export const kindLook = (kind: string): { icon: string; tone: string } => KIND[kind] ?? { icon: "decision", tone: "blocked" };

/** Marks of lines in a history. */
export const MARK: Record<string, { icon: string; tone: string }> = {
  queued: STATUS.queued,
  claimed: STATUS.claimed,
  working: STATUS.in_progress,
  review: STATUS.review,
  changes: STATUS.changes_requested,
  approved: { icon: "approved", tone: "approved" },
  merging: STATUS.merging,
  done: STATUS.done,
  blocked: STATUS.blocked,
  failed: { icon: "red", tone: "failed" },
  decision: { icon: "decision", tone: "" },
  lease: { icon: "lock", tone: "working" },
  refused: { icon: "failed", tone: "failed" },
  write_seen: { icon: "write", tone: "changes" },
  note: { icon: "commit", tone: "queued" },
  gate: { icon: "approved", tone: "done" },
};
export const markLook = (mark: string): { icon: string; tone: string } => MARK[mark] ?? { icon: "commit", tone: "queued" };

export const State = ({ look, children }: { look: { icon: string; tone: string }; children: ComponentChildren }) => (
  <span class={`state ${look.tone}`}>
    <Icon name={look.icon} tone={look.tone} />
    {children}
  </span>
);

const GATE: Record<string, [symbol: string, tone: string]> = {
  verified: ["q-v", "v"],
  observed: ["q-o", "o"],
  claimed: ["q-c", "c"],
  failed: ["q-f", "f"],
  open: ["q-n", "n"],
  waived: ["q-w", "w"],
};
export function GateDot({ mark }: { mark: string }) {
  const [symbol, tone] = GATE[mark] ?? ["q-n", "n"];
  return (
    <svg class={`q ${tone}`} aria-hidden="true">
      <use href={`#${symbol}`} />
    </svg>
  );
}
export function GateDots({ gates }: { gates: GateMark[] }) {
  if (!gates.length) return null;
  const words = gates.map((gate) => `${gate.name} ${gate.mark}`).join(", ");
  return (
    <span class="gates" role="img" aria-label={words} title={words}>
      {gates.map((gate) => (
        <GateDot key={gate.name} mark={gate.mark} />
      ))}
    </span>
  );
}
export const GateWords = ({ gates }: { gates: GateMark[] }) => (
  <ul class="gate-list">
    {gates.map((gate) => (
      <li key={gate.name}>
        <GateDot mark={gate.mark} />
        <b>{gate.name}</b> {gate.mark}
      </li>
    ))}
  </ul>
);

/** A ring that empties. */
export const Ring = ({ share, label, tone = "" }: { share: number; label?: string; tone?: string }) => {
  const percent = Math.round(Math.min(1, Math.max(0, share)) * 100);
  const words = label ?? `${percent} % of its time left`;
  return (
    <svg class={`ring ${tone} ${share < 0.5 && !tone ? "low" : ""}`} viewBox="0 0 16 16" role="img" aria-label={words}>
      <circle class="t" cx="8" cy="8" r="5.5" />
      {percent > 0 && (
        <circle
          class="v"
          cx="8"
          cy="8"
          r="5.5"
          pathLength={100}
          stroke-dasharray={`${percent} 100`}
          transform="rotate(-90 8 8)"
        />
      )}
    </svg>
  );
};
/** Share of the time to live that is left; steps of 5 s keep a quiet page quiet. */
export function LifeRing({ life }: { life: Life }) {
  const now = Math.floor(clock.value / 5000) * 5000;
  return <Ring share={(Date.parse(life.expires_at) - now) / 1000 / life.ttl_seconds} />;
}
export const Agent = ({ id, life, dense = false }: { id: string; life?: Life | null; dense?: boolean }) => (
  <span class="agent" title={id}>
    {life ? <LifeRing life={life} /> : !dense && <span class="ring" />}
    {dense ? shortAgent(id) : id}
  </span>
);
