// How large the work under review is. It is asked for once: what was submitted does not change.
import { signal } from "@preact/signals";
import { get } from "../api";
import { plural } from "../format";
import type { Diff, Item } from "../types";
import { counts } from "../task/diff";

const sizes = signal(new Map<string, string>());
const keep = (key: string, words: string): void => {
  sizes.value = new Map(sizes.value).set(key, words);
};

export function sizeOf(item: Item): string {
  if (item.kind !== "review" || !item.task || item.repo) return "";
  const key = `${item.task} ${item.since}`;
  const known = sizes.value.get(key);
  if (known !== undefined) return known;
  // Also where there is no git to ask: then nothing is said.
  sizes.peek().set(key, "");
  void get<Diff>(`/tasks/${item.task}/diff`).then(
    (diff) => keep(key, `${plural(diff.files.length, "file")}, ${counts(diff)}`),
    () => undefined,
  );
  return "";
}
