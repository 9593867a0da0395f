// The brief: what others left for whoever works on this task. All of it is other people's text.
import { Fragment } from "preact";
import { plural } from "../format";
import { toPage } from "../route";
import { resource } from "../store";
import type { BriefAnswer } from "../types";
import { useAnswer } from "../ui/hooks";
import { rich, TaskId, Time } from "../ui/text";

export function BriefOf({ task }: { task: string }) {
  const brief = useAnswer(resource<BriefAnswer>("/brief", { task }))?.brief;
  if (!brief) return null;
  const { pad, interfaces, changes, neighbours, messages, more } = brief;
  if (!pad && interfaces.length + changes.length + neighbours.length + messages.length === 0) return null;
  return (
    <section class="sec" aria-label="Brief">
      <h2>
        Brief <span>what others left for it</span>
      </h2>
      {pad && (
        <p class="small">
          <a href={toPage("more", { tab: "pads", scope: pad.scope })}>Pad of {pad.scope}</a>{" "}
          <span class="muted">
            version {pad.version}: {pad.head}
          </span>
        </p>
      )}
      {interfaces.map((one) => (
        <p key={one.name} class="small">
          <a href={toPage("more", { tab: "interfaces", id: one.name })}>{one.name}</a>{" "}
          <span class="muted">
            version {one.version}
            {one.paths.length > 0 && ` for ${one.paths.join(", ")}`}
          </span>
        </p>
      ))}
      {changes.map((one) => (
        <p key={one.seq} class="small">
          {rich(one.text)}{" "}
          <span class="muted">
            · {one.by}, <Time ts={one.ts} />
          </span>
        </p>
      ))}
      {messages.map((one, index) => (
        <p key={index} class="small">
          {rich(one.text)}{" "}
          <span class="muted">
            · {one.from} says, <Time ts={one.ts} />
          </span>
        </p>
      ))}
      {neighbours.length > 0 && (
        <p class="small muted">
          Beside it:{" "}
          {neighbours.map((one, index) => (
            <Fragment key={`${one.agent}${one.task ?? ""}`}>
              {index > 0 && ", "}
              {one.task ? <TaskId id={one.task} /> : <code>{one.agent}</code>} {one.title}
            </Fragment>
          ))}
        </p>
      )}
      {more && more.count > 0 && <p class="small muted">{plural(more.count, "entry", "entries")} more.</p>}
    </section>
  );
}
