// Two dialogs: the keys, and a new task.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { canAct, Refused, useDoing } from "./acting";
import { post } from "./api";
import { dialog } from "./keys";
import { go, toTask } from "./route";
import { letterKeys } from "./settings";
import type { Task } from "./types";
import { Icon } from "./ui/shapes";

function Box({ title, children }: { title: string; children: ComponentChildren }) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    box.current?.showModal();
    box.current?.querySelector<HTMLElement>("form input")?.focus();
  }, []);
  const close = (): void => {
    dialog.value = null;
  };
  return (
    <dialog
      ref={box}
      aria-label={title}
      onClose={close}
      onClick={(event) => {
        if (event.target === box.current) close();
      }}
    >
      <header>
        <h2>{title}</h2>
        <button class="icon-btn" type="button" aria-label="Close (Esc)" onClick={close}>
          <Icon name="close" large />
        </button>
      </header>
      {children}
    </dialog>
  );
}

const KEYS: [string[], string][] = [
  [["g i"], "Inbox"],
  [["g b"], "Board"],
  [["g t"], "Tree"],
  [["g a"], "Agents"],
  [["g l"], "Timeline"],
  [["g f"], "Flow"],
  [["g m"], "More"],
  [["j", "k"], "Down and up"],
  [["h", "l"], "Column to the left and right"],
  [["Enter"], "Open, or send what is chosen"],
  [["Esc"], "Close, or let go"],
  [["1", "9"], "Choose an answer of the focused item"],
  [["a"], "Approve"],
  [["r"], "Request changes"],
  [["m"], "Move the focused card"],
  [["y"], "Copy its id"],
  [["/"], "Filter"],
  [["c"], "New task"],
  [["[", "]"], "One event earlier or later"],
  [["n"], "Back to now"],
  [["?"], "This list"],
];
export const KeyHelp = () => (
  <Box title="Keys">
    <dl class="keys">
      {KEYS.map(([keys, what]) => (
        <div key={what}>
          <dt>
            {keys.map((key, index) => (
              <span key={key}>
                {index > 0 && " "}
                <kbd>{key}</kbd>
              </span>
            ))}
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
    <label class="set">
      <input
        type="checkbox"
        checked={letterKeys.value}
        onChange={(event) => {
          letterKeys.value = event.currentTarget.checked;
        }}
      />{" "}
      Letters are keys
    </label>
  </Box>
);

const list = (text: FormDataEntryValue | null): string[] =>
  String(text ?? "")
    .split(/[\n,]/)
    .map((part) => part.trim())
    .filter(Boolean);

export function CreateTask() {
  const doing = useDoing();
  const form = useRef<HTMLFormElement>(null);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (!form.current) return;
    const data = new FormData(form.current);
    const title = String(data.get("title") ?? "").trim();
    if (!title) return;
    const body: Record<string, unknown> = { title, priority: String(data.get("priority")) };
    const description = String(data.get("description") ?? "").trim();
    if (description) body["description"] = description;
    for (const key of ["files", "depends_on", "dod", "labels"]) {
      const found = list(data.get(key));
      if (found.length) body[key] = found;
    }
    void doing.run(async () => {
      const { task } = await post<{ task: Task }>("/tasks", body);
      dialog.value = null;
      go(toTask(task.id));
    });
  };
  return (
    <Box title="New task">
      <form class="wants create" ref={form} onSubmit={submit}>
        <label>
          <span>Title</span>
          <input class="field" name="title" required maxLength={500} />
        </label>
        <label>
          <span>What is wanted</span>
          <textarea name="description" rows={4} />
        </label>
        <div class="pair">
          <label>
            <span>Priority</span>
            <select class="field" name="priority" defaultValue="P2">
              {["P0", "P1", "P2", "P3", "P4"].map((one) => (
                <option key={one} selected={one === "P2"}>
                  {one}
                </option>
              ))}
            </select>
          </label>
          <label>
            <span>After these tasks</span>
            <input class="field" name="depends_on" placeholder="T12, T13" />
          </label>
        </div>
        <label>
          <span>Files that it will change</span>
          <input class="field" name="files" placeholder="src/parse.rs, tests/**" />
        </label>
        <label>
          <span>Done when, one a line</span>
          <textarea name="dod" rows={2} />
        </label>
        <Refused refusal={doing.refusal} />
        <div class="row">
          <button class="btn primary" disabled={!canAct() || doing.busy}>
            Create
          </button>
          <button
            class="btn"
            type="button"
            onClick={() => {
              dialog.value = null;
            }}
          >
            Cancel
          </button>
        </div>
      </form>
    </Box>
  );
}
