// What the task needs and what needs it, two steps each way, drawn as links.
import { toTask } from "../route";
import type { GraphNode, Panel } from "../types";
import { STATUS } from "../ui/shapes";

const STEP_X = 108,
  NODE_W = 84,
  NODE_H = 28,
  ROW = 44;

export function Graph({ panel }: { panel: Panel }) {
  const { nodes, edges } = panel.graph;
  if (nodes.length < 2) return null;
  const steps = [...new Set(nodes.map((node) => node.step))].sort((a, b) => a - b);
  const tallest = Math.max(...steps.map((step) => nodes.filter((node) => node.step === step).length));
  const height = tallest * ROW,
    width = (steps.length - 1) * STEP_X + NODE_W;
  const place = new Map<string, { x: number; y: number; node: GraphNode }>();
  for (const [index, step] of steps.entries()) {
    const column = nodes.filter((node) => node.step === step);
    for (const [row, node] of column.entries())
      place.set(node.id, { x: index * STEP_X, y: height / 2 + (row - (column.length - 1) / 2) * ROW, node });
  }
  const named = (step: (node: GraphNode) => boolean): string =>
    nodes
      .filter(step)
      .map((node) => `${node.id} (${STATUS[node.status].word.toLowerCase()})`)
      .join(", ") || "nothing";
  return (
    <section class="sec">
      <h2>
        Needs and is needed by <span>two steps each way</span>
      </h2>
      <div
        class="scroll-x"
        tabIndex={0}
        role="region"
        aria-label={`${panel.task.id} needs ${named((n) => n.step < 0)}; needed by ${named((n) => n.step > 0)}`}
      >
        <svg class="graph" width={width + 2} height={height + 18} viewBox={`0 0 ${width + 2} ${height + 18}`}>
          <defs>
            <marker id="tip" viewBox="0 0 6 6" refX="5" refY="3" markerWidth="6" markerHeight="6" orient="auto">
              <path d="M0 0 6 3 0 6z" class="fl-edge" />
            </marker>
          </defs>
          {edges.map(({ from, to }) => {
            const a = place.get(from),
              b = place.get(to);
            if (!a || !b) return null;
            const x = a.x + NODE_W,
              end = b.x - 3,
              mid = (x + end) / 2;
            return (
              <path
                key={`${from}-${to}`}
                class="gl st-edge"
                d={`M${x} ${a.y}C${mid} ${a.y} ${mid} ${b.y} ${end} ${b.y}`}
                marker-end="url(#tip)"
              />
            );
          })}
          {[...place.values()].map(({ x, y, node }) => {
            const self = node.id === panel.task.id,
              look = STATUS[node.status];
            return (
              <a key={node.id} href={toTask(node.id)} aria-label={`${node.id}, ${look.word}: ${node.title}`}>
                <title>{node.title}</title>
                <rect
                  class={`fl-raised ${self ? `st-${look.tone}` : "st-edge"}`}
                  x={x + 0.75}
                  y={y - NODE_H / 2 + 0.75}
                  width={NODE_W - 1.5}
                  height={NODE_H - 1.5}
                  rx="4"
                  stroke-width={self ? 1.5 : 1}
                />
                <svg x={x + 9} y={y - 7} width="14" height="14" class={look.tone} aria-hidden="true">
                  <use href={`#${look.icon}`} />
                </svg>
                <text class={self ? "ax-s" : "ax-t"} x={x + 30} y={y + 4}>
                  {node.id.length > 6 ? `${node.id.slice(0, 6)}…` : node.id}
                </text>
              </a>
            );
          })}
          <text class="ax" x="0" y={height + 14}>
            {steps[0] !== 0 ? "needs" : ""}
          </text>
          <text class="ax end" x={width} y={height + 14}>
            {steps.at(-1) !== 0 ? "needed by" : ""}
          </text>
        </svg>
      </div>
    </section>
  );
}
