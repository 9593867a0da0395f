import { Fragment } from "preact";
import { canAct, Refused, useDoing } from "../acting";
import { post } from "../api";
import { capital, clockTime, fileName, plural, shortSha } from "../format";
import { toPage } from "../route";
import type { Panel } from "../types";
import { Icon, type STATUS } from "../ui/shapes";
import { rich, TaskId, Time } from "../ui/text";

type Row = [string, preact.ComponentChildren];
const link = (url: string): preact.ComponentChildren =>
  /^https?:\/\//.test(url) ? (
    <a href={url} rel="noreferrer" target="_blank">
      {url.replace(/^.*\/(?:pull|merge_requests)\//, "#").replace(/^https?:\/\//, "")}
    </a>
  ) : (
    url
  );

function rows({ task, card, children }: Panel): Row[] {
  const found: [string, preact.ComponentChildren | null | false][] = [
    ["By", card.agent && <code>{card.agent}</code>],
    ["Reviewer", task.reviewer && <code>{task.reviewer}</code>],
    ["Role", task.role && capital(task.role)],
    ["Branch", task.branch && <code>{task.branch}</code>],
    ["Commit", task.commit && <code title={task.commit}>{shortSha(task.commit)}</code>],
    ["Merged", task.merged_sha && <code title={task.merged_sha}>{shortSha(task.merged_sha)}</code>],
    ["Pull request", task.pr && link(task.pr)],
    ["Attempts", `${task.attempts} of ${task.max_attempts}`],
    ["Needs", task.needs && rich(task.needs)],
    ["Labels", task.labels.length > 0 && task.labels.join(", ")],
    ["Parent", task.parent && <TaskId id={task.parent} />],
    [
      "Parts",
      children.length > 0 &&
        children.map((id, index) => (
          <Fragment key={id}>
            {index > 0 && ", "}
            <TaskId id={id} />
          </Fragment>
        )),
    ],
    ["Initiative", task.initiative],
    ["Epic", task.epic],
    ["Delivers", task.deliverable !== "code" && task.deliverable],
    ["Created", <Time ts={task.created_at} />],
  ];
  return found.filter((row): row is Row => !!row[1]);
}

const ITEM: Record<string, { icon: keyof typeof STATUS | "q-w" | "queued" | "approved"; tone: string }> = {
  met: { icon: "approved", tone: "done" },
  failed: { icon: "failed", tone: "failed" },
  waived: { icon: "approved", tone: "changes" },
  open: { icon: "queued", tone: "queued" },
};

function Contract({ panel }: { panel: Panel }) {
  const doing = useDoing();
  const { task } = panel;
  const limits = [
    task.constraints.max_files !== null && `at most ${plural(task.constraints.max_files, "file")}`,
    task.constraints.no_new_deps && "no new dependencies",
    task.constraints.no_git_commit && "no commits",
    task.constraints.allow_delete.length > 0 && `may delete ${task.constraints.allow_delete.join(", ")}`,
  ]
    .filter((word): word is string => !!word)
    .join(", ");
  if (!task.dod.length && !task.requirements.length && !limits && !task.files.length) return null;
  const check = (index: number): void =>
    void doing.run(() => post(`/tasks/${encodeURIComponent(task.id)}/check`, { item: String(index + 1) }));
  return (
    <section class="sec">
      <h2>Contract</h2>
      {task.requirements.length > 0 && (
        <ul class="check">
          {task.requirements.map((text) => (
            <li key={text}>
              <Icon name="right" tone="queued" />
              <span>{rich(text)}</span>
            </li>
          ))}
        </ul>
      )}
      <ul class="check">
        {task.dod.map((item, index) => {
          const look = ITEM[item.state] ?? { icon: "queued", tone: "queued" };
          const open = item.state === "open" && canAct() && task.status === "review";
          return (
            <li key={item.text}>
              <Icon name={look.icon} tone={look.tone} />
              <span>
                {rich(item.text)}
                {item.state === "waived" && <span class="muted"> (waived{item.by && ` by ${item.by}`})</span>}
                {open && (
                  <button class="btn tiny" type="button" disabled={doing.busy} onClick={() => check(index)}>
                    Check off
                  </button>
                )}
              </span>
            </li>
          );
        })}
      </ul>
      <Refused refusal={doing.refusal} />
      {limits && <p class="small muted">{capital(limits)}</p>}
      {task.files.length > 0 && (
        <p class="small muted">
          Declared:{" "}
          {task.files.map((file, index) => (
            <Fragment key={file}>
              {index > 0 && ", "}
              <a href={toPage("tree", { path: file })}>
                <code>{file}</code>
              </a>
            </Fragment>
          ))}
        </p>
      )}
    </section>
  );
}

export function Facts({ panel }: { panel: Panel }) {
  const { leases, ended_leases: ended, decisions, memories } = panel;
  const lastEnd = ended[0]?.ended_at;
  const paths = [...new Set(ended.map((lease) => lease.path))];
  return (
    <>
      <section class="sec">
        <dl class="facts">
          {rows(panel).map(([name, value]) => (
            <Fragment key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </Fragment>
          ))}
        </dl>
      </section>
      <Contract panel={panel} />
      <section class="sec">
        <h2>
          Leases <span>{leases.length ? `${leases.length} live` : "none live"}</span>
        </h2>
        {leases.map((lease) => (
          <p key={lease.lock_id} class="small">
            <a href={toPage("tree", { path: lease.path })}>
              <code>{lease.path}</code>
            </a>{" "}
            <span class="muted">
              until <Time ts={lease.expires_at} />
            </span>
          </p>
        ))}
        {ended.length > 0 && lastEnd && (
          <p class="small muted">
            {plural(ended.length, "lease")} ended, the last at {clockTime(lastEnd)}:{" "}
            {paths.slice(0, 6).map((path, index) => (
              <Fragment key={path}>
                {index > 0 && ", "}
                <code title={path}>{fileName(path)}</code>
              </Fragment>
            ))}
            {paths.length > 6 && ` and ${paths.length - 6} more`}
          </p>
        )}
      </section>
      {decisions.length > 0 && (
        <section class="sec">
          <h2>Decisions</h2>
          {decisions.map((one) => (
            <p key={one.id} class="small">
              <code class="muted">{one.id}</code> {one.question}{" "}
              <span class="muted">
                {one.state === "open"
                  ? "Open."
                  : `${one.answer ?? ""}${one.text ? `: ${one.text}` : ""}, said ${one.answered_by ?? "nobody"}${one.answered_at ? ` at ${clockTime(one.answered_at)}` : ""}.`}
              </span>
            </p>
          ))}
        </section>
      )}
      {memories.length > 0 && (
        <section class="sec">
          <h2>
            Memories <span>for these paths</span>
          </h2>
          {memories.map((one) => (
            <p key={one.id} class="small">
              <code class="muted">{one.id}</code> {rich(one.text)}{" "}
              <span class="muted">
                · {capital(one.type)}
                {one.source?.task && `, from ${one.source.task}`}.
              </span>
            </p>
          ))}
        </section>
      )}
    </>
  );
}
