// An empty store: the three commands that fill it, instead of empty pages.
import { Command } from "../ui/states";

const STEPS: [string, string][] = [
  ["Make a task:", 'comity task create "Say what should be done"'],
  ["Let an agent take it. In an agent’s terminal, or by the entry that set-up wrote for it:", "comity task claim"],
  ["Check that store, hooks and agent clients are in order:", "comity doctor"],
];
export const FirstRun = () => (
  <section class="first-run" aria-label="First steps">
    <h2>Nothing is here yet. Three commands fill this page.</h2>
    <ol>
      {STEPS.map(([say, command]) => (
        <li key={command}>
          <p>{say}</p>
          <Command text={command} />
        </li>
      ))}
    </ol>
    <p class="muted">
      This page is live: what happens in a terminal shows here at once. Press <kbd>c</kbd> to make a task here, <kbd>?</kbd> for
      all keys.
    </p>
  </section>
);
