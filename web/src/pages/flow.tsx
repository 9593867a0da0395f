// How work flows: seven plots, each mark a link to the tasks that it counts.
import { capital, hours, money, plural } from "../format";
import { here, route, toTask } from "../route";
import { at, board, resource } from "../store";
import type { CostAnswer, Flow } from "../types";
import { useAnswer } from "../ui/hooks";
import { Empty, Loaded } from "../ui/states";
import { Bars, Columns, Percentiles, Spending, Stack } from "./plots";

const DAYS = [7, 14, 30];

/** The tasks behind a mark: their ids are in the address. */
function Behind() {
  const ids = (route.value.query.get("tasks") ?? "").split(",").filter(Boolean);
  if (!ids.length) return null;
  return (
    <section class="behind" aria-label="Tasks behind this mark">
      <h2>
        {route.value.query.get("mark")} <span class="muted">{plural(ids.length, "task")}</span>{" "}
        <a class="btn tiny" href={here({ tasks: null, mark: null })}>
          Close
        </a>
      </h2>
      <ul>
        {ids.map((id) => (
          <li key={id}>
            <a href={toTask(id)}>
              <span class="id">{id}</span> {board.value?.cards.get(id)?.title ?? ""}
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What runs cost, day by day; drawn once there are runs. */
function Spend({ flow }: { flow: Flow }) {
  const cost = useAnswer(resource<CostAnswer>("/cost", { by: "day", at: at.value }))?.cost;
  if (!cost || cost.all.runs === 0) return null;
  const days = flow.wip.map(({ day }) => ({ day, usd: cost.all.by[day]?.usd ?? 0, runs: cost.all.by[day]?.runs ?? 0 }));
  const sum = days.reduce((all, day) => all + day.usd, 0);
  return (
    <figure class="plot">
      <h2>Spent on runs</h2>
      <p>
        {money(sum)} in {plural(flow.days, "day")},{" "}
        {plural(
          days.reduce((all, day) => all + day.runs, 0),
          "run",
        )}
        .
      </p>
      <Spending days={days} />
    </figure>
  );
}

function Plots({ flow }: { flow: Flow }) {
  const today = flow.wip.at(-1);
  const inProgress = today ? today.working + today.review + today.approved + today.blocked : 0;
  const top = flow.refused[0];
  return (
    <div class="plots">
      <figure class="plot">
        <h2>Lead time</h2>
        <p>Created to done. p50: half take less. p85: 85 of 100 do.</p>
        <Percentiles name="Lead time" days={flow.lead} />
      </figure>
      <figure class="plot">
        <h2>Cycle time</h2>
        <p>Claimed to done, reviews included.</p>
        <Percentiles name="Cycle time" days={flow.cycle} />
      </figure>
      <figure class="plot">
        <h2>Work in progress</h2>
        <p>At the end of each day. Today {inProgress}.</p>
        <Stack days={flow.wip} />
      </figure>
      <figure class="plot">
        <h2>Blocked hours by reason</h2>
        <p>
          {hours(flow.blocked_hours)} h in {plural(flow.days, "day")}.
        </p>
        <Bars
          tone="blocked"
          unit="hours"
          rows={flow.blocked.map((one) => ({ label: capital(one.reason), value: hours(one.hours), tasks: one.tasks }))}
          none="Nothing was blocked."
        />
      </figure>
      <figure class="plot">
        <h2>Refused writes by path</h2>
        <p>
          {flow.refused_total} in {plural(flow.days, "day")}
          {top && `, ${top.count} of them on one file`}.
        </p>
        <Bars
          tone="failed"
          unit="refused writes"
          mono
          rows={flow.refused.map((one) => ({ label: one.path, value: one.count, tasks: one.tasks }))}
          none="No write was refused."
        />
      </figure>
      <figure class="plot">
        <h2>Review rounds</h2>
        <p>{flow.first_pass === null ? "Nothing was approved yet." : `${flow.first_pass} of 100 tasks pass the first review.`}</p>
        <Columns rows={flow.rounds} />
      </figure>
      <Spend flow={flow} />
    </div>
  );
}

export function FlowPage() {
  const days = Number(route.value.query.get("days") ?? "14");
  const from = resource<Flow>("/flow", { days: String(days), at: at.value });
  const flow = from.data.value;
  return (
    <>
      <div class="head">
        <h1>Flow</h1>
        {flow && (
          <p class="sum">
            <b>
              {plural(flow.done, "task")} done in {plural(flow.days, "day")}.
            </b>{" "}
            {flow.headline}
          </p>
        )}
        <div class="tools">
          <nav class="seg" aria-label="Days">
            {DAYS.map((one) => (
              <a
                key={one}
                href={here({ days: String(one), tasks: null, mark: null })}
                aria-current={one === days ? "true" : undefined}
              >
                {one} d
              </a>
            ))}
          </nav>
        </div>
      </div>
      <Behind />
      <Loaded from={from} rows={6} tall>
        {(value) =>
          value.lead.length + value.wip.length === 0 ? (
            <Empty>Nothing has flowed yet. Plots appear with the first finished task.</Empty>
          ) : (
            <Plots flow={value} />
          )
        }
      </Loaded>
    </>
  );
}
