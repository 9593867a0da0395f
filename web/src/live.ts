// One stream a browser. The tab that holds a lock reads it and tells the others; when that tab goes, the next one takes over
// and asks for exactly what it has not seen.
import { signal } from "@preact/signals";
import { address } from "./api";
import { type Message, readStream, StreamRefused } from "./stream";

export interface Link {
  up: boolean;
  since: number;
}
/** The server knows this browser no longer: its session has ended. */
export const locked = signal(false);
export const link = signal<Link>({ up: false, since: Date.now() });

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;

interface Told {
  from: "leader";
  messages?: Message[];
  link?: Link;
  opened?: boolean;
  locked?: boolean;
}
interface Hello {
  from: "tab";
}

export interface Listener {
  /** Resolves when this tab knows where the stream has to begin. */
  ready: Promise<void>;
  /** The number of the last event that this tab knows. */
  lastSeq(): number;
  take(messages: Message[]): void;
  /** The stream is open again: what was missed comes now. */
  reopened(): void;
}

const pause = (ms: number, stop: AbortSignal): Promise<void> =>
  new Promise((done) => {
    const timer = setTimeout(done, ms);
    stop.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        done();
      },
      { once: true },
    );
  });

export function startLive(repo: string | null, listener: Listener): () => void {
  const name = `comity-stream:${repo ?? ""}`;
  const stop = new AbortController();
  const channel = new BroadcastChannel(name);
  let leading = false;
  let opens = 0;

  const setLink = (up: boolean): void => {
    if (link.peek().up !== up) link.value = { up, since: Date.now() };
    if (leading) channel.postMessage({ from: "leader", link: link.peek() } satisfies Told);
  };
  const opened = (): void => {
    opens += 1;
    setLink(true);
    if (opens > 1) {
      listener.reopened();
      if (leading) channel.postMessage({ from: "leader", opened: true } satisfies Told);
    }
  };

  channel.onmessage = ({ data }: MessageEvent<Told | Hello>) => {
    if (data.from === "tab") {
      if (leading) channel.postMessage({ from: "leader", link: link.peek() } satisfies Told);
      return;
    }
    if (leading) return;
    if (data.link) link.value = data.link;
    if (data.locked) locked.value = true;
    if (data.opened) listener.reopened();
    if (data.messages) listener.take(data.messages);
  };

  const lead = async (): Promise<void> => {
    await listener.ready;
    leading = true;
    let wait = FIRST_PAUSE_MS;
    while (!stop.signal.aborted) {
      let retry: number | null = null;
      try {
        await readStream(
          address("/events/stream"),
          String(listener.lastSeq()),
          stop.signal,
          () => {
            wait = FIRST_PAUSE_MS;
            opened();
          },
          (messages) => {
            listener.take(messages);
            channel.postMessage({ from: "leader", messages } satisfies Told);
          },
        );
      } catch (problem) {
        if (problem instanceof StreamRefused && problem.retryAfter) retry = problem.retryAfter * 1000;
        if (problem instanceof StreamRefused && problem.status === 401) {
          locked.value = true;
          channel.postMessage({ from: "leader", locked: true } satisfies Told);
          return;
        }
      }
      setLink(false);
      await pause(retry ?? wait, stop.signal);
      wait = Math.min(wait * 2, LONGEST_PAUSE_MS);
    }
  };

  channel.postMessage({ from: "tab" } satisfies Hello);
  // Without locks (a plain address that is not this machine's) every tab reads for itself.
  if (navigator.locks) void navigator.locks.request(name, { signal: stop.signal }, lead).catch(() => undefined);
  else void lead();
  return () => {
    stop.abort();
    channel.close();
  };
}
