// Review mode: the whole change at full width. Lines that are chosen are quoted into "Request changes".
import { useMemo, useRef, useState } from "preact/hooks";
import { canAct } from "../acting";
import { bytes, plural } from "../format";
import { go, here } from "../route";
import { at, resource } from "../store";
import type { Diff, DiffFile, Panel } from "../types";
import { useKeyAct } from "../ui/hooks";
import { GateWords, Icon } from "../ui/shapes";
import { Loaded } from "../ui/states";
import { counts } from "./diff";
import { Verbs } from "./panel";
import { type Hunk, parsePatch, SIGN } from "./patch";

type Chosen = ReadonlySet<string>;
const lineKey = (file: number, hunk: number, line: number): string => `${file}.${hunk}.${line}`;

function HunkView({
  hunk,
  at: [file, index],
  path,
  chosen,
  toggle,
}: {
  hunk: Hunk;
  at: [number, number];
  path: string;
  chosen: Chosen;
  toggle: (keys: string[], on?: boolean) => void;
}) {
  const box = useRef<HTMLElement>(null);
  const keys = hunk.lines.map((_, line) => lineKey(file, index, line));
  const all = keys.every((key) => chosen.has(key));
  useKeyAct(box, (key) => {
    if (key !== "Enter") return false;
    toggle(keys, !all);
    return true;
  });
  const click = (event: MouseEvent): void => {
    const line = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-line]")?.dataset["line"] : undefined;
    if (line !== undefined) toggle([line]);
  };
  return (
    <section class="hunk" ref={box} tabIndex={0} data-nav aria-label={`${path}, ${hunk.head}`}>
      <div class="hunk-head">
        <span class="one-line">{hunk.head}</span>
        <button class="btn tiny push" type="button" aria-pressed={all} onClick={() => toggle(keys, !all)}>
          {all ? "Quoted" : "Quote hunk"}
        </button>
      </div>
      <div class="code" onClick={click} tabIndex={0} role="group" aria-label={`Lines of ${path}`}>
        {hunk.lines.map((line, number) => {
          const key = keys[number] as string;
          return (
            <div key={key} class={`${line.kind} ${chosen.has(key) ? "is-chosen" : ""}`}>
              <span class="no" data-line={key} title="Quote this line">
                {line.old ?? ""}
              </span>
              <span class="no" data-line={key}>
                {line.new ?? ""}
              </span>
              {SIGN[line.kind]} {line.text}
            </div>
          );
        })}
      </div>
    </section>
  );
}

function quote(files: DiffFile[], hunks: Hunk[][], chosen: Chosen): string {
  const parts: string[] = [];
  for (const [f, file] of files.entries())
    for (const [h, hunk] of (hunks[f] ?? []).entries()) {
      let open = false;
      for (const [l, line] of hunk.lines.entries()) {
        if (!chosen.has(lineKey(f, h, l))) {
          open = false;
          continue;
        }
        if (!open) parts.push(`${parts.length ? "\n" : ""}${file.path}:${line.new ?? line.old ?? ""}`);
        parts.push(`> ${SIGN[line.kind]} ${line.text}`);
        open = true;
      }
    }
  return parts.length ? `${parts.join("\n")}\n\n` : "";
}

function Body({ panel, diff }: { panel: Panel; diff: Diff }) {
  const [chosen, choose] = useState<Chosen>(new Set());
  const hunks = useMemo(() => diff.files.map((file) => parsePatch(file.patch)), [diff]);
  const toggle = (keys: string[], on?: boolean): void => {
    const next = new Set(chosen);
    for (const key of keys)
      if (on ?? !next.has(key)) next.add(key);
      else next.delete(key);
    choose(next);
  };
  const quoted = quote(diff.files, hunks, chosen);
  const may = canAct() && panel.verbs.some((verb) => verb.verb === "request-changes" && verb.allowed);
  return (
    <div class="review-mode">
      <nav class="review-files" aria-label="Files of the change">
        <p class="small muted">
          {plural(diff.files.length, "file")}, {counts(diff)}, {bytes(diff.bytes)}
          {diff.cut && ". The rest is cut: look at the branch."}
        </p>
        <ul>
          {diff.files.map((file, index) => (
            <li key={file.path}>
              <a
                href={`#file-${index}`}
                onClick={(event) => {
                  event.preventDefault();
                  document.getElementById(`file-${index}`)?.scrollIntoView();
                }}
              >
                <span class="one-line" title={file.path}>
                  {file.path}
                </span>
                <span class="muted">{file.binary ? "binary" : counts(file)}</span>
              </a>
            </li>
          ))}
        </ul>
        <p class="small muted desk">
          <kbd>j</kbd> <kbd>k</kbd> hunks, <kbd>Enter</kbd> quotes one
        </p>
        {chosen.size > 0 && (
          <p class="small">
            {plural(chosen.size, "line")} quoted.{" "}
            {may && (
              <button class="btn tiny" type="button" onClick={() => go(here({ verb: "request-changes" }), true)}>
                Request changes
              </button>
            )}{" "}
            <button class="btn tiny" type="button" onClick={() => choose(new Set())}>
              Clear
            </button>
          </p>
        )}
      </nav>
      <div class="review-diff">
        <Verbs panel={panel} quoted={quoted} />
        {diff.files.map((file, index) => (
          <section key={file.path} id={`file-${index}`} class="diff" aria-label={file.path}>
            <h2 class="file">
              <span>
                {file.old_path ? `${file.old_path} → ` : ""}
                {file.path}
              </span>
              <span class="push muted">
                {file.status}, {file.binary ? "binary" : counts(file)}
              </span>
            </h2>
            {(hunks[index] ?? []).map((hunk, place) => (
              <HunkView key={place} hunk={hunk} at={[index, place]} path={file.path} chosen={chosen} toggle={toggle} />
            ))}
          </section>
        ))}
      </div>
    </div>
  );
}

export function Review({ panel }: { panel: Panel }) {
  const from = resource<Diff>(`/tasks/${encodeURIComponent(panel.task.id)}/diff`, { at: at.value });
  return (
    <>
      <div class="panel-head review-head">
        <div class="bar">
          <Icon name="review" tone="review" />
          <code>{panel.task.id}</code>
          <strong class="one-line">{panel.task.title}</strong>
          <span class="push" />
          <GateWords gates={panel.card.gates} />
          <a class="icon-btn" href={here({ review: null })} aria-label="Leave review mode (Esc)">
            <Icon name="close" large />
          </a>
        </div>
      </div>
      <Loaded from={from} rows={8} tall>
        {(diff) => <Body panel={panel} diff={diff} />}
      </Loaded>
    </>
  );
}
