// A long list draws only what can be seen. Short lists are drawn whole.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useReducer, useRef } from "preact/hooks";

const WHOLE = 60;
const BEYOND_PX = 600;

interface Props {
  ids: string[];
  guess: number;
  gap: number;
  scroller: () => Element | null;
  row: (id: string) => ComponentChildren;
}

/** Room for rows that are not drawn. An attribute of SVG: the content policy takes no inline styles. */
const Space = ({ height }: { height: number }) => <svg class="space" width="1" height={height} aria-hidden="true" />;

export function Windowed({ ids, guess, gap, scroller, row }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const heights = useRef(new Map<string, number>());
  const [, again] = useReducer((n: number) => n + 1, 0);
  const long = ids.length > WHOLE;
  const drawn = useRef<[number, number]>([0, WHOLE]);

  const height = (id: string): number => (heights.current.get(id) ?? guess) + gap;
  const reach = (): [number, number] => {
    const view = scroller()?.getBoundingClientRect(),
      list = box.current?.getBoundingClientRect();
    if (!view || !list) return [0, Math.min(ids.length, WHOLE / 2)];
    const from = view.top - list.top - BEYOND_PX,
      to = view.bottom - list.top + BEYOND_PX;
    let y = 0,
      first = 0,
      last = ids.length;
    for (let i = 0; i < ids.length; i++) {
      const next = y + height(ids[i] as string);
      if (next < from) first = i + 1;
      if (y > to) {
        last = i;
        break;
      }
      y = next;
    }
    return [Math.min(first, ids.length), last];
  };

  useEffect(() => {
    const scrolls = scroller();
    if (!long || !scrolls) return;
    const look = (): void => {
      const [first, last] = reach();
      if (first !== drawn.current[0] || last !== drawn.current[1]) again(null);
    };
    scrolls.addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    look();
    return () => {
      scrolls.removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [long, ids]);
  useLayoutEffect(() => {
    if (!long) return;
    for (const child of box.current?.querySelectorAll<HTMLElement>("[data-row]") ?? [])
      heights.current.set(child.dataset["row"] as string, child.offsetHeight);
  });

  if (!long) return <>{ids.map(row)}</>;
  const [first, last] = reach();
  drawn.current = [first, last];
  const sum = (from: number, to: number): number => ids.slice(from, to).reduce((all, id) => all + height(id), 0);
  return (
    <div class="windowed" ref={box}>
      <Space height={sum(0, first)} />
      {ids.slice(first, last).map((id) => (
        <div key={id} data-row={id} class="windowed-row">
          {row(id)}
        </div>
      ))}
      <Space height={sum(last, ids.length)} />
    </div>
  );
}
