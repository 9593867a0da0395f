// What a reader sets for this browser: theme, letter keys, notifications. Storage may be closed to a page; then it forgets.
import { effect, signal } from "@preact/signals";

function stored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}
function store(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    /* it holds until the tab closes */
  }
}

export type Theme = "system" | "light" | "dark";
const asTheme = (word: string | null): Theme => (word === "light" || word === "dark" ? word : "system");
export const theme = signal<Theme>(asTheme(stored("comity.theme")));
export const letterKeys = signal(stored("comity.keys") !== "off");
export const notify = signal(stored("comity.notify") === "on");

export const nextTheme = (): void => {
  theme.value = theme.value === "system" ? "light" : theme.value === "light" ? "dark" : "system";
};

export function startSettings(): void {
  effect(() => {
    if (theme.value === "system") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.setAttribute("data-theme", theme.value);
    store("comity.theme", theme.value);
  });
  effect(() => store("comity.keys", letterKeys.value ? "on" : "off"));
  effect(() => store("comity.notify", notify.value ? "on" : "off"));
}

/** The browser asks the reader; without a yes the setting stays off. */
export async function askToNotify(): Promise<void> {
  if (notify.value) {
    notify.value = false;
    return;
  }
  if (!("Notification" in window)) return;
  notify.value = (await Notification.requestPermission()) === "granted";
}
