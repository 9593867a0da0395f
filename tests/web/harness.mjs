// A repository, a store, a server and a browser for one test file. Agents are scripted: they are calls of the command line.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";

export const COMITY = process.env.COMITY_BIN;
export const PACKAGES = process.env.COMITY_WEB_PACKAGES;
const { chromium } = await import(join(PACKAGES, "node_modules/playwright-core/index.mjs"));

export const PAGES = ["/inbox", "/board", "/tree", "/agents", "/timeline", "/flow", "/more"];
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const freePort = () =>
  new Promise((done) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => done(port));
    });
  });
export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

export class World {
  static async start({ serve = "", who = "human:ann", more = {}, served = true } = {}) {
    const world = new World();
    Object.assign(world, { who, more });
    world.dir = mkdtempSync(join(tmpdir(), "comity-web-"));
    world.home = mkdtempSync(join(tmpdir(), "comity-home-"));
    world.port = await freePort();
    world.git("init", "-q", "-b", "main");
    writeFileSync(join(world.dir, "README.md"), "# A tool\n");
    world.commit("Begin");
    world.run(who, "init", "--clients", "none", "--no-hooks");
    if (serve) {
      const file = join(world.dir, ".comity/config.toml");
      writeFileSync(file, readFileSync(file, "utf8").replace("[serve]", `[serve]\n${serve}`));
    }
    world.commit("Set up");
    if (served) await world.serve();
    return world.withBrowser();
  }
  /** A world around a project that is there already. */
  static async of({ dir, home, who, more = {} }) {
    const world = new World();
    Object.assign(world, { dir, home, who, more });
    world.port = await freePort();
    return world.withBrowser();
  }
  async withBrowser() {
    this.browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
    return this;
  }

  get environment() {
    const { PATH, LANG } = process.env;
    return { PATH, LANG, HOME: this.home, GIT_CONFIG_NOSYSTEM: "1", TZ: "UTC", ...this.more };
  }
  git(...args) {
    const done = spawnSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.org", ...args], {
      cwd: this.dir,
      env: this.environment,
      encoding: "utf8",
    });
    if (done.status !== 0) throw new Error(`git ${args.join(" ")}: ${done.stderr}`);
    return done.stdout.trim();
  }
  commit(message) {
    this.git("add", "-A");
    this.git("commit", "-q", "--allow-empty", "-m", message);
  }

  /** Runs a command as somebody and gives its answer; a refusal is thrown. */
  run(who, ...args) {
    const done = spawnSync(COMITY, [...args, "--json"], {
      cwd: this.dir,
      env: { ...this.environment, COMITY_AGENT: who },
      encoding: "utf8",
    });
    if (done.status !== 0) throw new Error(`comity ${args.join(" ")}: ${done.stderr || done.stdout}`);
    return done.stdout.trim() ? JSON.parse(done.stdout) : null;
  }
  /** Starts a command that goes on, such as one that waits. */
  begin(who, ...args) {
    const child = spawn(COMITY, [...args, "--json"], {
      cwd: this.dir,
      env: { ...this.environment, COMITY_AGENT: who },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let out = "",
      err = "";
    child.stdout.on("data", (data) => {
      out += data;
    });
    child.stderr.on("data", (data) => {
      err += data;
    });
    child.ended = new Promise((done) => child.on("exit", (status) => done({ status, out, err, at: Date.now() })));
    return child;
  }
  /** Makes a second repository with a project of its own; gives its directory. */
  neighbour(name) {
    const dir = join(this.home, name);
    mkdirSync(dir);
    this.git("init", "-q", "-b", "main", dir);
    this.run(this.who, "--root", dir, "init", "--clients", "none", "--no-hooks");
    return dir;
  }
  async serve(...roots) {
    const more = roots.flatMap((root) => ["--root", root]);
    this.server = spawn(COMITY, ["serve", "--json", "--listen", `127.0.0.1:${this.port}`, ...more], {
      cwd: this.dir,
      env: { ...this.environment, COMITY_AGENT: this.who },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let err = "";
    this.server.stderr.on("data", (data) => {
      err += data;
    });
    const line = await new Promise((done, fail) => {
      let out = "";
      this.server.stdout.on("data", (data) => {
        out += data;
        if (out.includes("\n")) done(out.split("\n")[0]);
      });
      this.server.on("exit", (status) => fail(new Error(`the server ended with ${status}: ${err}`)));
    });
    this.server.removeAllListeners("exit");
    this.url = JSON.parse(line).url;
  }
  async stopServer() {
    const ended = new Promise((done) => this.server.on("exit", done));
    this.server.kill("SIGTERM");
    await ended;
  }
  link(who = this.who) {
    return this.run(who, "link").url;
  }

  /** A browser of its own, signed in. */
  async person({
    width = 1440,
    height = 900,
    scheme = "light",
    who = this.who,
    bypassCSP = false,
    reducedMotion = "no-preference",
  } = {}) {
    const context = await this.browser.newContext({
      viewport: { width, height },
      colorScheme: scheme,
      timezoneId: "UTC",
      bypassCSP,
      reducedMotion,
    });
    await this.pages(context);
    const page = await context.newPage();
    page.problems = [];
    page.on("pageerror", (problem) => page.problems.push(problem.message));
    page.on("console", (message) => {
      if (message.type() === "error") page.problems.push(message.text());
    });
    await page.goto(this.link(who));
    await page.waitForSelector(".rail");
    return page;
  }
  /** With COMITY_WEB_DIST the pages come from that directory instead of the binary: no compiler between an edit and its test. */
  async pages(context) {
    const dist = process.env.COMITY_WEB_DIST;
    if (!dist) return;
    const types = { ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
    await context.route(
      (url) => !url.pathname.startsWith("/api/"),
      (route) => {
        const { pathname } = new URL(route.request().url());
        const file = extname(pathname) ? pathname : "/index.html";
        return route.fulfill({ path: join(dist, file), contentType: types[extname(file)] ?? "text/html" });
      },
    );
  }
  to(path) {
    return this.url + path;
  }
  async open(page, path) {
    await page.goto(this.to(path));
    await page.waitForSelector("main h1");
  }

  /** Work that waits for a review: an agent claims a task, commits and submits. */
  submit(id, who, file) {
    this.run(who, "task", "claim", id, "--start");
    const { branch } = this.run(who, "task", "show", id).task;
    this.git("checkout", "-q", "-b", branch ?? `feat/${id}`, "main");
    writeFileSync(join(this.dir, file), `pub fn ${id.toLowerCase()}() {}\n`);
    this.commit(`Do ${id}`);
    this.run(who, "task", "submit", id);
    this.git("checkout", "-q", "main");
  }

  async stop() {
    await this.browser?.close();
    if (this.server && this.server.exitCode === null) await this.stopServer();
    rmSync(this.dir, { recursive: true, force: true });
    rmSync(this.home, { recursive: true, force: true });
  }
}
