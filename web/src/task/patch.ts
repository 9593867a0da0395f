// A unified diff as lines with numbers.

export interface PatchLine {
  kind: "add" | "del" | "same";
  text: string;
  old: number | null;
  new: number | null;
}
export interface Hunk {
  head: string;
  lines: PatchLine[];
}

export function parsePatch(patch: string): Hunk[] {
  const hunks: Hunk[] = [];
  let before = 0,
    after = 0;
  for (const line of patch.replace(/\n$/, "").split("\n")) {
    const start = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (start) {
      before = Number(start[1]);
      after = Number(start[2]);
      hunks.push({ head: line, lines: [] });
      continue;
    }
    const hunk = hunks.at(-1);
    if (!hunk || line.startsWith("\\")) continue;
    const text = line.slice(1);
    if (line.startsWith("+")) hunk.lines.push({ kind: "add", text, old: null, new: after++ });
    else if (line.startsWith("-")) hunk.lines.push({ kind: "del", text, old: before++, new: null });
    else hunk.lines.push({ kind: "same", text, old: before++, new: after++ });
  }
  return hunks;
}
export const SIGN = { add: "+", del: "-", same: " " } as const;
