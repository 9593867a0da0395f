// What a page shows when it has nothing to show yet, nothing at all, or only a refusal.
import { type ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Refusal } from "../api";
import { type Resource } from "../store";
import { useAnswer } from "./hooks";
import { Icon } from "./shapes";
import { rich } from "./text";

/** Grey bars where the content will be. They wait 100 ms, so a fast answer shows none. */
export function Outline({ rows = 3, tall = false }: { rows?: number; tall?: boolean }) {
  const [shown, show] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => show(true), 100);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class={`outline ${tall ? "tall" : ""} ${shown ? "" : "not-yet"}`} role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} class="bar" />
      ))}
    </div>
  );
}

export function Problem({ refusal, retry }: { refusal: Refusal; retry?: () => void }) {
  return (
    <div class="problem" role="alert">
      <Icon name="red" tone="failed" large />
      <div>
        <p>{rich(refusal.message)}</p>
        {refusal.hint && <p class="muted">{rich(refusal.hint)}</p>}
        {retry && (
          <p>
            <button class="btn" type="button" onClick={retry}>
              Retry
            </button>
          </p>
        )}
      </div>
    </div>
  );
}

export function Command({ text }: { text: string }) {
  const [copied, set] = useState(false);
  const copy = (): void =>
    void navigator.clipboard?.writeText(text).then(() => {
      set(true);
      setTimeout(() => set(false), 2000);
    });
  return (
    <span class="command">
      <code>{text}</code>
      <button class="btn" type="button" onClick={copy}>
        {copied ? "Copied" : "Copy"}
      </button>
    </span>
  );
}

export const Empty = ({ children, command }: { children: ComponentChildren; command?: string }) => (
  <div class="empty">
    <p>{children}</p>
    {command && <Command text={command} />}
  </div>
);

/** The answer once it is there; until then its outline; the refusal in its place where there is none. */
export function Loaded<T>({
  from,
  rows,
  tall,
  children,
}: {
  from: Resource<T>;
  rows?: number;
  tall?: boolean;
  children: (value: T) => ComponentChildren;
}) {
  const value = useAnswer(from),
    error = from.error.value;
  if (error && (!value || error.status === 404)) return <Problem refusal={error} retry={() => from.refresh()} />;
  if (!value) return <Outline rows={rows ?? 3} tall={tall ?? false} />;
  return <>{children(value)}</>;
}
