// Server-sent events, read by hand: `EventSource` hides comments, statuses and the id that it resumes from.

export interface Message {
  event: string;
  id: string | null;
  data: string;
}

/** A stream without a byte for this long is dead: the server writes a comment every 15 s. */
const SILENCE_MS = 40_000;

/** A stream that has much to say lets the page draw after this time. */
const BUSY_MS = 8;
const rest = (): Promise<void> =>
  new Promise((done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      done();
    };
    port2.postMessage(null);
  });

export class StreamRefused extends Error {
  constructor(
    readonly status: number,
    readonly retryAfter: number | null,
  ) {
    super(`The stream was refused with ${status}`);
  }
}

/** Reads one stream until it ends; throws when it breaks. */
export async function readStream(
  url: string,
  lastId: string | null,
  stop: AbortSignal,
  opened: () => void,
  take: (messages: Message[]) => void,
): Promise<void> {
  const cut = new AbortController();
  const onStop = (): void => cut.abort();
  stop.addEventListener("abort", onStop);
  let watch = setTimeout(onStop, SILENCE_MS);
  try {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (lastId !== null) headers["Last-Event-ID"] = lastId;
    const response = await fetch(url, { headers, credentials: "same-origin", cache: "no-store", signal: cut.signal });
    if (!response.ok || !response.body)
      throw new StreamRefused(response.status, Number(response.headers.get("Retry-After")) || null);
    opened();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let part = "",
      rested = performance.now();
    let message: Message = { event: "message", id: null, data: "" };
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(watch);
      watch = setTimeout(onStop, SILENCE_MS);
      const lines = (part + value).split("\n");
      part = lines.pop() ?? "";
      const whole: Message[] = [];
      for (const raw of lines) {
        const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
        if (line === "") {
          if (message.data !== "") whole.push(message);
          message = { event: "message", id: null, data: "" };
          continue;
        }
        const colon = line.indexOf(":");
        if (colon === 0) continue;
        const field = colon < 0 ? line : line.slice(0, colon);
        const text = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
        if (field === "event") message.event = text;
        else if (field === "id") message.id = text;
        else if (field === "data") message.data = message.data === "" ? text : `${message.data}\n${text}`;
      }
      if (whole.length) take(whole);
      if (performance.now() - rested > BUSY_MS) {
        await rest();
        rested = performance.now();
      }
    }
  } finally {
    clearTimeout(watch);
    stop.removeEventListener("abort", onStop);
  }
}
