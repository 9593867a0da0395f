// An empty store: the three commands that fill it, instead of empty pages.
import { session } from "../api";
import { Icon } from "../ui/shapes";
import { Command } from "../ui/states";

const CLIENT: Record<string, string> = {
  claude: "Claude Code",
  codex: "Codex",
  gemini: "Gemini",
  opencode: "opencode",
  cursor: "Cursor",
  vscode: "VS Code",
};
/** The agent clients of this host, and whether comity is registered with them. */
function Clients() {
  const clients = session.value?.clients ?? [];
  if (!clients.length)
    return <p class="muted">No agent client was found on this host. Any program that runs commands can work here.</p>;
  return (
    <ul class="clients" aria-label="Agent clients">
      {clients.map(({ name, registered }) => (
        <li key={name}>
          <Icon name={registered ? "done" : "queued"} tone={registered ? "done" : "queued"} />
          <span>{CLIENT[name] ?? name}</span>
          {registered ? <span class="muted">ready</span> : <Command text={`comity init --clients ${name}`} />}
        </li>
      ))}
    </ul>
  );
}

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
    <h3>Agent clients on this host</h3>
    <Clients />
    <p class="muted">
      This page is live: what happens in a terminal shows here at once. Press <kbd>c</kbd> to make a task here, <kbd>?</kbd> for
      all keys.
    </p>
  </section>
);
