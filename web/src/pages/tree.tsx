// Which paths are held, by whom, until when, and who was refused. The rest of the tree is a click away.
import { useState } from "preact/hooks";
import { plural, shortAgent } from "../format";
import { go, here, route, toPage } from "../route";
import { at, clock, resource } from "../store";
import type { Tree, TreeEntry, TreeFile } from "../types";
import { useAnswer } from "../ui/hooks";
import { Agent, Icon, LifeRing } from "../ui/shapes";
import { Empty, Loaded } from "../ui/states";
import { Left, TaskId, Time } from "../ui/text";
import { words } from "../filter";
import { PathSide } from "./tree_side";

interface Node {
  name: string;
  path: string;
  entry: TreeEntry | null;
  below: Map<string, Node>;
}

/** Held patterns as a tree; a directory with one child is written in one line with it. */
function grow(entries: TreeEntry[]): Node {
  const root: Node = { name: "", path: "", entry: null, below: new Map() };
  for (const entry of entries) {
    let node = root;
    const parts = entry.path.match(/[^/]+\/?/g) ?? [entry.path];
    for (const part of parts) {
      let next = node.below.get(part);
      if (!next) {
        next = { name: part, path: node.path + part, entry: null, below: new Map() };
        node.below.set(part, next);
      }
      node = next;
    }
    node.entry = entry;
  }
  const fold = (node: Node): Node => {
    node.below = new Map([...node.below].map(([key, child]) => [key, fold(child)]));
    const only = node.below.size === 1 ? [...node.below.values()][0] : undefined;
    if (only && !node.entry && node !== root) return { ...only, name: node.name + only.name };
    return node;
  };
  return fold(root);
}
interface Line {
  node: Node;
  depth: number;
  /** So many files that nobody holds are left out here, beside the directories that have lines of their own. */
  rest?: number;
}
/** The lines below a directory; the last one stands for what nobody holds. */
function flatten(node: Node, depth: number, free: Record<string, number>): Line[] {
  const children = [...node.below.values()];
  const lines: Line[] = children.flatMap((child) => [{ node: child, depth }, ...flatten(child, depth + 1, free)]);
  const elsewhere = children.reduce((sum, child) => sum + (child.below.size ? (free[child.path] ?? 0) : 0), 0);
  const rest = children.length ? (free[node.path] ?? 0) - elsewhere : 0;
  return rest > 0 ? [...lines, { node, depth, rest }] : lines;
}
const indent = (depth: number): string => `path in${Math.min(depth, 6)}`;

const BAR = 64;
function Refused({ count, most }: { count: number; most: number }) {
  if (!count) return null;
  return (
    <span class="refs">
      <span>{count}</span>
      <svg width={BAR} height="8" viewBox={`0 0 ${BAR} 8`} aria-hidden="true">
        <rect class={`fl-failed ${count === most ? "" : "part"}`} width={Math.max(4, (BAR * count) / most)} height="8" rx="2" />
      </svg>
    </span>
  );
}

function Until({ entry }: { entry: TreeEntry }) {
  const first = entry.held[0];
  if (!first) return null;
  const low = first.life && (Date.parse(first.life.expires_at) - clock.value) / 1000 < first.life.ttl_seconds / 2;
  return low ? (
    <span class="changes">
      <Left until={first.until} /> left
    </span>
  ) : (
    <Time ts={first.until} />
  );
}

function Holders({ entry }: { entry: TreeEntry }) {
  const [first, ...others] = entry.held;
  if (!first) return null;
  if (!others.length) return <Agent id={first.agent} life={first.life} />;
  return (
    <span class="agent" title={entry.held.map((one) => one.agent).join(", ")}>
      {first.life && <LifeRing life={first.life} />}
      {entry.held.map((one) => shortAgent(one.agent)).join(", ")}
    </span>
  );
}

function HeldRow({ line, most }: { line: Line; most: number }) {
  const { node, depth } = line,
    entry = node.entry;
  const selected = route.value.query.get("path") === node.path;
  if (!entry)
    return (
      <tr>
        <td class="fill">
          <span class={indent(depth)}>
            <Icon name="down" />
            {node.name}
          </span>
        </td>
        <td colSpan={5} />
      </tr>
    );
  return (
    <tr class={`held ${selected ? "is-sel" : ""}`} onClick={() => go(here({ path: entry.path }))}>
      <td class="fill">
        <a class={indent(depth)} href={here({ path: entry.path })} data-nav title={entry.path}>
          <Icon name="lock" />
          {node.name}
          {entry.write_seen && (
            <span title="Written by somebody who does not hold it">
              <Icon name="write" tone="changes" />
            </span>
          )}
        </a>
      </td>
      <td>
        <Holders entry={entry} />
      </td>
      <td class="id">
        {[...new Set(entry.held.map((one) => one.task))].map(
          (id, index) =>
            id && (
              <span key={id}>
                {index > 0 && ", "}
                <TaskId id={id} />
              </span>
            ),
        )}
      </td>
      <td class="muted small">{entry.mode === "shared" ? "shared" : "alone"}</td>
      <td class="num small">
        <Until entry={entry} />
      </td>
      <td class="small">
        <Refused count={entry.refused_24h} most={most} />
      </td>
    </tr>
  );
}

/** What nobody holds in a directory, in one line until it is opened. */
function Rest({ line, shown }: { line: Line; shown: Set<string> }) {
  const [open, set] = useState(false);
  return (
    <>
      <tr>
        <td class="fill">
          <button type="button" class={`as-text ${indent(line.depth)}`} data-nav aria-expanded={open} onClick={() => set(!open)}>
            <Icon name={open ? "down" : "right"} />
            {line.rest} more, not held
          </button>
        </td>
        <td colSpan={5} />
      </tr>
      {open && <Folder under={line.node.path} depth={line.depth} held={new Map()} without={shown} />}
    </>
  );
}

interface Directory {
  under: string;
  depth: number;
  held: Map<string, TreeEntry>;
  /** Paths that have lines of their own elsewhere. */
  without?: Set<string>;
}
/** A directory of the repository, asked for when it is opened. */
function Folder({ under, depth, held, without }: Directory) {
  const answer = useAnswer(resource<Tree>("/tree", { under, at: at.value }));
  if (!answer) return null;
  const files = answer.files.filter((file) => !without?.has(file.kind === "dir" ? `${file.path}/` : file.path));
  return (
    <>
      {files.map((file) => (
        <FileRow key={file.path} file={file} depth={depth} held={held} />
      ))}
    </>
  );
}
function FileRow({ file, depth, held }: { file: TreeFile; depth: number; held: Map<string, TreeEntry> }) {
  const [open, set] = useState(false);
  const dir = file.kind === "dir",
    path = dir ? `${file.path.replace(/\/$/, "")}/` : file.path;
  const entry = held.get(path) ?? held.get(file.path);
  if (entry)
    return (
      <HeldRow
        line={{ node: { name: dir ? `${file.name}/` : file.name, path: entry.path, entry, below: new Map() }, depth }}
        most={Math.max(1, entry.refused_24h)}
      />
    );
  return (
    <>
      <tr class={route.value.query.get("path") === path ? "is-sel" : ""}>
        <td class="fill">
          {dir ? (
            <button type="button" class={`as-text ${indent(depth)}`} data-nav aria-expanded={open} onClick={() => set(!open)}>
              <Icon name={open ? "down" : "right"} />
              {file.name}/ <span class="muted">{plural(file.files, "file")}</span>
            </button>
          ) : (
            <a class={indent(depth)} data-nav href={here({ path })}>
              <Icon name="commit" />
              {file.name}
            </a>
          )}
        </td>
        <td colSpan={5} />
      </tr>
      {open && <Folder under={path} depth={depth + 1} held={held} />}
    </>
  );
}

function Table({ tree, all }: { tree: Tree; all: boolean }) {
  const most = Math.max(1, ...tree.entries.map((entry) => entry.refused_24h));
  const asked = words.value.filter((word) => !word.includes(":") || word.startsWith("file:") || word.startsWith("agent:"));
  const entries = tree.entries.filter((entry) =>
    asked.every((word) =>
      word.startsWith("agent:")
        ? entry.held.some((one) => one.agent.includes(word.slice(6)))
        : entry.path.includes(word.replace(/^file:/, "")),
    ),
  );
  const lines = all ? [] : flatten(grow(entries), 0, asked.length ? {} : tree.free);
  const shown = new Set(lines.map((line) => line.node.path));
  if (!all && tree.entries.length === 0) return <Empty command="comity lease acquire PATH">No path is held.</Empty>;
  return (
    <table class="tree">
      <thead>
        <tr>
          <th scope="col">Path</th>
          <th scope="col">Held by</th>
          <th scope="col">Task</th>
          <th scope="col">Mode</th>
          <th scope="col" class="num">
            Until
          </th>
          <th scope="col" class="ref-h">
            Refused, 24 h
          </th>
        </tr>
      </thead>
      <tbody>
        {all ? (
          <Folder under="" depth={0} held={new Map(tree.entries.map((entry) => [entry.path, entry]))} />
        ) : (
          lines.map((line) =>
            line.rest ? (
              <Rest key={`${line.node.path} rest`} line={line} shown={shown} />
            ) : (
              <HeldRow key={line.node.path} line={line} most={most} />
            ),
          )
        )}
      </tbody>
    </table>
  );
}

export function TreePage() {
  const from = resource<Tree>("/tree", { at: at.value });
  const tree = from.data.value;
  const all = route.value.query.get("view") === "all",
    path = route.value.query.get("path");
  const first = tree && [...tree.entries].sort((a, b) => b.refused_24h - a.refused_24h)[0]?.path;
  const shown = path ?? first ?? null;
  return (
    <>
      <div class="head">
        <h1>Tree</h1>
        {tree && (
          <p class="sum">
            {plural(tree.leases, "lease")} by {plural(tree.holders, "agent")}.{" "}
            {tree.contended > 0 && <b>{plural(tree.contended, "file is", "files are")} wanted by several.</b>}
          </p>
        )}
        <div class="tools">
          <nav class="seg" aria-label="Which files">
            <a href={here({ view: null })} aria-current={!all}>
              Held
            </a>
            <a href={toPage("tree", { view: "all", path })} aria-current={all}>
              All files
            </a>
          </nav>
        </div>
      </div>
      <div class="tree-two">
        <div class="scroll-x">
          <Loaded from={from} rows={8}>
            {(value) => <Table tree={value} all={all} />}
          </Loaded>
        </div>
        {shown && <PathSide key={shown} path={shown} entry={tree?.entries.find((entry) => entry.path === shown) ?? null} />}
      </div>
    </>
  );
}
