// Texts of the log as they are read: ids become links, and what is written as code looks like it. No markup is taken from them.
import type { ComponentChildren } from "preact";
import { duration, shortSha, when } from "../format";
import { toTask, within } from "../route";
import { clock } from "../store";

const TOKEN =
  /\b(\d{4}-\d\d-\d\dT\d\d:\d\d[\d:.]*Z)|\b([0-9a-f]{40})\b|`([^`\n]+)`|\b(T\d+)\b|\b([DLMR]\d+)\b|\b([a-z][a-z0-9.-]*:[a-z0-9][\w.-]{2,})\b|((?:[\w.@-]+\/)+[\w.@*-]+\.\w+|(?:[\w.@-]+\/)+\*\*)/g;

export const TaskId = ({ id, repo }: { id: string; repo?: string | undefined }) => (
  <a class="id" href={toTask(id, within(repo))}>
    {id}
  </a>
);

export function rich(text: string): ComponentChildren {
  const parts: ComponentChildren[] = [];
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    const [whole, time, commit, code, task, other, agent, path] = match;
    parts.push(text.slice(end, match.index));
    if (time) parts.push(<Time ts={time} />);
    else if (commit) parts.push(<code title={commit}>{shortSha(commit)}</code>);
    else if (task)
      parts.push(
        <a class="code" href={toTask(task)}>
          {task}
        </a>,
      );
    else parts.push(<code>{code ?? other ?? agent ?? path}</code>);
    end = match.index + whole.length;
  }
  parts.push(text.slice(end));
  return parts;
}

/** How long ago; minutes tick by themselves. */
export const Age = ({ since }: { since: string }) => <>{duration((clock.value - Date.parse(since)) / 1000)}</>;
export const Left = ({ until }: { until: string }) => <>{duration((Date.parse(until) - clock.value) / 1000)}</>;
export const Time = ({ ts }: { ts: string }) => (
  <time dateTime={ts} title={new Date(ts).toLocaleString()}>
    {when(ts, clock.value)}
  </time>
);
