// Serves the built pages with the drawn scene behind them: node dev/server.mjs [PORT]. It obeys the content policy of the real
// server, so that what works here works there. Nothing in it decides anything.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { scene } from "./scene.mjs";

const DIST = fileURLToPath(new URL("../dist", import.meta.url));
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export function serve(port) {
  const world = scene();
  const streams = new Set();
  let seq = 4812;
  const tell = (cards, event) => {
    seq += 1;
    const message = {
      seq,
      cards,
      gone: [],
      columns: world.columns,
      tasks: world.cards.length,
      ready: 6,
      inbox: world.items.length,
      changed: ["inbox", "tree", "crew"],
    };
    const log = { seq, ts: new Date(world.now()).toISOString(), v: 1, repo: "acme/ledger", prev: "", hash: "", ...event };
    for (const stream of streams)
      stream.write(`event: cards\ndata: ${JSON.stringify(message)}\n\nevent: log\nid: ${seq}\ndata: ${JSON.stringify(log)}\n\n`);
  };
  const json = (response, status, body) => {
    response.writeHead(status, { "Content-Type": status < 400 ? "application/json" : "application/problem+json" });
    response.end(JSON.stringify(body));
  };
  const refuse = (response, status, code, detail) =>
    json(response, status, { type: "about:blank", title: code, status, code, detail, hint: null, details: {} });
  const MOVES = {
    start: "working",
    submit: "review",
    approve: "approved",
    done: "done",
    block: "blocked",
    unblock: "queued",
    release: "queued",
    "request-changes": "working",
  };

  async function api(request, response, url) {
    const [, , , kind, id, what] = url.pathname.split("/").map(decodeURIComponent);
    if (kind === "session")
      return json(response, 200, {
        csrf: "dev",
        me: "human:you",
        expires_at: "2027-01-01T00:00:00.000Z",
        repos: ["acme/ledger"],
        clients: [],
      });
    if (kind === "events" && id === "stream") {
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.write(": open\n\n");
      streams.add(response);
      request.on("close", () => streams.delete(response));
      return;
    }
    if (request.method === "POST") {
      const card = kind === "tasks" ? world.card(id) : undefined;
      if (card && MOVES[what]) {
        if (!world.verbs(id).some((verb) => verb.verb === what && verb.allowed))
          return refuse(response, 409, "invalid-transition", `${id} cannot ${what} now`);
        Object.assign(card, {
          column: MOVES[what],
          status: MOVES[what] === "working" ? "in_progress" : MOVES[what],
          since: new Date(world.now()).toISOString(),
          version: card.version + 1,
          strip: null,
        });
        const place = world.items.findIndex((item) => item.task === id);
        if (place >= 0) world.items.splice(place, 1);
        tell([card], { event: "status_changed", agent: "human:you", task: id });
        return json(response, 200, { task: card });
      }
      if (kind === "decisions" && what === "answer") {
        const place = world.items.findIndex(
          (item) => item.decision?.id === id || item.actions.some((action) => action.path.includes(id)),
        );
        const [item] = place >= 0 ? world.items.splice(place, 1) : [];
        const card = item?.task ? world.card(item.task) : undefined;
        if (card) card.strip = null;
        tell(card ? [card] : [], { event: "decision_answered", agent: "human:you", task: item?.task ?? null });
        setTimeout(
          () => tell(card ? [card] : [], { event: "note", agent: item?.agent ?? "codex:1", task: item?.task ?? null }),
          400,
        );
        return json(response, 200, { decision: { id } });
      }
      return json(response, 200, {});
    }
    if (kind === "tasks" && what === "verbs") return json(response, 200, world.verbs(id));
    if (kind === "tasks" && what === "panel") {
      const panel = world.panel(url, id);
      return panel ? json(response, 200, panel) : refuse(response, 404, "not-found", `There is no task ${id}`);
    }
    if (kind === "runs" && what === "logs") return json(response, 200, world.logs(url));
    if (kind === "tasks" && what === "diff") return json(response, 200, world.diff());
    if (typeof world[kind] === "function") return json(response, 200, world[kind](url));
    return refuse(response, 404, "not-found", "Nothing is here");
  }

  const server = createServer(async (request, response) => {
    const url = new URL(request.url, "http://localhost");
    response.setHeader("Content-Security-Policy", CSP);
    response.setHeader("X-Content-Type-Options", "nosniff");
    if (url.pathname.startsWith("/api/v1/")) return void api(request, response, url);
    const file = extname(url.pathname) ? normalize(url.pathname) : "/index.html";
    try {
      const body = await readFile(join(DIST, file));
      response.writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream" });
      response.end(body);
    } catch {
      response.writeHead(404);
      response.end();
    }
  });
  return new Promise((done) =>
    server.listen(port, "127.0.0.1", () => done({ server, tell, world, port: server.address().port, streams })),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { port } = await serve(Number(process.argv[2] ?? 4181));
  console.log(`http://127.0.0.1:${port}/`);
}
