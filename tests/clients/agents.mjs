// Real agent clients against a real comity, without a network. Claude Code and Codex, over stdio and over HTTP, with nothing but the
// files that `comity init` wrote: in one session they list the tools, claim a task, write files, are refused what another agent holds,
// by the tools and by the guard, and see why, commit, and hand their work in. Gemini CLI and OpenCode do it over stdio without writing.
//
//   node agents.mjs COMITY DIRECTORY-WITH-node_modules [CLIENT,…]
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const [comity, packages] = process.argv.slice(2).map((one) => path.resolve(one));
const here = import.meta.dirname;
const bin = (name) => path.join(packages, 'node_modules/.bin', name);
const CALLS_MS = 60_000;

/** The environment of a client: nothing of ours but the path. */
const clean = (home, more = {}) => ({
  PATH: process.env.PATH, HOME: home, USER: 'tester', GIT_CONFIG_NOSYSTEM: '1', GIT_AUTHOR_NAME: 't', GIT_AUTHOR_EMAIL: 't@example.org',
  GIT_COMMITTER_NAME: 't', GIT_COMMITTER_EMAIL: 't@example.org', ...more,
});

class Project {
  /** With `isDone` the work lies ready on the branch of the claim, for clients that write nothing. */
  constructor(isDone = false) {
    this.dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'comity-clients-')));
    this.root = path.join(this.dir, 'tool');
    this.home = path.join(this.dir, 'home');
    fs.mkdirSync(this.root);
    fs.mkdirSync(this.home);
    const git = (...args) => execFileSync('git', args, { cwd: this.root, env: clean(this.home) });
    git('init', '-q', '-b', 'main');
    fs.writeFileSync(path.join(this.root, 'README.md'), '# tool\n');
    git('add', '-A');
    git('commit', '-q', '-m', 'Begin');
    this.by('human:ann', 'init', '--clients', 'none');
    this.by('human:ann', 'task', 'create', 'Parse dates', '--file', 'src/date/**');
    this.by('w2', 'lease', 'acquire', 'docs');
    this.git = git;
    if (!isDone) return;
    git('checkout', '-q', '-b', 'feat/T1-parse-dates');
    fs.mkdirSync(path.join(this.root, 'src/date'), { recursive: true });
    fs.writeFileSync(path.join(this.root, 'src/date/mod.rs'), 'fn parse() {}\n');
    git('add', 'src');
    git('commit', '-q', '-m', 'Parse dates');
    git('checkout', '-q', 'main');
  }

  /** Runs comity as somebody; `more` are further variables. */
  by(who, ...args) {
    return this.with({ COMITY_AGENT: who }, ...args);
  }

  with(more, ...args) {
    const env = clean(this.home, more);
    return JSON.parse(execFileSync(comity, [...args, '--json'], { cwd: this.root, env, stdio: 'pipe' }));
  }
}

const STEPS = [
  { tool: 'look_up', args: { what: 'tasks', ready: true } },
  { tool: 'claim_task', args: {} },
  { tool: 'lease_files', args: { paths: ['src/extra.rs'], task: 'T1' } },
  { tool: 'lease_files', args: { paths: ['docs/guide.md'] } },
  { tool: 'submit_work', args: { task: 'T1', outcome: 'completed', summary: 'dates are parsed' } },
  { text: 'DONE' },
];

/** A tool of each client that writes a file, and one that runs a command. */
const HANDS = {
  'claude-code': (root) => ({
    write: (file) => ({ tool: 'Write', args: { file_path: path.join(root, file), content: 'mine' } }),
    shell: (command) => ({ tool: 'Bash', args: { command, description: 'work' } }),
  }),
  codex: (root) => {
    const shell = (cmd) => ({ tool: 'exec_command', args: { cmd, workdir: root } });
    return { shell, write: (file) => shell(`apply_patch <<'E'\n*** Begin Patch\n*** Add File: ${file}\n+mine\n*** End Patch\nE`) };
  },
};

/** A whole piece of work: a file of the task, a free one, one that another agent holds with a tool and one with a shell. */
const WORK = (name, root) => {
  const { write, shell } = HANDS[name](root);
  return [
    { tool: 'look_up', args: { what: 'tasks', ready: true } },
    { tool: 'claim_task', args: {} },
    // A login shell has a path of its own.
    shell(`git checkout -q -b feat/T1-parse-dates && "${comity}" whoami`),
    write('src/date/mod.rs'),
    write('src/free.rs'),
    write('docs/guide.md'),
    shell('mkdir -p docs && echo mine > docs/other.md'),
    { tool: 'lease_files', args: { paths: ['src/extra.rs'], task: 'T1' } },
    { tool: 'lease_files', args: { paths: ['docs/guide.md'] } },
    shell("git add src && git commit -q -m 'Parse dates' && echo committed it"),
    { tool: 'submit_work', args: { task: 'T1', outcome: 'completed', summary: 'dates are parsed' } },
    { text: 'DONE' },
  ];
};

/** Starts a process that says one line when it is ready. */
async function start(command, args, options) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'], ...options });
  const line = await new Promise((resolve, reject) => {
    let said = '';
    child.stdout.on('data', (piece) => { said += piece; if (said.includes('\n')) resolve(said); });
    child.on('exit', (status) => reject(new Error(`${command} ended with ${status}`)));
  });
  return { child, line };
}

/** Runs a client to its end; returns its output, a JSON object a line. */
async function run(command, args, options) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  let [out, err] = ['', ''];
  child.stdout.on('data', (piece) => { out += piece; });
  child.stderr.on('data', (piece) => { err += piece; });
  const timer = setTimeout(() => child.kill('SIGKILL'), CALLS_MS);
  const status = await new Promise((resolve) => { child.on('close', resolve); });
  clearTimeout(timer);
  assert.equal(status, 0, `${command} ended with ${status}\n${out}\n${err}`);
  return out.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
}

const codexSettings = (project, model) => `
model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false
approval_policy = "never"
sandbox_mode = "workspace-write"
[analytics]
enabled = false
[model_providers.scripted]
name = "scripted"
base_url = "${model}/v1"
env_key = "MODEL_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[projects."${project.root}"]
trust_level = "trusted"
`;

/** Clients with settings of their own. */
const clients = {
  async gemini(project, model) {
    const home = path.join(project.home, '.gemini');
    fs.mkdirSync(home);
    fs.writeFileSync(path.join(home, 'settings.json'), JSON.stringify({
      security: { auth: { selectedType: 'gemini-api-key' } }, privacy: { usageStatisticsEnabled: false }, telemetry: { enabled: false },
      general: { enableAutoUpdate: false }, model: { name: 'gemini-2.5-pro' },
      mcpServers: { comity: { command: comity, args: ['mcp', '--client', 'gemini'], trust: true } },
    }));
    const env = clean(project.home, { GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: model, GEMINI_CLI_TRUST_WORKSPACE: 'true' });
    await run(bin('gemini'), ['-p', 'work', '-o', 'stream-json', '--skip-trust', '-m', 'gemini-2.5-pro'], { cwd: project.root, env });
  },

  async opencode(project, model) {
    const provider = { npm: '@ai-sdk/openai-compatible', options: { baseURL: `${model}/v1`, apiKey: 'none' }, models: { scripted: {} } };
    fs.writeFileSync(path.join(project.root, 'opencode.json'), JSON.stringify({
      provider: { scripted: provider }, model: 'scripted/scripted', small_model: 'scripted/scripted', enabled_providers: ['scripted'],
      autoupdate: false, share: 'disabled', mcp: { comity: { type: 'local', command: [comity, 'mcp', '--client', 'opencode'], enabled: true } },
    }));
    const env = clean(project.home, { OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_LSP_DOWNLOAD: '1' });
    await run(bin('opencode'), ['run', '--format', 'json', 'work'], { cwd: project.root, env });
  },
};

/** Clients with nothing but the files of the project; returns the session. */
const guarded = {
  async 'claude-code'(project, model, programs, more = {}) {
    const env = { ...clean(project.home, more), PATH: programs,
      CLAUDE_CONFIG_DIR: path.join(project.home, '.claude'), ANTHROPIC_BASE_URL: model, ANTHROPIC_API_KEY: 'none',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1', ENABLE_TOOL_SEARCH: 'false' };
    const args = ['-p', 'work', '--output-format', 'stream-json', '--verbose', '--allowedTools', 'Write,Bash,mcp__comity'];
    const lines = await run(claudeBinary(), args, { cwd: project.root, env });
    return lines.find((line) => line.subtype === 'init').session_id;
  },

  async codex(project, model, programs, more = {}) {
    const home = path.join(project.home, '.codex');
    fs.mkdirSync(home);
    fs.writeFileSync(path.join(home, 'config.toml'), codexSettings(project, model));
    const args = ['exec', '--json', '--skip-git-repo-check', '--disable', 'apps', '--disable', 'plugins',
      '--dangerously-bypass-hook-trust', '-s', 'danger-full-access', 'work'];
    const env = { ...clean(project.home, more), PATH: programs, CODEX_HOME: home, MODEL_KEY: 'none' };
    const lines = await run(bin('codex'), args, { cwd: project.root, env });
    return lines.find((line) => line.type === 'thread.started').thread_id;
  },
};

/** The native binary: the small starter of the package is made by an install script, which need not have run. */
function claudeBinary() {
  const native = path.join(packages, `node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`);
  return fs.existsSync(native) ? native : bin('claude');
}

/** A client without hooks: it claims, leases, is refused, and hands in what lies ready. */
async function check(name, port) {
  const began = Date.now();
  const project = new Project(true);
  const running = [];
  try {
    const [script, log] = ['script.json', 'requests.jsonl'].map((file) => path.join(project.dir, file));
    fs.writeFileSync(script, JSON.stringify(STEPS));
    running.push((await start(process.execPath, [path.join(here, 'model.mjs'), String(port), script, log])).child);
    await clients[name](project, `http://127.0.0.1:${port}`);
    const seen = fs.readFileSync(log, 'utf8').trim().split('\n').at(-1);
    for (const tool of ['claim_task', 'remember']) assert.ok(seen.includes(tool), `the model was offered ${tool}`);
    assert.match(seen, /docs\/guide\.md overlaps docs held by w2/, 'the model was told why it was refused');
    const { task } = project.by('human:ann', 'task', 'show', 'T1');
    // A client that tells no session is its process, whatever its number is.
    assert.match(task.assignee, new RegExp(`^${name}:[a-zA-Z0-9]+$`));
    assert.deepEqual([task.status, task.branch], ['review', 'feat/T1-parse-dates']);
    const { events } = project.by('human:ann', 'event', 'list', '--type', 'file_locked');
    assert.ok(events.some((event) => event.agent === task.assignee && JSON.stringify(event).includes('src/extra.rs')), 'the lease was taken');
    console.log(`${name} over stdio: ${task.assignee} claimed, leased, was refused, submitted (${Date.now() - began} ms)`);
  } finally {
    for (const child of running) child.kill();
    fs.rmSync(project.dir, { recursive: true, force: true });
  }
}

/** What `comity init` wrote for a client is enough for a whole piece of work under the guard, in one session. */
async function work(name, over, port) {
  const began = Date.now();
  const project = new Project();
  const running = [];
  try {
    const [script, log] = ['script.json', 'requests.jsonl'].map((file) => path.join(project.dir, file));
    fs.writeFileSync(script, JSON.stringify(WORK(name, project.root)));
    running.push((await start(process.execPath, [path.join(here, 'model.mjs'), String(port), script, log])).child);
    const programs = path.join(project.dir, 'bin');
    fs.mkdirSync(programs);
    fs.symlinkSync(comity, path.join(programs, 'comity'));
    const init = ['init', '--clients', name === 'codex' ? 'codex' : 'claude', '--approve-tools'];
    let token = {};
    if (over === 'http') {
      token = { COMITY_TOKEN: project.by('human:ann', 'token', 'create', '--agent', `${name}:web`).token.secret };
      const args = ['--as', 'human:ann', 'serve', '--listen', '127.0.0.1:0', '--json'];
      const { child, line } = await start(comity, args, { cwd: project.root, env: clean(project.home) });
      running.push(child);
      assert.equal(project.with(token, '--url', JSON.parse(line).url, ...init).agent, `${name}:web`);
    } else {
      project.by('human:ann', ...init);
    }
    project.git('add', '-A');
    project.git('commit', '-q', '-m', 'Use comity');
    const session = await guarded[name](project, `http://127.0.0.1:${port}`, `${programs}:${process.env.PATH}`, token);
    const agent = over === 'http' ? `${name}:web` : `${name}:${session.replace(/[^a-z0-9]/gi, '').slice(-8)}`;
    const seen = fs.readFileSync(log, 'utf8').trim().split('\n').at(-1);
    for (const tool of ['claim_task', 'remember']) assert.ok(seen.includes(tool), `the model was offered ${tool}`);
    assert.ok(seen.includes(`You are ${agent} in tool`), 'the session began with what comity prime says');
    assert.ok(seen.includes(`You are ${agent}: `), 'a command of the shell is the same agent');
    assert.match(seen, /docs\/guide\.md is leased to w2/, 'the guard said why the file may not be written');
    assert.ok(!fs.existsSync(path.join(project.root, 'docs/guide.md')), 'what another has leased was not written');
    assert.match(seen, /files that others have leased changed: docs\/other\.md \(w2\)/, 'the model was told what its shell wrote');
    assert.match(seen, /docs\/guide\.md overlaps docs held by w2/, 'the tool said why the file may not be leased');
    assert.match(seen, /committed it/, 'git took the commit');
    const { task } = project.by('human:ann', 'task', 'show', 'T1');
    assert.deepEqual([task.status, task.assignee, task.branch], ['review', agent, 'feat/T1-parse-dates']);
    const files = project.git('ls-tree', '-r', '--name-only', 'feat/T1-parse-dates').toString().split('\n');
    for (const file of ['src/date/mod.rs', 'src/free.rs']) assert.ok(files.includes(file), `${file} is in the work`);
    const { events } = project.by('human:ann', 'event', 'list', '--type', 'file_locked');
    const leased = (file) => events.some((event) => event.agent === agent && JSON.stringify(event).includes(file));
    for (const file of ['src/free.rs', 'src/extra.rs']) assert.ok(leased(file), `${file} was leased`);
    if (name === 'claude-code' && over === 'stdio') {
      const kept = fs.readdirSync(path.join(project.root, '.git/comity/sessions'));
      assert.equal(kept.length, 1, 'the first session of the process is kept');
    }
    console.log(`${name} over ${over}: ${agent} claimed, wrote, was refused by guard and tools, committed, submitted (${Date.now() - began} ms)`);
  } finally {
    for (const child of running) child.kill();
    if (process.env.COMITY_KEEP) console.log(project.dir);
    else fs.rmSync(project.dir, { recursive: true, force: true });
  }
}

/** What may become of the guard between two calls, and what the model has to read then. */
const BROKEN = {
  missing: { why: /comity/, breaks: (project, programs) => fs.rmSync(path.join(programs, 'comity')) },
  killed: { why: /comity|hook/i, breaks: (project, programs) => script(path.join(programs, 'comity'), 'kill -9 $$') },
  slow: {
    why: /3 seconds|cannot answer/,
    breaks: (project) => spawn('flock', [path.join(project.root, '.git/comity/comity.db.lock'), 'sleep', '30'], { stdio: 'ignore' }),
  },
  storeless: { why: /store/, breaks: (project) => fs.rmSync(path.join(project.root, '.git/comity'), { recursive: true }) },
};

function script(file, text) {
  fs.rmSync(file);
  fs.writeFileSync(file, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
}

/** A guard that cannot answer stops the write, and says why. */
async function broken(name, how, port) {
  const project = new Project();
  const running = [];
  try {
    const [steps, log] = ['script.json', 'requests.jsonl'].map((file) => path.join(project.dir, file));
    fs.writeFileSync(steps, JSON.stringify([HANDS[name](project.root).write('src/free.rs'), { text: 'DONE' }]));
    running.push((await start(process.execPath, [path.join(here, 'model.mjs'), String(port), steps, log])).child);
    const programs = path.join(project.dir, 'bin');
    fs.mkdirSync(programs);
    fs.symlinkSync(comity, path.join(programs, 'comity'));
    project.by('human:ann', 'init', '--clients', name === 'codex' ? 'codex' : 'claude', '--approve-tools', '--no-hooks');
    const { why, breaks } = BROKEN[how];
    const child = breaks(project, programs);
    if (child?.kill) running.push(child);
    const began = Date.now();
    await guarded[name](project, `http://127.0.0.1:${port}`, `${programs}:${process.env.PATH}`);
    const took = Date.now() - began;
    const seen = fs.readFileSync(log, 'utf8').trim().split('\n').at(-1);
    assert.ok(!fs.existsSync(path.join(project.root, 'src/free.rs')), `${name}, guard ${how}: nothing was written`);
    const last = JSON.stringify((JSON.parse(seen).messages ?? JSON.parse(seen).input).at(-1));
    assert.match(last, why, `${name}, guard ${how}: the model was told why`);
    console.log(`${name}, guard ${how}: the write was stopped (${took} ms for the whole session)`);
  } finally {
    for (const child of running) child.kill();
    if (process.env.COMITY_KEEP) console.log(project.dir);
    else fs.rmSync(project.dir, { recursive: true, force: true });
  }
}

let port = 18940;
const only = process.argv[4]?.split(',') ?? [...Object.keys(guarded), ...Object.keys(clients)];
for (const name of only) {
  if (!guarded[name]) {
    await check(name, (port += 1));
    continue;
  }
  for (const over of ['stdio', 'http']) await work(name, over, (port += 1));
  for (const how of Object.keys(BROKEN)) await broken(name, how, (port += 1));
}
