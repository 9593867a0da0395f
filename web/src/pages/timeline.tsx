// What each agent did, and when. The playhead shows every page as it was at that moment.
import { useEffect, useRef, useState } from "preact/hooks";
import { clockTime, millis, plural, when } from "../format";
import { go, here, route } from "../route";
import { at, board, present, resource } from "../store";
import type { Timeline } from "../types";
import { useAnswer } from "../ui/hooks";
import { Icon } from "../ui/shapes";
import { Empty, Outline, Problem } from "../ui/states";
import { words } from "../filter";
import { timeTicks } from "./scale";
import { Hatch, LaneView } from "./timeline_lane";
import { Overview } from "./timeline_overview";

const HOUR = 3_600_000;
export const RANGES: [string, number][] = [
  ["1 h", HOUR],
  ["4 h", 4 * HOUR],
  ["12 h", 12 * HOUR],
  ["1 d", 24 * HOUR],
  ["7 d", 168 * HOUR],
  ["30 d", 720 * HOUR],
];
export const LEFT = 176,
  LANE = 42,
  HEAD = 24;
/** Room to the right of now. */
const MARGIN = 30;

export interface Scale {
  from: number;
  to: number;
  x: (ts: number) => number;
  width: number;
  ts: (x: number) => number;
}

function useWidth(): [preact.RefObject<HTMLDivElement | null>, number] {
  const box = useRef<HTMLDivElement>(null);
  const [width, set] = useState(0);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const watch = new ResizeObserver(() => set(Math.max(720, Math.floor(element.clientWidth))));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return [box, width];
}

/** The window of time: its length and end are in the address; without an end it follows the clock. */
function useWindow(): { from: number; to: number; live: boolean; range: number } {
  const range = RANGES.find(([name]) => name.replace(" ", "") === (route.value.query.get("range") ?? "4h"))?.[1] ?? 4 * HOUR;
  const end = route.value.query.get("end");
  const step = Math.max(60_000, range / 120);
  const now = Math.ceil(present.value / step) * step;
  const to = end ? Math.min(Date.parse(end), now) : now;
  return { from: to - range, to, live: !end, range };
}

function Playhead({ scale, height }: { scale: Scale; height: number }) {
  const moment = board.value?.at;
  const ts = moment ? millis(moment.ts) : at.value && !/^\d+$/.test(at.value) ? millis(at.value) : null;
  const dragging = useRef(false);
  const set = (event: PointerEvent): void => {
    const svg = (event.currentTarget as Element).closest("svg");
    if (!svg) return;
    const x = event.clientX - svg.getBoundingClientRect().left;
    const to = Math.min(scale.to, Math.max(scale.from, scale.ts(x)));
    go(here({ at: to >= present.peek() - 1000 ? null : new Date(Math.round(to / 1000) * 1000).toISOString() }), true);
  };
  const keys = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const next = (ts ?? present.peek()) + (by * (scale.to - scale.from)) / 120;
    go(here({ at: next >= present.peek() ? null : new Date(Math.max(scale.from, next)).toISOString() }), true);
  };
  const shown = ts ?? present.value;
  return (
    <>
      <rect
        class="scrub"
        x={LEFT}
        y="0"
        width={Math.max(0, scale.width - LEFT)}
        height={HEAD}
        tabindex={0}
        role="slider"
        aria-label="Moment that all pages show"
        aria-valuemin={scale.from}
        aria-valuemax={scale.to}
        aria-valuenow={Math.round(shown)}
        aria-valuetext={ts === null ? "now" : when(ts, present.value)}
        onKeyDown={keys}
        onPointerDown={(event) => {
          dragging.current = true;
          (event.currentTarget as Element).setPointerCapture(event.pointerId);
          set(event);
        }}
        onPointerMove={(event) => {
          if (dragging.current) set(event);
        }}
        onPointerUp={() => {
          dragging.current = false;
        }}
      />
      {ts !== null && ts >= scale.from && ts <= scale.to && (
        <g class="playhead" aria-hidden="true">
          <rect class="later" x={scale.x(ts)} y={HEAD} width={Math.max(0, scale.width - scale.x(ts))} height={height - HEAD} />
          <rect class="fl-changes" x={scale.x(ts) - 1} y="14" width="2" height={height - 14} />
          <rect class="fl-changes" x={scale.x(ts) - 24} y="0" width="48" height="18" rx="3" />
          <text class="ax-on mid" x={scale.x(ts)} y="13">
            {clockTime(ts)}
          </text>
        </g>
      )}
    </>
  );
}

function Chart({ timeline, from, to, width }: { timeline: Timeline; from: number; to: number; width: number }) {
  const now = timeline.at ? millis(timeline.at.ts) : present.value;
  const inner = width - LEFT - MARGIN;
  const scale: Scale = {
    from,
    to,
    width,
    x: (ts) => LEFT + ((ts - from) / (to - from)) * inner,
    ts: (x) => from + ((x - LEFT) / inner) * (to - from),
  };
  const asked = words.value.map((word) => word.replace(/^agent:/, ""));
  const lanes = timeline.lanes.filter((lane) => asked.every((word) => lane.agent.includes(word)));
  const height = HEAD + lanes.length * LANE + 4;
  const live = now <= to + 1000;
  const head = board.value?.at ? scale.x(millis(board.value.at.ts)) : -100;
  const room = (x: number): boolean => (!live || x < scale.x(now) - 72) && Math.abs(x - head) > 44;
  return (
    <svg class="lanes" width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
      <Hatch />
      {timeTicks(from, to, 9).map((tick) => (
        <g key={tick.ts} aria-hidden="true">
          <path class="gl soft" d={`M${scale.x(tick.ts)} ${HEAD}V${height - 4}`} />
          {room(scale.x(tick.ts)) && (
            <text class={`ax ${scale.x(tick.ts) < LEFT + 20 ? "" : "mid"}`} x={scale.x(tick.ts)} y="15">
              {tick.label}
            </text>
          )}
        </g>
      ))}
      {live && (
        <text class="ax end" x={width} y="15">
          {clockTime(now)} now
        </text>
      )}
      {lanes.map((lane, index) => (
        <LaneView key={lane.agent} lane={lane} y={HEAD + index * LANE} scale={scale} now={Math.min(now, to)} />
      ))}
      {live && <path class="gl st-edge dots" d={`M${scale.x(now)} ${HEAD - 6}V${height - 4}`} />}
      <Playhead scale={scale} height={height} />
    </svg>
  );
}

const Legend = () => (
  <span class="legend" aria-hidden="true">
    {(["work", "review", "merge"] as const).map((kind) => {
      const tone = { work: "working", review: "review", merge: "approved" }[kind];
      return (
        <span key={kind}>
          <svg width="18" height="12">
            <rect class={`wa-${tone}`} width="18" height="12" rx="2" />
            <rect class={`fl-${tone}`} width="2" height="12" />
          </svg>
          {kind}
        </span>
      );
    })}
    <span>
      <svg width="18" height="12">
        <rect fill="url(#hatch)" width="18" height="12" rx="2" />
      </svg>
      waits
    </span>
    <span>
      <svg width="18" height="12">
        <rect class="fl-edge" y="5" width="18" height="2" />
      </svg>
      lease
    </span>
    <span>
      <svg width="18" height="12">
        <rect class="fl-failed" y="4.5" width="18" height="3" />
      </svg>
      lease that refused others
    </span>
    <span>
      <Icon name="failed" tone="failed" />
      refused
    </span>
    <span>
      <Icon name="write" tone="changes" />
      write seen
    </span>
  </span>
);

export function TimelinePage() {
  const { from, to, live, range } = useWindow();
  const [box, width] = useWidth();
  const source = resource<Timeline>("/timeline", {
    from: new Date(from).toISOString(),
    to: live ? null : new Date(to).toISOString(),
  });
  const answer = useAnswer(source);
  // While the next window is on its way, the last one stays.
  const last = useRef<Timeline | null>(null);
  if (answer) last.current = answer;
  const timeline = last.current;
  const chosen = RANGES.find(([, length]) => length === range)?.[0];
  return (
    <>
      <div class="head">
        <h1>Timeline</h1>
        <p class="sum">
          {when(from, present.value) === clockTime(from) ? "Today, " : ""}
          {when(from, present.value)} to {when(live ? present.value : to, present.value)}
        </p>
        <div class="tools">
          <Legend />
          <nav class="seg" aria-label="Length of time">
            {RANGES.map(([name]) => (
              <a key={name} href={here({ range: name.replace(" ", "") })} aria-current={name === chosen ? "true" : undefined}>
                {name}
              </a>
            ))}
          </nav>
        </div>
      </div>
      <div class="scroll-x" ref={box} tabIndex={0} role="region" aria-label="What each agent did">
        {source.error.value && !timeline && <Problem refusal={source.error.value} retry={() => source.refresh()} />}
        {!timeline && !source.error.value && <Outline rows={8} />}
        {timeline &&
          width > 0 &&
          (timeline.lanes.length === 0 ? (
            <Empty>
              Nothing happened between {when(from, present.value)} and {when(to, present.value)}.
            </Empty>
          ) : (
            <Chart timeline={timeline} from={from} to={to} width={width} />
          ))}
      </div>
      {timeline && timeline.folded.length > 0 && (
        <p class="small muted folded">
          {plural(timeline.folded.length, "lane")} with nothing in this window {timeline.folded.length === 1 ? "is" : "are"}{" "}
          folded: {timeline.folded.join(", ")}
        </p>
      )}
      {timeline && width > 0 && <Overview timeline={timeline} from={from} to={to} width={width} />}
    </>
  );
}
