// The last day in small, with the window that is shown. Dragging it pans; it ends where the log ends.
import { useRef } from "preact/hooks";
import { millis } from "../format";
import { go, here } from "../route";
import { present } from "../store";
import type { Timeline } from "../types";
import { timeTicks } from "./scale";
import { LEFT } from "./timeline_lane";

const HEIGHT = 28;

export function Overview({ timeline, from, to, width }: { timeline: Timeline; from: number; to: number; width: number }) {
  const { density } = timeline;
  const first = millis(density.from),
    step = density.bucket_seconds * 1000,
    last = first + step * density.counts.length;
  const inner = width - LEFT;
  const x = (ts: number): number => LEFT + Math.min(1, Math.max(0, (ts - first) / (last - first))) * inner;
  const most = Math.max(1, ...density.counts);
  const start = useRef<{ x: number; to: number } | null>(null);
  const range = to - from;
  const pan = (end: number): void => {
    const oldest = timeline.log.from ? millis(timeline.log.from) + range : end;
    const bounded = Math.max(Math.min(oldest, present.peek()), end);
    go(
      here({ end: bounded >= present.peek() - 30_000 ? null : new Date(Math.round(bounded / 60000) * 60000).toISOString() }),
      true,
    );
  };
  const keys = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: -0.25, ArrowRight: 0.25, PageDown: -1, PageUp: 1, Home: -1e6, End: 1e6 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    pan(to + by * range);
  };
  const move = (event: PointerEvent): void => {
    if (start.current) pan(start.current.to + ((event.clientX - start.current.x) / inner) * (last - first));
  };
  const bucket =
    density.bucket_seconds >= 3600 ? `${density.bucket_seconds / 3600} h` : `${Math.round(density.bucket_seconds / 60)} m`;
  // The last bucket is not full yet: a window that reaches now covers it.
  const wide = Math.max(6, x(to >= present.value ? last : to) - x(from));
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label="Events over the last day">
      <svg class="overview" width={width} height={HEIGHT + 22} viewBox={`0 0 ${width} ${HEIGHT + 22}`}>
        <text class="ax" x="0" y="18">
          Events in {bucket}, last {Math.round((last - first) / 3_600_000)} h
        </text>
        {density.counts.map((count, index) => {
          const height = Math.max(1, ((HEIGHT - 4) * count) / most);
          return (
            <rect
              key={index}
              class="fl-muted part"
              x={LEFT + (index / density.counts.length) * inner}
              y={HEIGHT - height}
              width={Math.max(1, inner / density.counts.length - 1.5)}
              height={height}
            />
          );
        })}
        {timeTicks(first, last, 5).map((tick) => (
          <text key={tick.ts} class="ax mid" x={Math.min(width - 20, x(tick.ts))} y={HEIGHT + 17}>
            {tick.label}
          </text>
        ))}
        <rect
          class="brush"
          x={Math.min(x(from), width - wide)}
          y="1"
          width={wide}
          height={HEIGHT - 1}
          rx="4"
          tabindex={0}
          role="slider"
          aria-label="Window of time"
          aria-valuemin={first}
          aria-valuemax={last}
          aria-valuenow={Math.round(Math.min(to, last))}
          aria-valuetext={`until ${new Date(to).toLocaleString()}`}
          onKeyDown={keys}
          onPointerDown={(event) => {
            start.current = { x: event.clientX, to };
            (event.currentTarget as Element).setPointerCapture(event.pointerId);
          }}
          onPointerMove={move}
          onPointerUp={() => {
            start.current = null;
          }}
        />
      </svg>
    </div>
  );
}
