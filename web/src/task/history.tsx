// How the task came to its state: spans of time above, lines of the log below.
import { clockTime, plural } from "../format";
import { here, toPage } from "../route";
import { clock } from "../store";
import type { Line, Panel, Span } from "../types";
import { Icon, markLook, STATUS } from "../ui/shapes";
import { rich, Time } from "../ui/text";
import { timeTicks } from "../pages/scale";

const WIDTH = 516;

function Spans({ panel }: { panel: Panel }) {
  const { spans } = panel;
  const first = spans[0];
  if (!first) return null;
  const now = panel.at ? Date.parse(panel.at.ts) : Math.floor(clock.value / 60000) * 60000;
  const from = Date.parse(first.from),
    closed = spans.at(-1)?.to;
  const to = Math.max(from + 60000, closed ? Date.parse(closed) : now);
  const x = (ts: number): number => 2 + ((ts - from) / (to - from)) * (WIDTH - 6);
  const label = (span: Span): string =>
    span.round && span.column === "working" ? `round ${span.round}` : STATUS[span.status].word.toLowerCase();
  const answered = panel.decisions.filter((one) => one.answered_at);
  return (
    <div
      class="scroll-x"
      tabIndex={0}
      role="region"
      aria-label={`States of ${panel.task.id}: ${spans.map((span) => `${label(span)} from ${clockTime(span.from)}`).join(", ")}`}
    >
      <svg width={WIDTH} height="56" viewBox={`0 0 ${WIDTH} 56`} aria-hidden="true">
        {spans.map((span) => {
          const a = x(Date.parse(span.from)),
            width = Math.max(2.5, x(span.to ? Date.parse(span.to) : to) - a - 1.5),
            look = STATUS[span.status];
          return (
            <g key={span.from + span.status}>
              <title>{`${label(span)} from ${clockTime(span.from)}`}</title>
              <rect class={`wa-${look.tone}`} x={a} y="12" width={width} height="20" rx="3" />
              <rect class={`fl-${look.tone}`} x={a} y="12" width="2" height="20" rx="1" />
              {width > 24 && (
                <svg x={a + 7} y="16" width="12" height="12" class={look.tone}>
                  <use href={`#${look.icon}`} />
                </svg>
              )}
              {width > 32 + label(span).length * 6 && (
                <text class="ax-t" x={a + 24} y="26">
                  {label(span)}
                </text>
              )}
            </g>
          );
        })}
        {timeTicks(from, to, 6).map((tick) => (
          <g key={tick.ts}>
            <path class="gl" d={`M${x(tick.ts)} 34v5`} />
            <text class={`ax ${x(tick.ts) > WIDTH - 20 ? "end" : "mid"}`} x={x(tick.ts)} y="52">
              {tick.label}
            </text>
          </g>
        ))}
        {answered.map((one) => (
          <svg key={one.id} x={x(Date.parse(one.answered_at as string)) - 5} y="0" width="10" height="10">
            <use href="#decision" />
          </svg>
        ))}
      </svg>
    </div>
  );
}

/** What comes along with something else: its own line says nothing new. */
const ALONG = new Set(["status_changed", "file_locked", "lease_released"]);
const worth = (lines: Line[]): Line[] =>
  lines.filter(
    (line) =>
      !ALONG.has(line.event) ||
      !lines.some(
        (other) =>
          !ALONG.has(other.event) &&
          other.ts === line.ts &&
          other.who === line.who &&
          (line.event !== "status_changed" || line.reason === null || other.reason === line.reason),
      ),
  );

/** What brought the task into its state. */
export const arrival = ({ history, card }: Panel): Line | undefined =>
  worth(history).find((line) => line.ts === card.since && !ALONG.has(line.event) && line.event !== "tests_run");

export function History({ panel }: { panel: Panel }) {
  const lines = worth(panel.history);
  const folded = panel.folded + panel.history.length - lines.length;
  return (
    <section class="sec">
      <h2>How it came here {folded > 0 && <span>{plural(folded, "small step")} folded</span>}</h2>
      <Spans panel={panel} />
      <ul class="evs">
        {lines.map((line) => {
          const look = markLook(line.mark);
          return (
            <li key={line.seq}>
              <span class="muted">
                <Time ts={line.ts} />
              </span>
              <Icon name={look.icon} tone={look.tone} />
              <span>
                <code>{line.who}</code> {rich(line.what)}
                {line.reason && <>: “{rich(line.reason)}”</>}{" "}
                <a class="muted" href={here({ at: String(line.seq) })} title="Show this moment">
                  · seq {line.seq}
                </a>
              </span>
            </li>
          );
        })}
      </ul>
      {panel.more && (
        <p class="small muted">
          <a href={toPage("more", { tab: "activity", task: panel.task.id })}>All events of {panel.task.id}</a>
        </p>
      )}
    </section>
  );
}
