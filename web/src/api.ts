// Asking the server. A refusal is a value with the server's own words.
import { signal } from "@preact/signals";
import { ALL, route } from "./route";
import type { Session } from "./types";

export class Refusal extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly hint: string | null,
    readonly status: number,
    readonly details: Record<string, unknown> = {},
  ) {
    super(message);
  }
}

export const session = signal<Session | null>(null);
const BASE = "/api/v1";

async function asRefusal(response: Response): Promise<Refusal> {
  try {
    const problem = (await response.json()) as {
      code?: string;
      detail?: string;
      title?: string;
      hint?: string | null;
      details?: Record<string, unknown>;
    };
    return new Refusal(
      problem.code ?? "error",
      problem.detail ?? problem.title ?? response.statusText,
      problem.hint ?? null,
      response.status,
      problem.details,
    );
  } catch {
    return new Refusal("error", `The server answered ${response.status} ${response.statusText}`.trim(), null, response.status);
  }
}

async function send(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { credentials: "same-origin", cache: "no-store", ...init });
  } catch {
    throw new Refusal("unreachable", "The server does not answer.", "It may be restarting. This page tries again by itself.", 0);
  }
}

/** The address of a question: the repository comes from the page's address, the moment where it is asked for. */
export function address(path: string, params: Record<string, string | null> = {}): string {
  const query = new URLSearchParams();
  const repo = route.peek().query.get("repo");
  if (repo && repo !== ALL && !path.includes("repo=")) query.set("repo", repo);
  for (const [key, value] of Object.entries(params)) if (value !== null) query.set(key, value);
  const text = query.toString();
  const full = path.startsWith(BASE) ? path : BASE + path;
  return text ? `${full}${full.includes("?") ? "&" : "?"}${text}` : full;
}

export interface Fresh<T> {
  value: T;
  etag: string | null;
}
/** Answers null when nothing has changed since `etag`. */
export async function ask<T>(url: string, etag: string | null, signal?: AbortSignal): Promise<Fresh<T> | null> {
  const response = await send(url, { headers: etag ? { "If-None-Match": etag } : {}, signal: signal ?? null });
  if (response.status === 304) return null;
  if (!response.ok) throw await asRefusal(response);
  return { value: (await response.json()) as T, etag: response.headers.get("ETag") };
}
export async function get<T>(path: string, params: Record<string, string | null> = {}): Promise<T> {
  const fresh = await ask<T>(address(path, params), null);
  return (fresh as Fresh<T>).value;
}

const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

export async function act<T = unknown>(method: string, path: string, body: unknown, dryRun = false): Promise<T> {
  const headers: Record<string, string> = { "Content-Type": "application/json" };
  const csrf = session.peek()?.csrf;
  if (csrf) headers["Comity-CSRF"] = csrf;
  if (!dryRun) headers["Idempotency-Key"] = newKey();
  const response = await send(address(path, dryRun ? { dry_run: "1" } : {}), { method, headers, body: JSON.stringify(body) });
  if (!response.ok) throw await asRefusal(response);
  return (await response.json()) as T;
}
export const post = <T = unknown>(path: string, body: unknown = {}): Promise<T> => act<T>("POST", path, body);

export const asProblem = (problem: unknown): Refusal =>
  problem instanceof Refusal
    ? problem
    : new Refusal("error", problem instanceof Error ? problem.message : String(problem), null, 0);

/** A one-time key in the address becomes a session; it leaves the address before anything else is done with it. */
export async function openSession(): Promise<void> {
  const key = new URLSearchParams(location.hash.slice(1)).get("k");
  if (key) {
    history.replaceState(null, "", location.pathname + location.search);
    session.value = await act<Session>("POST", `${BASE}/session`, { key });
    return;
  }
  const response = await send(`${BASE}/session`, {});
  if (!response.ok) throw await asRefusal(response);
  session.value = (await response.json()) as Session;
}
