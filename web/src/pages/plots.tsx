// Plots drawn by hand: named axes, direct labels, and every mark a link.
import type { ComponentChildren } from "preact";
import { hours, money, monthName } from "../format";
import { here, toPage } from "../route";
import type { Percentiles as Day, Wip } from "../types";
import { numberTicks } from "./scale";

const W = 404,
  H = 294,
  TOP = 24,
  BASE = 254,
  LEFT = 34,
  RIGHT = 318;
const dayOf = (day: string): number => Number(day.slice(8, 10));
const toTasks = (tasks: string[], mark: string): string => here({ tasks: tasks.join(","), mark });

/** A day's marks as one link with a wide hit area. */
const Hit = ({ x, width, tasks, words }: { x: number; width: number; tasks: string[]; words: string }) =>
  tasks.length === 0 ? null : (
    <a href={toTasks(tasks, words)} aria-label={`${words}, ${tasks.length} tasks`}>
      <title>{words}</title>
      <rect class="hit" x={x - width / 2} y={TOP} width={width} height={BASE - TOP} />
    </a>
  );

function Frame({ ticks, days, unit, children }: { ticks: number[]; days: string[]; unit: string; children: ComponentChildren }) {
  const top = ticks.at(-1) ?? 1;
  const y = (value: number): number => BASE - (value / top) * (BASE - TOP);
  const x = (index: number): number => LEFT + (days.length < 2 ? 0 : (index / (days.length - 1)) * (RIGHT - LEFT));
  const every = Math.max(1, Math.ceil(days.length / 5));
  const months = [...new Set(days.map((day) => monthName(`${day}T12:00:00`)))];
  return (
    <svg viewBox={`0 0 ${W} ${H}`}>
      <text class="ax" x="0" y="11">
        {unit}
      </text>
      {ticks.map((tick) => (
        <g key={tick}>
          <path class="gl" d={`M${LEFT} ${y(tick)}H${RIGHT}`} />
          <text class="ax end" x={LEFT - 8} y={y(tick) + 4}>
            {tick}
          </text>
        </g>
      ))}
      {days.map(
        (day, index) =>
          (index === days.length - 1 || (index % every === 0 && index < days.length - every / 2 - 0.5)) && (
            <g key={day}>
              <path class="gl" d={`M${x(index)} ${BASE}v4`} />
              <text class="ax mid" x={x(index)} y="272">
                {dayOf(day)}
              </text>
            </g>
          ),
      )}
      <text class="ax" x={LEFT} y="290">
        day in {months.join(" and ")}
      </text>
      {children}
    </svg>
  );
}

export function Percentiles({ name, days }: { name: string; days: Day[] }) {
  if (!days.some((day) => day.p50 !== null)) return <p class="none">Nothing was finished in these days.</p>;
  const values = days.flatMap((day) => [day.p85 ?? 0]);
  const ticks = numberTicks(Math.max(...values, 1));
  const top = ticks.at(-1) ?? 1;
  const y = (value: number): number => BASE - (value / top) * (BASE - TOP);
  const x = (index: number): number => LEFT + (days.length < 2 ? 0 : (index / (days.length - 1)) * (RIGHT - LEFT));
  const points = (key: "p50" | "p85"): [number, number][] =>
    days.flatMap((day, index) => (day[key] === null ? [] : [[x(index), y(day[key])] as [number, number]]));
  const path = (list: [number, number][]): string =>
    list.map(([a, b], index) => `${index ? "L" : "M"}${a.toFixed(1)} ${b.toFixed(1)}`).join("");
  const low = points("p50"),
    high = points("p85");
  const lastDay = [...days].reverse().find((day) => day.p50 !== null);
  const end = (list: [number, number][], value: number | null | undefined, label: string, shift: number) => {
    const last = list.at(-1);
    return (
      last &&
      value != null && (
        <>
          <circle class="fl-working" cx={last[0]} cy={last[1]} r="3" />
          <text class="ax-s" x={last[0] + 10} y={last[1] + 1 + shift}>
            {hours(value)} h
          </text>
          <text class="ax" x={last[0] + 10} y={last[1] + 15 + shift}>
            {label}
          </text>
        </>
      )
    );
  };
  const near = low.length && high.length ? Math.abs((low.at(-1)?.[1] ?? 0) - (high.at(-1)?.[1] ?? 0)) < 30 : false;
  return (
    <Frame ticks={ticks} days={days.map((day) => day.day)} unit="hours">
      {low.length > 1 && (
        <path
          class="wa-working faint"
          d={`${path(high)}${[...low]
            .reverse()
            .map(([a, b]) => `L${a.toFixed(1)} ${b.toFixed(1)}`)
            .join("")}Z`}
        />
      )}
      <path class="ln dash st-working" d={path(high)} />
      <path class="ln st-working" d={path(low)} />
      {end(high, lastDay?.p85, "p85", near ? -14 : 0)}
      {end(low, lastDay?.p50, "p50", near ? 14 : 0)}
      {days.map((day, index) => (
        <Hit
          key={day.day}
          x={x(index)}
          width={(RIGHT - LEFT) / days.length}
          tasks={day.tasks}
          words={`${name} on ${day.day}: p50 ${hours(day.p50 ?? 0)} h, p85 ${hours(day.p85 ?? 0)} h`}
        />
      ))}
    </Frame>
  );
}

const LAYERS = ["working", "review", "approved", "blocked"] as const;
export function Stack({ days }: { days: Wip[] }) {
  const sums = days.map((day) => LAYERS.reduce((sum, layer) => sum + day[layer], 0));
  const ticks = numberTicks(Math.max(...sums, 1), 4, 1);
  const top = ticks.at(-1) ?? 1;
  const y = (value: number): number => BASE - (value / top) * (BASE - TOP);
  const x = (index: number): number => LEFT + (days.length < 2 ? 0 : (index / (days.length - 1)) * (RIGHT - LEFT));
  const upTo = (day: Wip, layer: number): number => LAYERS.slice(0, layer).reduce((sum, name) => sum + day[name], 0);
  const last = days.at(-1);
  // Direct labels keep a line's distance from each other.
  let floor = BASE + 16;
  return (
    <Frame ticks={ticks} days={days.map((day) => day.day)} unit="tasks">
      <defs>
        <pattern id="hatch-flow" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect class="wa-blocked" width="6" height="6" />
          <rect class="fl-blocked" width="1.5" height="6" />
        </pattern>
      </defs>
      {LAYERS.map((layer, index) => {
        const upper = days.map((day, i) => `${x(i).toFixed(1)} ${y(upTo(day, index + 1)).toFixed(1)}`),
          lower = days.map((day, i) => `${x(i).toFixed(1)} ${y(upTo(day, index)).toFixed(1)}`).reverse();
        return (
          <g key={layer}>
            <path
              {...(layer === "blocked" ? { fill: "url(#hatch-flow)" } : { class: `wa-${layer}` })}
              d={`M${upper.join("L")}L${lower.join("L")}Z`}
            />
            <path class={`ln thin st-${layer}`} d={`M${upper.join("L")}`} />
          </g>
        );
      })}
      {last &&
        LAYERS.map((layer, index) => {
          const want = y(upTo(last, index) + last[layer] / 2) + 4;
          floor = Math.min(want, floor - 16);
          return (
            <text key={layer} class="ax-t" x={RIGHT + 10} y={floor}>
              <tspan class="ax-s">{last[layer]}</tspan> {layer}
            </text>
          );
        })}
      {days.map((day, index) => (
        <Hit
          key={day.day}
          x={x(index)}
          width={(RIGHT - LEFT) / days.length}
          tasks={day.tasks}
          words={`In progress on ${day.day}`}
        />
      ))}
    </Frame>
  );
}

/** Dollars a day; a day leads to what happened on it. */
export function Spending({ days }: { days: { day: string; usd: number; runs: number }[] }) {
  const ticks = numberTicks(Math.max(...days.map((day) => day.usd), 0.01));
  const top = ticks.at(-1) ?? 1;
  const y = (value: number): number => BASE - (value / top) * (BASE - TOP);
  const x = (index: number): number => LEFT + (days.length < 2 ? 0 : (index / (days.length - 1)) * (RIGHT - LEFT));
  const width = Math.min(24, ((RIGHT - LEFT) / Math.max(1, days.length)) * 0.7);
  return (
    <Frame ticks={ticks} days={days.map((day) => day.day)} unit="dollars">
      {days.map((day, index) =>
        day.runs === 0 ? null : (
          <a
            key={day.day}
            href={toPage("more", { tab: "activity", q: "run_ended" })}
            aria-label={`${money(day.usd)} for ${day.runs} runs on ${day.day}`}
          >
            <title>{`${money(day.usd)} for ${day.runs} runs on ${day.day}`}</title>
            <rect
              class={`fl-working ${index === days.length - 1 ? "" : "rest"}`}
              x={x(index) - width / 2}
              y={y(day.usd)}
              width={width}
              height={Math.max(1, BASE - y(day.usd))}
              rx="2"
            />
          </a>
        ),
      )}
    </Frame>
  );
}

interface BarRow {
  label: string;
  value: number;
  tasks: string[];
}
/** Long labels lose their end; paths lose whole directories at their beginning, which tells less. */
function cut(label: string, most: number, path: boolean): string {
  if (label.length <= most) return label;
  if (!path) return `${label.slice(0, most - 1)}…`;
  const parts = label.split("/");
  while (parts.length > 1 && parts.join("/").length > most - 2) parts.shift();
  const rest = parts.join("/");
  return rest.length > most - 2 ? `…${label.slice(label.length - most + 1)}` : `…/${rest}`;
}

export function Bars({
  rows,
  tone,
  unit,
  mono = false,
  none,
}: {
  rows: BarRow[];
  tone: string;
  unit: string;
  mono?: boolean;
  none: string;
}) {
  const shown = rows.filter((row) => row.value > 0).slice(0, 6);
  if (!shown.length) return <p class="none">{none}</p>;
  const left = mono ? 157 : 140,
    right = 350;
  const ticks = numberTicks(Math.max(...shown.map((row) => row.value)), 5, mono ? 1 : 0);
  const top = ticks.at(-1) ?? 1,
    gap = (BASE - 6) / shown.length;
  return (
    <svg viewBox={`0 0 ${W} ${H}`}>
      {ticks.map((tick) => (
        <g key={tick}>
          <path class="gl" d={`M${left + (tick / top) * (right - left)} 4V${BASE}`} />
          <text class="ax mid" x={left + (tick / top) * (right - left)} y="272">
            {tick}
          </text>
        </g>
      ))}
      <text class="ax" x={left} y="290">
        {unit}
      </text>
      {shown.map((row, index) => {
        const y = 4 + gap * (index + 0.5),
          width = Math.max(2, (row.value / top) * (right - left));
        const words = `${row.label}: ${row.value} ${unit}`;
        const body = (
          <>
            <title>{words}</title>
            <rect class="hit" x="0" y={y - gap / 2} width={W} height={gap} />
            <text class={mono ? "ax-m" : "ax-t"} x="0" y={y + 4}>
              {cut(row.label, mono ? 20 : 22, mono)}
            </text>
            <rect class={`fl-${tone} ${index === 0 ? "" : "rest"}`} x={left} y={y - 5.5} width={width} height="11" rx="2" />
            <text class={index === 0 ? "ax-s" : "ax-t"} x={left + width + 6} y={y + 4}>
              {row.value}
            </text>
          </>
        );
        return row.tasks.length ? (
          <a key={row.label} href={toTasks(row.tasks, words)}>
            {body}
          </a>
        ) : (
          <g key={row.label}>{body}</g>
        );
      })}
    </svg>
  );
}

export function Columns({ rows }: { rows: { rounds: string; count: number; tasks: string[] }[] }) {
  if (!rows.some((row) => row.count > 0)) return null;
  const ticks = numberTicks(Math.max(1, ...rows.map((row) => row.count)), 4, 1);
  const top = ticks.at(-1) ?? 1,
    right = 394,
    step = (right - LEFT) / Math.max(1, rows.length);
  const y = (value: number): number => BASE - (value / top) * (BASE - TOP);
  return (
    <svg viewBox={`0 0 ${W} ${H}`}>
      <text class="ax" x="0" y="11">
        tasks
      </text>
      {ticks.map((tick) => (
        <g key={tick}>
          <path class="gl" d={`M${LEFT} ${y(tick)}H${right}`} />
          <text class="ax end" x={LEFT - 8} y={y(tick) + 4}>
            {tick}
          </text>
        </g>
      ))}
      {rows.map((row, index) => {
        const x = LEFT + step * (index + 0.5),
          words = `${row.count} tasks with ${row.rounds} review rounds`;
        const body = (
          <>
            <title>{words}</title>
            <rect class="hit" x={x - step / 2} y={TOP} width={step} height={BASE - TOP} />
            <rect class="fl-review rest" x={x - 20} y={y(row.count)} width="40" height={BASE - y(row.count)} rx="2" />
            <text class="ax-t mid" x={x} y={y(row.count) - 6}>
              {row.count}
            </text>
            <text class="ax mid" x={x} y="272">
              {row.rounds}
            </text>
          </>
        );
        return row.tasks.length ? (
          <a key={row.rounds} href={toTasks(row.tasks, words)}>
            {body}
          </a>
        ) : (
          <g key={row.rounds}>{body}</g>
        );
      })}
      <text class="ax" x={LEFT} y="290">
        review rounds until approved
      </text>
    </svg>
  );
}
