// Axes: round numbers and round times.
import { clockTime } from "../format";

const STEPS_MIN = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080];
const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

export interface Tick {
  ts: number;
  label: string;
}
/** Round local times between two instants, at most `most` of them. Midnights say their day. */
export function timeTicks(from: number, to: number, most: number): Tick[] {
  const minutes = (to - from) / 60000;
  const step = STEPS_MIN.find((one) => minutes / one <= most) ?? 10080;
  const first = new Date(from);
  first.setHours(0, 0, 0, 0);
  const found: Tick[] = [];
  for (let ts = first.getTime(); ts <= to; ts += step * 60000) {
    if (ts < from) continue;
    const date = new Date(ts),
      midnight = date.getHours() === 0 && date.getMinutes() === 0;
    const day = minutes > 8 * 1440 ? `${date.getDate()}.${date.getMonth() + 1}.` : WEEKDAYS[date.getDay()];
    found.push({ ts, label: step >= 1440 ? `${day}` : midnight ? `${day} ${clockTime(ts)}` : clockTime(ts) });
  }
  return found;
}

/** Round steps from 0 to at least `top`; things that are counted have steps of 1 or more. */
export function numberTicks(top: number, about = 4, least = 0): number[] {
  const rough = Math.max(top, 1e-9) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step =
    [1, 2, 2.5, 4, 5, 10]
      .map((one) => one * power)
      .find((one) => one >= rough && (least === 0 || one < least || one % least === 0)) ?? 10 * power;
  const whole = Math.max(step, least);
  const count = Math.max(1, Math.ceil(top / whole - 1e-9));
  return Array.from({ length: count + 1 }, (_, index) => Number((index * whole).toFixed(6)));
}
