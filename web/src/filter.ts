// The words in the filter field: `agent:codex label:api file:src/ is:stuck` and free text. It only hides; nothing is decided here.
import { computed } from "@preact/signals";
import { route } from "./route";
import type { Card, Item } from "./types";

export const words = computed(() => (route.value.query.get("q") ?? "").trim().split(/\s+/).filter(Boolean));

const has = (text: string | null | undefined, part: string): boolean => !!text && text.toLowerCase().includes(part);

function fits(word: string, card: Card): boolean {
  const [, key = "", value = ""] = /^(agent|label|file|is|id|column|initiative|epic):(.*)$/i.exec(word) ?? [];
  const part = value.toLowerCase();
  switch (key.toLowerCase()) {
    case "agent":
      return has(card.agent, part) || has(card.reviewer, part);
    case "label":
      return card.labels.some((label) => has(label, part));
    case "file":
      return card.files.some((file) => has(file, part));
    case "initiative":
      return has(card.initiative, part);
    case "epic":
      return has(card.epic, part);
    case "column":
      return card.column === part;
    case "id":
      return part.split(",").includes(card.id.toLowerCase());
    case "is":
      if (part === "stuck") return card.stuck;
      if (part === "ready") return card.ready;
      if (part === "waived") return card.gates.some((gate) => gate.mark === "waived");
      if (part === "mine") return card.strip !== null;
      return card.status === part || card.column === part;
    default:
      return has(card.title, word.toLowerCase()) || has(card.id, word.toLowerCase());
  }
}
export const matches = (card: Card): boolean => words.value.every((word) => fits(word, card));

/** Items of the inbox are found by their own words, and by the card of their task. */
export const matchesItem = (item: Item, card: Card | undefined): boolean =>
  words.value.every((word) => {
    const text = word.toLowerCase();
    if (text.startsWith("agent:") && has(item.agent, text.slice(6))) return true;
    if (text.startsWith("file:") && has(item.path, text.slice(5))) return true;
    if (card && fits(word, card)) return true;
    return (
      !/^(agent|label|file|is|id|column|initiative|epic):/.test(text) &&
      (has(item.title, text) || has(item.about, text) || has(item.id, text) || has(item.reason, text))
    );
  });
