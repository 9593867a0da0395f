// Where the reader is: every state of the page is in its address.
import { batch, signal } from "@preact/signals";

export const PAGES = ["inbox", "board", "tree", "agents", "timeline", "flow", "more"] as const;
export type Page = (typeof PAGES)[number];
export interface Route {
  page: Page;
  task: string | null;
  query: URLSearchParams;
}

const isPage = (word: string | null): word is Page => PAGES.includes(word as Page);

function parse(url: URL): Route {
  const [, first = "", second] = url.pathname.split("/");
  const query = url.searchParams;
  if (first === "task" && second) {
    const over = query.get("over");
    return { page: isPage(over) ? over : "board", task: decodeURIComponent(second), query };
  }
  return { page: isPage(first) ? first : "inbox", task: null, query };
}

/** What stands for all repositories in an address. Only the inbox shows them together. */
export const ALL = "*";
export const route = signal<Route>(parse(new URL(location.href)));

/** What stays when the reader goes to another page: the repository, the moment and the filter. */
const CARRIED = ["repo", "at", "q"];

type Changes = Record<string, string | null>;
function carry(changes: Changes): URLSearchParams {
  const query = new URLSearchParams();
  for (const key of CARRIED) {
    const value = route.value.query.get(key);
    if (value !== null) query.set(key, value);
  }
  return apply(query, changes);
}
function apply(query: URLSearchParams, changes: Changes): URLSearchParams {
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === "") query.delete(key);
    else query.set(key, value);
  }
  return query;
}
const address = (path: string, query: URLSearchParams): string => {
  const text = query.toString();
  return text ? `${path}?${text}` : path;
};

export function toPage(page: Page, changes: Changes = {}): string {
  const query = carry(changes);
  if (page !== "inbox" && query.get("repo") === ALL) query.delete("repo");
  return address(`/${page}`, query);
}
/** The change of an address that leads into a repository, where a list is about several. */
export const within = (repo: string | undefined): Changes => (repo ? { repo } : {});

/** A task opens beside the page that the reader is on. */
export function toTask(id: string, changes: Changes = {}): string {
  const { page, query, task } = route.value;
  const kept = new URLSearchParams(query);
  for (const key of ["review", "new"]) kept.delete(key);
  if (!task) kept.delete("over");
  if (page !== "board") kept.set("over", page);
  apply(kept, changes);
  if (kept.get("repo") === ALL) kept.delete("repo");
  return address(`/task/${encodeURIComponent(id)}`, kept);
}
/** This address with some of its parameters changed. */
export function here(changes: Changes): string {
  const { page, task, query } = route.value;
  return address(task ? `/task/${encodeURIComponent(task)}` : `/${page}`, apply(new URLSearchParams(query), changes));
}
export function closeTask(): string {
  const { page, query } = route.value;
  return address(`/${page}`, apply(new URLSearchParams(query), { over: null, review: null }));
}

const repoOf = (url: URL): string | null => url.searchParams.get("repo");
export function go(to: string, replace = false): void {
  const url = new URL(to, location.href);
  // What this tab knows is about one repository.
  if (repoOf(url) !== repoOf(new URL(location.href))) {
    location.assign(url);
    return;
  }
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  batch(() => {
    route.value = parse(new URL(location.href));
  });
}

export function startRouting(): void {
  addEventListener("popstate", () => {
    route.value = parse(new URL(location.href));
  });
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const href = link?.getAttribute("href");
    if (!href?.startsWith("/") || href.startsWith("/api/") || link?.hasAttribute("download")) return;
    event.preventDefault();
    go(href);
  });
}
