import { useState } from "preact/hooks";
import { bytes, plural } from "../format";
import { here } from "../route";
import { at, resource } from "../store";
import type { Diff, DiffFile, Panel } from "../types";
import { useAnswer } from "../ui/hooks";
import { parsePatch, SIGN } from "./patch";

/** Lines of a file that the panel shows; review mode shows all. */
const PREVIEW = 40;

export const counts = (file: { added: number; removed: number }): string =>
  [file.added && `+${file.added}`, file.removed && `−${file.removed}`].filter(Boolean).join(" ") || "0";

function File({ file, first }: { file: DiffFile; first: boolean }) {
  const [open, set] = useState(first);
  const lines = open ? parsePatch(file.patch).flatMap((hunk) => hunk.lines) : [];
  return (
    <>
      <button type="button" class="file" aria-expanded={open} onClick={() => set(!open)}>
        <span class="one-line">
          {file.old_path ? `${file.old_path} → ` : ""}
          {file.path}
        </span>
        <span class="push muted">{file.binary ? "binary" : counts(file)}</span>
      </button>
      {lines.length > 0 && (
        <div class="code" tabIndex={0} role="region" aria-label={`Changes of ${file.path}`}>
          {lines.slice(0, PREVIEW).map((line, index) => (
            <div key={index} class={line.kind}>
              {SIGN[line.kind]} {line.text}
            </div>
          ))}
          {lines.length > PREVIEW && (
            <div class="same muted">
              <a href={here({ review: "1" })}>{plural(lines.length - PREVIEW, "more line")}</a>
            </div>
          )}
        </div>
      )}
    </>
  );
}

export function DiffSection({ panel }: { panel: Panel }) {
  if (!panel.task.commit) return null;
  return <Shown panel={panel} />;
}
function Shown({ panel }: { panel: Panel }) {
  const from = resource<Diff>(`/tasks/${encodeURIComponent(panel.task.id)}/diff`, { at: at.value });
  const diff = useAnswer(from);
  if (from.error.value && !diff)
    return (
      <section class="sec">
        <h2>Diff</h2>
        <p class="small muted">{from.error.value.message}</p>
      </section>
    );
  if (!diff) return null;
  return (
    <section class="sec">
      <h2>
        Diff{" "}
        <span>
          {plural(diff.files.length, "file")}, {counts(diff)}, {bytes(diff.bytes)}
          {diff.cut && ", cut"}
        </span>{" "}
        <a class="btn tiny push" href={here({ review: "1" })}>
          Review all
        </a>
      </h2>
      <div class="diff">
        {diff.files.map((file, index) => (
          <File key={file.path} file={file} first={index === 0} />
        ))}
      </div>
    </section>
  );
}
