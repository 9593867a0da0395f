import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { KeyAct } from "../keys";
import type { Resource } from "../store";

/** An answer that this component shows: it is asked for again when it changes. */
export function useAnswer<T>(from: Resource<T>): T | null {
  useEffect(() => {
    from.readers += 1;
    return () => {
      from.readers -= 1;
    };
  }, [from]);
  return from.data.value;
}

/** What was pressed while this item had the focus. The handler answers true when the key was meant for it. */
export function useKeyAct(box: RefObject<HTMLElement | null>, handle: (key: string) => boolean): void {
  const latest = useRef(handle);
  latest.current = handle;
  useEffect(() => {
    const element = box.current;
    const listen = (event: Event): void => {
      if (event instanceof KeyAct && latest.current(event.detail.key)) {
        event.preventDefault();
        event.stopPropagation();
      }
    };
    element?.addEventListener("keyact", listen);
    return () => element?.removeEventListener("keyact", listen);
  }, [box.current]);
}

const TINT_MS = 600;
/** A changed row is tinted and fades; the first drawing is not a change. */
export function useTint(box: RefObject<HTMLElement | null>, version: unknown): void {
  const before = useRef(version);
  useEffect(() => {
    if (before.current === version) return;
    before.current = version;
    const element = box.current;
    if (!element || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    element.animate([{ backgroundColor: "var(--wash-working)", offset: 0 }], {
      duration: TINT_MS,
      easing: "cubic-bezier(.2, 0, 0, 1)",
    });
  }, [version]);
}

export const copyText = (text: string): void => void navigator.clipboard?.writeText(text);
