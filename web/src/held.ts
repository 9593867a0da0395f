// A list does not move under a reader: not under the pointer, the focus or a drag, and not when it is scrolled. What is new
// waits behind a pill; what changed, changes in place.
import type { RefObject } from "preact";
import { useEffect, useReducer, useRef } from "preact/hooks";

/** A list that is scrolled further than this stands still. */
const SCROLLED_PX = 80;

export interface Held {
  shown: string[];
  fresh: number;
  release: () => void;
}

export function useHeld(
  ids: string[],
  box: RefObject<HTMLElement | null>,
  scroller: () => Element | null,
  dragging = false,
  own: string | null = null,
): Held {
  const shown = useRef<string[]>([]);
  const pointer = useRef(false);
  // Kept by the event: asking the element while drawing would make the browser lay the page out each time.
  const scrolled = useRef(false);
  const [, again] = useReducer((n: number) => n + 1, 0);
  const forced = useRef(false);

  useEffect(() => {
    const element = box.current,
      scrolls = scroller();
    if (!element) return;
    const later = (): void => {
      setTimeout(() => again(null), 0);
    };
    const scroll = (): void => {
      const now = (scrolls?.scrollTop ?? 0) > SCROLLED_PX;
      if (scrolled.current === now) return;
      scrolled.current = now;
      later();
    };
    const enter = (event: PointerEvent): void => {
      if (event.pointerType === "mouse") pointer.current = true;
    };
    const leave = (): void => {
      pointer.current = false;
      later();
    };
    element.addEventListener("pointerenter", enter);
    element.addEventListener("pointerleave", leave);
    element.addEventListener("focusout", later);
    scrolls?.addEventListener("scroll", scroll, { passive: true });
    return () => {
      element.removeEventListener("pointerenter", enter);
      element.removeEventListener("pointerleave", leave);
      element.removeEventListener("focusout", later);
      scrolls?.removeEventListener("scroll", scroll);
    };
  }, [box.current]);

  const still =
    !forced.current &&
    shown.current.length > 0 &&
    (pointer.current || dragging || scrolled.current || !!box.current?.contains(document.activeElement));
  forced.current = false;
  // What the reader moved goes where it was put, also under the pointer.
  const moved = own !== null && shown.current.includes(own) !== ids.includes(own);
  if (!still || moved) shown.current = ids;
  const present = new Set(shown.current);
  return {
    shown: shown.current,
    fresh: still && !moved ? ids.filter((id) => !present.has(id)).length : 0,
    release: () => {
      forced.current = true;
      scroller()?.scrollTo({ top: 0 });
      again(null);
    },
  };
}
