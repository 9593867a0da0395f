// The runs of a task: what each costs and waits for, and what its agent says while it works.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { canAct, Refused, useDoing } from "../acting";
import { address, ask, post } from "../api";
import { capital, money, plural } from "../format";
import { toPage } from "../route";
import { at, resource } from "../store";
import type { Budgets, Panel, Run, RunLogs } from "../types";
import { useAnswer } from "../ui/hooks";
import { Icon } from "../ui/shapes";
import { Age, rich, Time } from "../ui/text";

/** A run as words and a shape; what is over is quiet. */
const LOOK: Record<string, { icon: string; tone: string }> = {
  queued: { icon: "queued", tone: "queued" },
  starting: { icon: "claimed", tone: "working" },
  running: { icon: "working", tone: "working" },
  waiting: { icon: "decision", tone: "blocked" },
  paused: { icon: "blocked", tone: "blocked" },
  finishing: { icon: "working", tone: "working" },
  succeeded: { icon: "done", tone: "done" },
  failed: { icon: "failed", tone: "failed" },
  stopped: { icon: "failed", tone: "queued" },
  lost: { icon: "silent", tone: "changes" },
};
const OVER = new Set(["succeeded", "failed", "stopped", "lost"]);
export const isLive = (run: Run): boolean => !OVER.has(run.state);

/** How often the output of a live run is asked for, and how many lines of it stay in view. */
const POLL_MS = 1_000;
const LINES = 200;

/** What the agent said so far; a live run is followed while the page is in front. */
function Output({ run }: { run: Run }) {
  const [lines] = useState(() => signal<RunLogs["lines"]>([]));
  const [problem, setProblem] = useState<string | null>(null);
  const box = useRef<HTMLPreElement>(null);
  const live = isLive(run);
  useEffect(() => {
    let next = 0,
      timer: ReturnType<typeof setTimeout> | undefined,
      ended = false;
    const look = async (): Promise<void> => {
      if (!document.hidden || next === 0) {
        try {
          const fresh = await ask<RunLogs>(address(`/runs/${run.id}/logs`, { from: next ? String(next) : null }), null);
          if (fresh && fresh.value.lines.length) lines.value = [...lines.peek(), ...fresh.value.lines].slice(-LINES);
          next = fresh?.value.next ?? next;
          setProblem(null);
        } catch (refused) {
          setProblem((refused as { message?: string }).message ?? "The output cannot be read.");
        }
      }
      if (live && !ended) timer = setTimeout(() => void look(), POLL_MS);
    };
    void look();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [run.id, live]);
  const shown = lines.value;
  useEffect(() => {
    const element = box.current;
    // Whoever scrolled back is reading.
    if (element && element.scrollHeight - element.scrollTop - element.clientHeight < 80) element.scrollTop = element.scrollHeight;
  }, [shown]);
  if (problem) return <p class="small muted">{problem}</p>;
  return (
    <pre class="tail said" tabIndex={0} role="log" aria-live="off" aria-label={`Output of ${run.id}`} ref={box}>
      {shown.length === 0
        ? "Nothing said yet."
        : shown.map((line, index) => (
            <div key={index} class={line.kind === "stderr" ? "failed" : line.kind === "text" ? "strong" : ""}>
              {line.text}
            </div>
          ))}
    </pre>
  );
}

function Tools({ run }: { run: Run }) {
  const doing = useDoing();
  if (!canAct() || !isLive(run)) return null;
  const send = (verb: string): void => void doing.run(() => post(`/runs/${run.id}/${verb}`));
  return (
    <>
      {run.state === "paused" ? (
        <button class="btn tiny" type="button" disabled={doing.busy} onClick={() => send("resume")}>
          Go on
        </button>
      ) : (
        <button class="btn tiny" type="button" disabled={doing.busy} onClick={() => send("pause")}>
          Pause
        </button>
      )}
      <button class="btn tiny" type="button" disabled={doing.busy} onClick={() => send("stop")}>
        Stop
      </button>
      <Refused refusal={doing.refusal} />
    </>
  );
}

/** What it waits for, or why it ended. */
function Why({ run }: { run: Run }) {
  if (run.waiting_on)
    return (
      <>
        waits for <a href={toPage("inbox")}>{run.waiting_on}</a>
      </>
    );
  if (run.not_before && isLive(run))
    return (
      <>
        not before <Time ts={run.not_before} />
      </>
    );
  if (run.error) return <>{rich(run.error.message)}</>;
  return run.reason ? <>{rich(run.reason)}</> : null;
}

function One({ run, open }: { run: Run; open: boolean }) {
  const look = LOOK[run.state] ?? { icon: "queued", tone: "queued" };
  const tokens = run.tokens.input + run.tokens.output;
  return (
    <details class="run" open={open} data-run={run.id ?? ""}>
      <summary>
        <span class={`state ${look.tone}`}>
          <Icon name={look.icon} tone={look.tone} />
          {capital(run.state)}
        </span>
        <code>{run.id}</code>
        <span>
          {run.agent} <span class="muted">by {run.model ?? run.driver}</span>
        </span>
        <span class="num">
          {run.cost_usd === null ? <span class="muted">unpriced</span> : money(run.cost_usd)}
          {run.reserved_usd > 0 && isLive(run) && <span class="muted">, {money(run.reserved_usd)} kept for it</span>}
        </span>
      </summary>
      <p class="small muted">
        {run.started_at ? (
          <>
            Began <Age since={run.started_at} /> ago
          </>
        ) : (
          "Not begun"
        )}
        , {plural(run.turns, "turn")}, {tokens.toLocaleString("en")} tokens
        {run.attempt > 1 && `, attempt ${run.attempt}`}
        {(run.waiting_on || run.error || run.reason || (run.not_before && isLive(run))) && ", "}
        <Why run={run} />. <Tools run={run} />
      </p>
      <Output run={run} />
    </details>
  );
}

export function RunsOf({ panel }: { panel: Panel }) {
  const { runs: list, task } = panel;
  const budgets = useAnswer(resource<Budgets>("/budgets", { at: at.value }))?.budgets ?? [];
  if (!list.length) return null;
  const spent = list.reduce((sum, run) => sum + (run.cost_usd ?? 0), 0);
  const budget = budgets.find((one) => one.scope === `task:${task.id}`);
  const first = list.find(isLive) ?? list[0];
  return (
    <section class="sec" aria-label="Runs">
      <h2>
        Runs{" "}
        <span>
          {money(spent)} spent{budget?.usd != null && ` of ${money(budget.usd)}`}
        </span>
      </h2>
      {list.map((run) => (
        <One key={run.id} run={run} open={run === first && isLive(run)} />
      ))}
    </section>
  );
}
