import { useState } from "preact/hooks";
import { canAct, Wants } from "../acting";
import { post } from "../api";
import { shortSha } from "../format";
import { toPage } from "../route";
import type { Panel } from "../types";
import { GateDot } from "../ui/shapes";
import { Time } from "../ui/text";

const TIER: Record<string, string> = {
  verified: "verified, clean checkout",
  observed: "observed, in the work tree",
  claimed: "claimed",
};
type Gate = Panel["task"]["gates"][number];

const markOf = (gate: Gate): string => (gate.state === "met" ? (gate.tier ?? "claimed") : gate.state);
function said(gate: Gate): string {
  if (gate.state === "met") return gate.tier ? (TIER[gate.tier] ?? gate.tier) : "met";
  if (gate.state === "waived") return `waived${gate.reason ? `: ${gate.reason}` : ""}`;
  if (gate.state === "failed") return `failed${gate.tier ? `, ${gate.tier}` : ""}`;
  return gate.name === "review" ? "open, met by approving" : "open";
}

function OneGate({ gate, task }: { gate: Gate; task: string }) {
  const [waiving, waive] = useState(false);
  const open = gate.required && (gate.state === "open" || gate.state === "failed") && gate.name !== "review";
  return (
    <>
      <tr id={`gate-${gate.name}`}>
        <td>
          <span class="state">
            <GateDot mark={markOf(gate)} />
            <b>{gate.name}</b>
          </span>
        </td>
        <td class="muted">
          {gate.state === "waived" ? <a href={toPage("more", { tab: "activity", task })}>{said(gate)}</a> : said(gate)}
          {gate.by && gate.state === "waived" && (
            <>
              {" "}
              by <code>{gate.by}</code>
            </>
          )}
        </td>
        <td>
          {gate.commit && (
            <code class="muted" title={gate.commit}>
              {shortSha(gate.commit)}
            </code>
          )}
        </td>
        <td class="num muted">
          {gate.at ? (
            <Time ts={gate.at} />
          ) : (
            open &&
            canAct() &&
            !waiving && (
              <button class="btn tiny" type="button" onClick={() => waive(true)}>
                Waive
              </button>
            )
          )}
        </td>
      </tr>
      {waiving && (
        <tr>
          <td colSpan={4}>
            <Wants
              title={`Waive ${gate.name}`}
              fields={["reason"]}
              cancel={() => waive(false)}
              send={(values) => post(`/gates/${encodeURIComponent(task)}/waive`, { gate: gate.name, ...values })}
            />
          </td>
        </tr>
      )}
    </>
  );
}

export function Gates({ panel }: { panel: Panel }) {
  const { task, evidence } = panel;
  if (!task.gates.length) return null;
  const met = task.gates.filter((gate) => gate.state === "met" || gate.state === "waived").length;
  const worth = [...evidence].reverse();
  const shown =
    worth.find((one) => !one.passed && one.tail) ??
    worth.find((one) => one.gate === "test" && one.tail) ??
    worth.find((one) => one.tail);
  const lines = shown?.tail?.trimEnd().split("\n").slice(-12) ?? [];
  return (
    <section class="sec">
      <h2>
        Gates{" "}
        <span>
          {met} of {task.gates.length} met{task.commit && ` for commit ${shortSha(task.commit)}`}
          {task.round > 0 && `, round ${task.round}`}
        </span>
      </h2>
      <table class="gate-rows">
        <thead class="hidden">
          <tr>
            <th scope="col">Gate</th>
            <th scope="col">State</th>
            <th scope="col">Commit</th>
            <th scope="col">At</th>
          </tr>
        </thead>
        <tbody>
          {task.gates.map((gate) => (
            <OneGate key={gate.name} gate={gate} task={task.id} />
          ))}
        </tbody>
      </table>
      {shown && lines.length > 0 && (
        <>
          <p class="small muted cap">
            End of the output of <code>{shown.gate}</code>
            {!shown.passed && ", which failed"}
          </p>
          <pre class="tail" tabIndex={0} role="region" aria-label={`Output of ${shown.gate}`}>
            {lines.slice(0, -1).join("\n")}
            {lines.length > 1 && "\n"}
            <b>{lines.at(-1)}</b>
          </pre>
        </>
      )}
    </section>
  );
}
