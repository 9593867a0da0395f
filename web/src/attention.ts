// A page that is left open: the count in its title, a mark in its icon, and a notification where the reader asked for one.
import { effect } from "@preact/signals";
import { capital } from "./format";
import { route } from "./route";
import { notify } from "./settings";
import { board, inboxOf, overAll } from "./store";

export function startAttention(): void {
  const told = new Set<string>();
  let first = true;
  effect(() => {
    const inbox = inboxOf().data.value;
    const count = inbox?.count ?? 0;
    const { task, page } = route.value;
    const repo = overAll.value ? "all repositories" : board.value?.repo;
    document.title = [`${task ?? capital(page)}${count ? ` (${count})` : ""}`, repo, "comity"].filter(Boolean).join(" · ");
    document.querySelector<HTMLLinkElement>("link[rel=icon]")?.setAttribute("href", count ? "/icon-needs.svg" : "/icon.svg");
  });
  effect(() => {
    const inbox = inboxOf().data.value;
    if (!inbox || inbox.at) return;
    for (const item of inbox.items) {
      if (!item.decision || !item.urgent || told.has(item.key)) continue;
      told.add(item.key);
      if (!first && notify.peek() && "Notification" in window && Notification.permission === "granted") {
        const note = new Notification(item.title, { body: item.reason ?? "", tag: item.key, icon: "/icon-needs.svg" });
        note.onclick = () => {
          window.focus();
          note.close();
        };
      }
    }
    first = false;
  });
}
