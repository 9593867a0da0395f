// A button with a short list below it. Esc and a click elsewhere close it; arrows move in it.
import { useEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";

export interface Choice {
  key: string;
  label: ComponentChildren;
  note?: string;
  disabled?: boolean;
  run: () => void;
}

export function Choices({ choices, label, close }: { choices: Choice[]; label: string; close: () => void }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    box.current?.querySelector<HTMLElement>("button:not([disabled])")?.focus();
    const outside = (event: Event): void => {
      if (event.target instanceof Node && !box.current?.contains(event.target)) close();
    };
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, []);
  const keys = (event: KeyboardEvent): void => {
    const list = [...(box.current?.querySelectorAll<HTMLElement>("button:not([disabled])") ?? [])];
    const place = list.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: place + 1, j: place + 1, ArrowUp: place - 1, k: place - 1, Home: 0, End: list.length - 1 }[event.key];
    if (event.key === "Escape") close();
    else if (to !== undefined) list[(to + list.length) % list.length]?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="menu" role="menu" aria-label={label} ref={box} onKeyDown={keys}>
      {choices.map((choice) => (
        <button
          key={choice.key}
          role="menuitem"
          type="button"
          disabled={choice.disabled}
          onClick={() => {
            close();
            choice.run();
          }}
        >
          <span>{choice.label}</span>
          {choice.note && <span class="muted">{choice.note}</span>}
        </button>
      ))}
    </div>
  );
}

export function Menu({
  label,
  button,
  choices,
  icon = false,
}: {
  label: string;
  button: ComponentChildren;
  choices: Choice[];
  icon?: boolean;
}) {
  const [open, set] = useState(false);
  const opener = useRef<HTMLButtonElement>(null);
  return (
    <span class="menu-box">
      <button
        ref={opener}
        class={icon ? "icon-btn" : "btn"}
        type="button"
        aria-haspopup="menu"
        aria-expanded={open}
        aria-label={icon ? label : undefined}
        onClick={() => set(!open)}
      >
        {button}
      </button>
      {open && (
        <Choices
          choices={choices}
          label={label}
          close={() => {
            set(false);
            opener.current?.focus();
          }}
        />
      )}
    </span>
  );
}
