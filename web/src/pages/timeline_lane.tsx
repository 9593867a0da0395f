import { millis } from "../format";
import { toPage, toTask } from "../route";
import type { Bar, Lane, LaneMark } from "../types";
import type { Scale } from "./timeline";

export const LEFT = 176,
  LANE = 42;
const TONE: Record<string, string> = { work: "working", review: "review", merge: "approved" };
const SHAPE: Record<string, [icon: string, tone: string]> = {
  answered: ["decision", ""],
  refused: ["failed", "failed"],
  write_seen: ["write", "changes"],
  failed: ["red", "failed"],
  blocked: ["blocked", "blocked"],
  done: ["done", "done"],
};

/** What waits is hatched. */
export const Hatch = () => (
  <defs>
    <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <rect class="wa-blocked" width="6" height="6" />
      <rect class="fl-blocked" width="1.5" height="6" />
    </pattern>
  </defs>
);

function BarView({ bar, y, scale, now, quiet }: { bar: Bar; y: number; scale: Scale; now: number; quiet: boolean }) {
  const from = Math.max(scale.from, millis(bar.from)),
    to = Math.min(scale.to, bar.to ? millis(bar.to) : now);
  if (to < scale.from || from > scale.to) return null;
  const x = scale.x(from),
    width = Math.max(3, scale.x(to) - x - 1.5);
  const waits = bar.kind === "wait" || bar.kind === "blocked";
  const label = waits ? bar.decision : quiet ? null : bar.task;
  const fits = label && width > label.length * 7 + 14;
  const words = [bar.kind, bar.task, bar.decision, bar.end].filter(Boolean).join(", ");
  const tone = TONE[bar.kind] ?? "working";
  const body = (
    <>
      <title>{words}</title>
      <rect class="fl-bg" x={x} y={y} width={width} height="18" rx="3" />
      {waits ? (
        <rect fill="url(#hatch)" x={x} y={y} width={width} height="18" rx="3" />
      ) : (
        <rect class={`wa-${tone}`} x={x} y={y} width={width} height="18" rx="3" />
      )}
      {!waits && !quiet && <rect class={`fl-${tone}`} x={x} y={y} width="2" height="18" rx="1" />}
      {fits && waits && <rect class="fl-bg" x={x + 6} y={y + 2} width={label.length * 7 + 8} height="14" rx="2" />}
      {fits && (
        <text class="ax-t" x={x + (waits ? 10 : 8)} y={y + 13}>
          {label}
        </text>
      )}
    </>
  );
  return bar.task ? (
    <a href={toTask(bar.task)} aria-label={words}>
      {body}
    </a>
  ) : (
    <g>{body}</g>
  );
}

/** The mark of an end stands after its bar, or on it where the next bar begins at once. */
const ENDS = new Set(["done", "failed", "blocked"]);
const BESIDE = 10;
function MarkView({ mark, y, scale, lane }: { mark: LaneMark; y: number; scale: Scale; lane: Lane }) {
  const ts = millis(mark.ts);
  if (ts < scale.from || ts > scale.to) return null;
  const at = scale.x(ts);
  const next = lane.bars.some((bar) => millis(bar.from) >= ts && scale.x(millis(bar.from)) < at + 2 * BESIDE);
  const x = ENDS.has(mark.kind) ? at + (next ? -BESIDE : BESIDE) : at,
    [icon, tone] = SHAPE[mark.kind] ?? ["commit", "queued"];
  const to = mark.path
    ? toPage("tree", { path: mark.path })
    : mark.task
      ? toTask(mark.task)
      : mark.decision
        ? toPage("more", { tab: "decisions", id: mark.decision })
        : null;
  const body = (
    <>
      <title>{mark.words}</title>
      {(mark.kind === "refused" || mark.kind === "write_seen") && <circle class="fl-bg" cx={x} cy={y + 9} r="9" />}
      <svg x={x - 7} y={y + 2} width="14" height="14" class={tone}>
        <use href={`#${icon}`} />
      </svg>
      {mark.kind === "answered" && mark.decision && x < scale.width - 60 && (
        <text class="ax-t" x={x + 11} y={y + 13}>
          {mark.decision}
        </text>
      )}
    </>
  );
  return to ? (
    <a href={to} aria-label={mark.words}>
      {body}
    </a>
  ) : (
    <g>{body}</g>
  );
}

export function LaneView({ lane, y, scale, now }: { lane: Lane; y: number; scale: Scale; now: number }) {
  const top = y + 13;
  // A wait cuts the work that it is part of: the rest of that work has no edge and no second label.
  const goesOn = (bar: Bar): boolean =>
    lane.bars.some(
      (wait) =>
        wait.to === bar.from &&
        (wait.kind === "wait" || wait.kind === "blocked") &&
        lane.bars.some((before) => before.to === wait.from && before.task === bar.task && before.kind === bar.kind),
    );
  return (
    <g role="group" aria-label={lane.agent}>
      <path class="gl" d={`M0 ${y + LANE + 3.5}H${scale.width}`} />
      <a href={toPage("board", { q: `agent:${lane.agent}` })}>
        <text class="lane" x="0" y={y + 27}>
          {lane.agent.length > 23 ? `${lane.agent.slice(0, 22)}…` : lane.agent}
        </text>
      </a>
      {lane.bars.map((bar) => (
        <BarView key={`${bar.seq}${bar.kind}${bar.from}`} bar={bar} y={top} scale={scale} now={now} quiet={goesOn(bar)} />
      ))}
      {[...lane.leases]
        .sort((a, b) => a.refused - b.refused)
        .map((lease) => {
          const from = Math.max(scale.from, millis(lease.from)),
            to = Math.min(scale.to, lease.to ? millis(lease.to) : now);
          if (to < scale.from || from > scale.to) return null;
          const red = lease.refused > 0;
          return (
            <rect
              key={lease.lock_id + lease.from}
              class={red ? "fl-failed" : "fl-edge"}
              x={scale.x(from)}
              y={top + (red ? 20.5 : 21)}
              width={Math.max(2, scale.x(to) - scale.x(from) - 1)}
              height={red ? 3 : 2}
              rx="1"
            >
              <title>{`${lease.path}${red ? `, refused ${lease.refused}` : ""}`}</title>
            </rect>
          );
        })}
      {lane.marks.map((mark) => (
        <MarkView key={mark.seq + mark.kind} mark={mark} y={top} scale={scale} lane={lane} />
      ))}
    </g>
  );
}
