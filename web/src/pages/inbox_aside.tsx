// Beside the inbox, unboxed and muted: who works, what several want, what merges, whether done can be trusted.
import { Fragment } from "preact";
import { capital, money, plural, shortAgent } from "../format";
import { toPage, toTask, within } from "../route";
import { at, overAll, resource } from "../store";
import type { Aside as AsideShape, Budgets, CostAnswer, Item, MergeQueue } from "../types";
import { useAnswer } from "../ui/hooks";
import { Age, rich, TaskId } from "../ui/text";

const WIDTH = 320;
/** Shares of a whole as one bar with small gaps. */
function Shares({ parts, label }: { parts: [tone: string, count: number][]; label: string }) {
  const total = parts.reduce((sum, [, count]) => sum + count, 0);
  let x = 0;
  return (
    <svg width={WIDTH} height="6" viewBox={`0 0 ${WIDTH} 8`} preserveAspectRatio="none" role="img" aria-label={label}>
      {total === 0 && <rect class="fl-line" width={WIDTH} height="8" rx="2" />}
      {parts
        .filter(([, count]) => count > 0)
        .map(([tone, count], _, all) => {
          const width = ((WIDTH - 3 * (all.length - 1)) * count) / total;
          const mark = <rect key={tone} class={tone} x={x} width={width} height="8" rx="2" />;
          x += width + 3;
          return mark;
        })}
    </svg>
  );
}

function Wanted({ file }: { file: AsideShape["wanted"][number] }) {
  return (
    <>
      <p>
        <a href={toPage("tree", { path: file.path, ...within(file.repo) })}>
          <code>
            <b>{file.path}</b>
          </code>
        </a>
      </p>
      <p>
        {file.held_by && (
          <>
            Held by <code title={file.held_by}>{shortAgent(file.held_by)}</code>
            {file.task && (
              <>
                {" "}
                for <TaskId id={file.task} repo={file.repo} />
              </>
            )}
            .{" "}
          </>
        )}
        {file.wanted_by.length > 0 && (
          <>
            {file.wanted_by.map((id, index) => (
              <>
                {index > 0 && ", "}
                <TaskId id={id} repo={file.repo} />
              </>
            ))}{" "}
            {file.wanted_by.length === 1 ? "is" : "are"} next.{" "}
          </>
        )}
        {file.refused_24h > 0 && <>{plural(file.refused_24h, "write")} refused in 24 h.</>}
      </p>
    </>
  );
}

/** Money, once there are runs: what today cost, and what each budget has left. */
function Spent() {
  const cost = useAnswer(resource<CostAnswer>("/cost", { by: "agent", at: at.value }))?.cost;
  const budgets = useAnswer(resource<Budgets>("/budgets", { at: at.value }))?.budgets ?? [];
  if (!cost || cost.all.runs === 0) return null;
  const daily = budgets.find((one) => one.scope === "repo" && one.per === "day" && one.usd !== null);
  const tight = budgets.filter((one) => one.state !== "open");
  return (
    <section>
      <h2>
        Spent today{" "}
        <span>
          {money(cost.today.usd)}
          {daily?.usd != null && ` of ${money(daily.usd)}`}
        </span>
      </h2>
      {daily?.usd != null && (
        <p>
          <Shares
            parts={[
              [daily.state === "open" ? "fl-muted" : "fl-changes", daily.spent.usd],
              ["fl-muted part", daily.reserved.usd],
              ["fl-line", Math.max(0, daily.usd - daily.spent.usd - daily.reserved.usd)],
            ]}
            label={`${money(daily.spent.usd)} spent, ${money(daily.reserved.usd)} kept for runs, of ${money(daily.usd)}`}
          />
        </p>
      )}
      <p>
        {plural(cost.today.runs, "run")} today
        {cost.reserved_usd > 0 && `, ${money(cost.reserved_usd)} kept for those that run`}
        {cost.unpriced_runs > 0 && `, ${plural(cost.unpriced_runs, "run")} without a price`}.
      </p>
      {tight.map((one) => (
        <p key={one.scope + one.per}>
          <b class={one.state === "breached" ? "failed" : "changes"}>
            Budget of {one.scope} is {one.state === "breached" ? "used up" : "nearly used up"}
          </b>
          {one.usd !== null && `: ${money(one.spent.usd)} of ${money(one.usd)}`}
        </p>
      ))}
    </section>
  );
}

/** What is merged now, what waits for it in order, and what was sent out of the queue. */
function Queue({ merging, items }: { merging: AsideShape["merging"]; items: Item[] }) {
  const answer = useAnswer(resource<MergeQueue>("/merge/queue", { at: at.value }));
  const busy = new Set(merging.map((one) => one.task));
  const out = items.filter((item) => item.task && (item.kind === "red_gate" || item.kind === "merge-ejected"));
  const isOut = new Set(out.map((item) => item.task));
  const waiting = (answer?.queue ?? []).filter((one) => !busy.has(one.task) && !isOut.has(one.task));
  if (!merging.length && !waiting.length && !out.length) return null;
  return (
    <section>
      <h2>
        Merge queue <span>{answer?.target ? `into ${answer.target}` : plural(merging.length + waiting.length, "task")}</span>
      </h2>
      <p>
        {merging.map((one) => (
          <Fragment key={one.task}>
            <TaskId id={one.task} repo={one.repo} /> <b>is being merged</b>, <Age since={one.since} />.{" "}
          </Fragment>
        ))}
        {waiting.length > 0 && (
          <>
            {waiting.slice(0, 5).map((one, index) => (
              <Fragment key={one.task}>
                {index > 0 && ", "}
                <TaskId id={one.task} />
              </Fragment>
            ))}
            {waiting.length > 5 && ` and ${waiting.length - 5} more`} {waiting.length === 1 ? "waits" : "wait"}.{" "}
          </>
        )}
        {out.map((item) => (
          <Fragment key={item.key}>
            <TaskId id={item.task as string} repo={item.repo} /> cannot be merged: <b>{rich(item.reason ?? item.word)}</b>.{" "}
          </Fragment>
        ))}
      </p>
    </section>
  );
}

export function Aside({ aside, items }: { aside: AsideShape; items: Item[] }) {
  const { at_work, wanted, merging, done_24h: done, log } = aside;
  return (
    <aside class="now" aria-label="Right now">
      <section>
        <h2>
          At work{" "}
          <span>
            {aside.agents.at_work} of {aside.agents.total}
          </span>
        </h2>
        {at_work.length === 0 && <p>Nobody works right now.</p>}
        <ul>
          {at_work.map((one) => (
            <li key={`${one.repo}${one.agent}${one.task}`}>
              <a class="one-line" href={toTask(one.task, within(one.repo))} title={one.note ?? undefined}>
                {one.title}
              </a>
              <code title={one.agent}>{shortAgent(one.agent)}</code>
              <span class="id">{one.task}</span>
            </li>
          ))}
        </ul>
      </section>
      {wanted.length > 0 && (
        <section>
          <h2>
            Wanted by several <span>{plural(wanted.length, "file")}</span>
          </h2>
          {wanted.slice(0, 3).map((file) => (
            <Wanted key={file.path} file={file} />
          ))}
        </section>
      )}
      {!overAll.value && <Queue merging={merging} items={items} />}
      <section>
        <h2>
          Done in 24 h <span>{plural(done.tasks, "task")}</span>
        </h2>
        {done.tasks > 0 && (
          <p>
            <Shares
              parts={[
                ["fl-done", done.verified],
                ["fl-done part", done.partly],
                ["fl-changes part", done.waived],
              ]}
              label={`${done.verified} verified, ${done.partly} partly, ${done.waived} waived`}
            />
          </p>
        )}
        <p>
          {done.tasks === 0 ? (
            "Nothing yet."
          ) : (
            <>
              <b>{done.verified}</b> all verified, <b>{done.partly}</b> partly, <b>{done.waived}</b> with a{" "}
              <a href={toPage("board", { q: "column:done is:waived" })}>waived gate</a>
            </>
          )}
        </p>
      </section>
      <section>
        <h2>Trust</h2>
        <p>
          {log.ok === false ? (
            <b class="failed">The log does not verify</b>
          ) : log.verified_at ? (
            <>
              Log verified <Age since={log.verified_at} /> ago
            </>
          ) : (
            capital("log not verified yet")
          )}
          , {log.events.toLocaleString("en")} events
          {log.head && (
            <>
              , head <code title={log.head}>{log.head.slice(0, 4)}</code>
            </>
          )}
        </p>
      </section>
      {!overAll.value && <Spent />}
    </aside>
  );
}
