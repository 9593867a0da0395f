// Why a path is as it is, and what a person can do about it.
import { canAct, Refused, useDoing } from "../acting";
import { post } from "../api";
import { shortSha } from "../format";
import { here, toTask } from "../route";
import { at, resource } from "../store";
import type { TreeEntry, Why } from "../types";
import { Icon, markLook } from "../ui/shapes";
import { Loaded } from "../ui/states";
import { rich, TaskId, Time } from "../ui/text";

/** The path stands above all lines; in them it is "it". */
const about = (what: string, path: string): string => (what.endsWith(` ${path}`) ? `${what.slice(0, -path.length)}it` : what);

export function PathSide({ path, entry }: { path: string; entry: TreeEntry | null }) {
  const doing = useDoing();
  const why = resource<Why>("/why", { of: path, at: at.value });
  const locks = entry?.held.map((one) => one.lock_id) ?? [];
  const task = entry?.held[0]?.task;
  return (
    <section class="side" aria-label={`Why ${path}`}>
      <h2>
        <code>{path}</code>
      </h2>
      <Loaded from={why} rows={4}>
        {(answer) => (
          <>
            <p class="say">
              {rich(answer.summary)}{" "}
              {entry && entry.wanted_by.length > 0 && (
                <b>
                  {entry.wanted_by.join(", ")} want{entry.wanted_by.length === 1 ? "s" : ""} it.
                </b>
              )}
            </p>
            {(task || locks.length > 0) && (
              <div class="row">
                {task && (
                  <a class="btn" href={toTask(task)}>
                    Open {task}
                  </a>
                )}
                {locks.length > 0 && (
                  <button
                    class="btn"
                    type="button"
                    disabled={!canAct() || doing.busy}
                    onClick={() => void doing.run(() => post("/leases/release", { ids: locks }))}
                  >
                    Release
                  </button>
                )}
              </div>
            )}
            <Refused refusal={doing.refusal} />
            <ul class="why">
              {answer.lines.map((line) => {
                const look = markLook(line.mark);
                return (
                  <li key={line.seq}>
                    <span class="muted">
                      <Time ts={line.ts} />
                    </span>
                    <Icon name={look.icon} tone={look.tone} />
                    <span>
                      <code>{line.who}</code> {rich(about(line.what, path))}
                      {line.reason && <>: {rich(line.reason)}</>}
                    </span>
                    <a class="muted num" href={here({ at: String(line.seq) })} title="Show this moment">
                      {line.seq}
                    </a>
                  </li>
                );
              })}
              {answer.commits.map((commit) => (
                <li key={commit.commit}>
                  <span class="muted">
                    <Time ts={commit.ts} />
                  </span>
                  <Icon name="commit" tone="queued" />
                  <span>
                    {commit.subject} {commit.task && <TaskId id={commit.task} />}
                  </span>
                  <code class="muted num">{shortSha(commit.commit)}</code>
                </li>
              ))}
            </ul>
            {answer.lines.length === 0 && answer.commits.length === 0 && (
              <p class="small muted">Nothing has happened to it yet.</p>
            )}
          </>
        )}
      </Loaded>
    </section>
  );
}
