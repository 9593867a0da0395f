// Times, ages and names as the pages write them.

const MINUTE = 60,
  HOUR = 3600,
  DAY = 86400;

export function duration(seconds: number): string {
  const s = Math.max(0, Math.floor(seconds));
  if (s < MINUTE) return `${s} s`;
  if (s < HOUR) return `${Math.floor(s / MINUTE)} m`;
  if (s < 10 * HOUR) {
    const m = Math.floor((s % HOUR) / MINUTE);
    return m ? `${Math.floor(s / HOUR)} h ${m} m` : `${Math.floor(s / HOUR)} h`;
  }
  if (s < 2 * DAY) return `${Math.floor(s / HOUR)} h`;
  return `${Math.floor(s / DAY)} d`;
}

export const clockTime = (ts: string | number): string => {
  const d = new Date(ts);
  return `${String(d.getHours()).padStart(2, "0")}:${String(d.getMinutes()).padStart(2, "0")}`;
};

const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];
export const monthName = (ts: string | number): string => MONTHS[new Date(ts).getMonth()] ?? "";

/** A time as short as it can be said: today's as a clock time, another day's with its day. */
export function when(ts: string | number, now: number): string {
  const d = new Date(ts),
    today = new Date(now);
  if (d.toDateString() === today.toDateString()) return clockTime(ts);
  const day =
    Math.abs(now - d.getTime()) < 6 * DAY * 1000 ? WEEKDAYS[d.getDay()] : `${d.getDate()} ${MONTHS[d.getMonth()]?.slice(0, 3)}`;
  return `${day} ${clockTime(ts)}`;
}

/** `claude-code:7f3a9c21` as `claude-code:7f3a`: enough to tell agents apart in a dense place. */
export function shortAgent(id: string): string {
  const at = id.lastIndexOf(":");
  if (at < 0 || id.startsWith("human:")) return id;
  return /^[0-9a-z]{8,}$/i.test(id.slice(at + 1)) ? id.slice(0, at + 5) : id;
}

/** Hours to a tenth; less than that to a hundredth. */
export const hours = (n: number): number => (n < 0.1 ? Math.round(n * 100) / 100 : Math.round(n * 10) / 10);

export const plural = (n: number, one: string, many = `${one}s`): string => `${n} ${n === 1 ? one : many}`;
export const shortSha = (sha: string): string => sha.slice(0, 7);
export const fileName = (path: string): string => path.split("/").filter(Boolean).pop() ?? path;
/** A clause as a sentence: a capital unless it begins with a name, and a full stop. */
export const sentence = (text: string): string =>
  (/^[a-z]+ /.test(text) ? capital(text) : text) + (/[.!?”"]$/.test(text) ? "" : ".");
export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
export const millis = (ts: string): number => Date.parse(ts);

export function bytes(n: number): string {
  return n < 1000 ? `${n} B` : n < 1e6 ? `${Math.round(n / 1000)} kB` : `${(n / 1e6).toFixed(1)} MB`;
}

/** An amount in dollars; small ones are not rounded away. */
export const money = (usd: number): string => `$${usd.toFixed(usd > 0 && usd < 0.1 ? 4 : 2)}`;
