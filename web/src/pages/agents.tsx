// Who is here, what each does now, and who has gone quiet.
import { Fragment } from "preact";
import { canAct, Refused, useDoing } from "../acting";
import { post } from "../api";
import { capital, duration, money } from "../format";
import { words } from "../filter";
import { toPage, toTask } from "../route";
import { at, clock, resource, seen } from "../store";
import { isLive } from "../task/runs";
import type { CostAnswer, Crew, CrewAgent, Run, Runs } from "../types";
import { useAnswer } from "../ui/hooks";
import { Menu } from "../ui/menu";
import { Agent, Icon, STATUS } from "../ui/shapes";
import { Empty, Loaded } from "../ui/states";
import { rich } from "../ui/text";

const GROUP: [string, string][] = [
  ["silent", "Silent"],
  ["waiting", "Waiting"],
  ["at_work", "At work"],
  ["idle", "Idle"],
  ["person", "People"],
];
const DOING: Record<string, { icon: string; tone: string; word: string }> = {
  silent: { icon: "silent", tone: "changes", word: "Silent" },
  for_decision: { icon: "decision", tone: "blocked", word: "For an answer" },
  for_file: { icon: "lock", tone: "blocked", word: "For a file" },
  working: STATUS.in_progress,
  claimed: STATUS.claimed,
  reviewing: { ...STATUS.review, word: "Reviewing" },
  merging: STATUS.merging,
  sent_back: STATUS.changes_requested,
  idle: { icon: "queued", tone: "queued", word: "Idle" },
  here: { icon: "approved", tone: "queued", word: "Here" },
};
const ROLES = ["implementer", "critic", "integrator", "planner", "observer"];

/** Events an hour of the last day, this hour dark. */
function Spark({ hours, most }: { hours: number[]; most: number }) {
  return (
    <svg
      width="119"
      height="18"
      viewBox="0 0 119 18"
      role="img"
      aria-label={`Events an hour in the last 24 hours: ${hours.join(", ")}`}
    >
      {hours.map((count, index) => {
        const height = count ? Math.max(1.5, (17 * count) / most) : 0.75;
        return (
          <rect
            key={index}
            class={`fl-muted ${index === hours.length - 1 ? "" : "part"}`}
            x={index * 5}
            y={18 - height}
            width="4"
            height={height}
          />
        );
      })}
    </svg>
  );
}

function Tools({ agent }: { agent: CrewAgent }) {
  const doing = useDoing();
  if (!canAct()) return null;
  const release = async (): Promise<void> => {
    if (agent.lock_ids.length) await post("/leases/release", { ids: agent.lock_ids });
    for (const task of agent.tasks) await post(`/tasks/${encodeURIComponent(task)}/release`, { reason: "released by a person" });
  };
  const choices = [
    ...(agent.person
      ? []
      : ROLES.map((role) => {
          const has = agent.roles.includes(role);
          const roles = has ? agent.roles.filter((one) => one !== role) : [...agent.roles, role];
          return {
            key: role,
            label: `${has ? "✓ " : ""}${capital(role)}`,
            disabled: has && agent.roles.length === 1,
            run: () => void doing.run(() => post("/agents", { id: agent.id, roles })),
          };
        })),
    {
      key: "release",
      label: "Release all it holds",
      disabled: agent.tasks.length + agent.lock_ids.length === 0,
      run: () => void doing.run(release),
    },
  ];
  return (
    <>
      <Menu label={`Role of ${agent.id}, release all`} icon button={<Icon name="more" large />} choices={choices} />
      <Refused refusal={doing.refusal} />
    </>
  );
}

interface RowOf {
  agent: CrewAgent;
  run: Run | undefined;
  /** What it spent today; null where nobody counts money. */
  spent: number | null;
  most: number;
  past: boolean;
}
function Row({ agent, run, spent, most, past }: RowOf) {
  const look = DOING[agent.doing] ?? { icon: "queued", tone: "queued", word: capital(agent.doing) };
  const heard = (!past && seen.value.get(agent.id)) || agent.last_seen;
  const age = heard && (clock.value - Date.parse(heard)) / 1000;
  const cost =
    run &&
    `${run.id ?? ""} ${run.state}${run.cost_usd === null ? "" : `, ${money(run.cost_usd)}`}${run.waiting_on ? `, waits for ${run.waiting_on}` : ""}`;
  const note = [agent.words, agent.now_doing, cost].filter(Boolean).join(" · ");
  const works = agent.roles.includes("implementer");
  return (
    <tr>
      <td>
        <a class="row-link" href={toPage("board", { q: `agent:${agent.id}` })} data-nav>
          <Agent id={agent.id} life={agent.life} />
        </a>
      </td>
      <td class="muted">{agent.person ? "Person" : agent.roles.map(capital).join(", ")}</td>
      <td>
        <span class={`state ${look.tone}`}>
          <Icon name={look.icon} tone={look.tone} />
          {look.word}
        </span>
      </td>
      <td class="fill">
        {agent.task && (
          <a href={toTask(agent.task)}>
            <span class="id">{agent.task}</span> {agent.title}
          </a>
        )}
        {agent.task && note && <span class="muted"> · </span>}
        {note && <span class="muted">{rich(note)}</span>}
      </td>
      <td class="num">
        {age !== null && age !== "" && (
          <span class={agent.group === "silent" ? "changes" : ""}>{age < 2 ? "now" : duration(age)}</span>
        )}
      </td>
      <td class="num">{agent.leases || ""}</td>
      <td class="num">{works ? agent.done_7d : agent.done_7d || ""}</td>
      <td class="num">
        <span class={agent.failed_7d ? "" : "muted"}>{works ? agent.failed_7d : agent.failed_7d || ""}</span>
      </td>
      <td>
        <Spark hours={agent.hours} most={most} />
      </td>
      {spent !== null && <td class="num">{spent > 0 && money(spent)}</td>}
      <td>
        <Tools agent={agent} />
      </td>
    </tr>
  );
}

export function Agents() {
  const from = resource<Crew>("/crew", { at: at.value });
  const crew = from.data.value;
  const allRuns = useAnswer(resource<Runs>("/runs", { limit: "200", at: at.value }))?.runs ?? [];
  const runs = allRuns.filter(isLive);
  const asked = words.value.map((word) => word.replace(/^agent:/, ""));
  const agents = (crew?.agents ?? []).filter((agent) =>
    asked.every((word) => agent.id.includes(word) || (agent.title ?? "").toLowerCase().includes(word)),
  );
  // Runs count money by agent; each run acts under a name of its own.
  const cost = useAnswer(resource<CostAnswer>("/cost", { by: "run", at: at.value }))?.cost;
  const counted = (cost?.all.runs ?? 0) > 0;
  const spentBy = new Map<string, number>();
  for (const run of allRuns) {
    if (!run.identity) continue;
    const usd = cost?.today.by[run.id ?? ""]?.usd ?? 0;
    spentBy.set(run.identity, (spentBy.get(run.identity) ?? 0) + usd);
  }
  const most = Math.max(1, ...agents.flatMap((agent) => agent.hours));
  const counts = crew?.counts;
  const alarm =
    counts &&
    [counts.silent && `${counts.silent} silent`, counts.waiting && `${counts.waiting} waiting`].filter(Boolean).join(", ");
  return (
    <>
      <div class="head">
        <h1>Agents</h1>
        {counts && (
          <p class="sum">
            {alarm && <b>{alarm}, </b>}
            {counts.at_work} at work, {counts.idle} idle
          </p>
        )}
      </div>
      <Loaded from={from} rows={8}>
        {() =>
          agents.length === 0 ? (
            <Empty command="comity task claim">No agent has been here yet.</Empty>
          ) : (
            <div class="scroll-x">
              <table class="agents">
                <thead>
                  <tr>
                    <th scope="col">Agent</th>
                    <th scope="col">Role</th>
                    <th scope="col">Status</th>
                    <th scope="col">Task</th>
                    <th scope="col" class="num">
                      Last sign
                    </th>
                    <th scope="col" class="num">
                      Leases
                    </th>
                    <th scope="col" class="num">
                      Done, 7 d
                    </th>
                    <th scope="col" class="num">
                      Failed, 7 d
                    </th>
                    <th scope="col">Events an hour, 24 h</th>
                    {counted && (
                      <th scope="col" class="num">
                        Spent today
                      </th>
                    )}
                    <th scope="col">
                      <span class="hidden">Role, release</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {GROUP.map(([group, title]) => {
                    const list = agents.filter((agent) => agent.group === group);
                    return (
                      list.length > 0 && (
                        <Fragment key={group}>
                          <tr class="group">
                            <th scope="rowgroup" colSpan={counted ? 11 : 10}>
                              {title} <span>{list.length}</span>
                            </th>
                          </tr>
                          {list.map((agent) => (
                            <Row
                              key={agent.id}
                              agent={agent}
                              run={runs.find((run) => run.identity === agent.id)}
                              spent={counted ? (spentBy.get(agent.id) ?? 0) : null}
                              most={most}
                              past={crew?.at !== null}
                            />
                          ))}
                        </Fragment>
                      )
                    );
                  })}
                </tbody>
              </table>
            </div>
          )
        }
      </Loaded>
    </>
  );
}
