// Runs of real Claude Code and real Codex, without a network: a plan behind a design gate, three commits with milestones, a
// review; then an agent that is killed in the middle, and the run that goes on from there.
//
//   node fleet.mjs COMITY DIRECTORY-WITH-node_modules [claude,codex]
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const [comity, packages] = process.argv.slice(2, 4).map((one) => path.resolve(one));
const wanted = (process.argv[4] ?? 'claude,codex').split(',');
const here = import.meta.dirname;
const native = path.join(packages, `node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`);
const codex = path.join(packages, 'node_modules/.bin/codex');
const RUN_MS = 180_000;

const sleep = (ms) => new Promise((go) => { setTimeout(go, ms); });

class Project {
  constructor(kind, port) {
    this.kind = kind;
    this.port = port;
    this.dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'comity-fleet-')));
    this.root = path.join(this.dir, 'tool');
    this.env = {
      PATH: `${path.dirname(process.execPath)}:${process.env.PATH}`, HOME: path.join(this.dir, 'home'), USER: 'tester', GIT_CONFIG_NOSYSTEM: '1',
      GIT_AUTHOR_NAME: 't', GIT_AUTHOR_EMAIL: 't@example.org', GIT_COMMITTER_NAME: 't', GIT_COMMITTER_EMAIL: 't@example.org',
      XDG_RUNTIME_DIR: path.join(this.dir, 'r'), ANTHROPIC_API_KEY: 'none', ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`, MODEL_KEY: 'none',
    };
    for (const dir of [this.root, this.env.HOME, this.env.XDG_RUNTIME_DIR]) fs.mkdirSync(dir);
    this.git('init', '-q', '-b', 'main');
    fs.writeFileSync(path.join(this.root, 'AGENTS.md'), 'Speak plainly.\n');
    fs.mkdirSync(path.join(this.root, '.comity'));
    const provider = `model_providers.scripted={name="scripted",base_url="http://127.0.0.1:${port}/v1",env_key="MODEL_KEY",wire_api="responses",request_max_retries=0,stream_max_retries=0}`;
    fs.writeFileSync(path.join(this.root, '.comity/config.toml'), `[fleet]\ndriver = "${kind}"\nttl = "10s"\n[drivers.claude]\nkind = "claude"\ncommand = ["${native}"]
[drivers.codex]\nkind = "codex"\ncommand = ["${codex}", "-c", 'model="scripted"', "-c", 'model_provider="scripted"', "-c", '${provider}']
[prices.scripted]\ninput = 10.0\noutput = 20.0\n${['architect', 'developer', 'reviewer'].map((name) => `[agent.${name}]\nenv_pass = ["MODEL_KEY"]\n`).join('')}`);
    this.git('add', '-A');
    this.git('commit', '-q', '-m', 'Begin');
    this.by('human:ann', 'init', '--clients', 'none');
    this.by('human:ann', 'trust');
    this.by('human:ann', 'task', 'create', 'Parse dates', '--file', 'src/**');
  }

  git(...args) {
    return execFileSync('git', args, { cwd: this.root, env: this.env }).toString().trim();
  }

  by(who, ...args) {
    const env = { ...this.env, COMITY_AGENT: who };
    return JSON.parse(execFileSync(comity, [...args, '--json'], { cwd: this.root, env, stdio: 'pipe' }));
  }

  /** A shell command, as the client's own tool. */
  shell(command) {
    return this.kind === 'claude' ? { tool: 'Bash', args: { command, description: 'work' } }
      : { tool: 'exec_command', args: { cmd: command, yield_time_ms: 60_000 } };
  }

  /** Starts an agent with its own scripted model; `meanwhile` runs beside it. Returns the run and what the model was asked. */
  async run(agent, steps, { more = [], meanwhile = async () => {}, args = null } = {}) {
    const [script, log] = ['script.json', 'requests.jsonl'].map((file) => path.join(this.dir, file));
    fs.writeFileSync(script, JSON.stringify(steps));
    fs.rmSync(log, { force: true });
    const model = spawn(process.execPath, [path.join(here, 'model.mjs'), String(this.port), script, log], { stdio: ['ignore', 'pipe', 'ignore'] });
    await new Promise((go) => { model.stdout.once('data', go); });
    try {
      const started = this.by('human:ann', ...(args ?? ['run', agent, '--task', 'T1', ...more]));
      const { id } = started.run;
      const beside = meanwhile(id);
      const end = Date.now() + RUN_MS;
      let run;
      do {
        assert.ok(Date.now() < end, `${id} does not end: ${this.said(id)}`);
        await sleep(200);
        run = this.by('human:ann', 'run', 'show', id).run;
      } while (!run.ended_at);
      await beside;
      return { run, asked: fs.readFileSync(log, 'utf8') };
    } finally {
      model.kill();
    }
  }

  said(id) {
    const env = { ...this.env, COMITY_AGENT: 'human:ann' };
    return execFileSync(comity, ['run', 'logs', id], { cwd: this.root, env }).toString();
  }

  succeeded({ run }) {
    assert.equal(run.state, 'succeeded', `${JSON.stringify(run.error)}\n${this.said(run.id)}`);
  }
}

const block = (report) => ({ text: `I am done.\n\n\`\`\`json\n${JSON.stringify(report)}\n\`\`\`\n` });

async function story(kind, port) {
  const began = Date.now();
  const project = new Project(kind, port);
  const self = `"${comity}"`;
  const milestone = (n) => `${self} note milestone "T${n} done — commit $(git rev-parse HEAD)"`;
  const commit = (n) => project.shell(`mkdir -p src && echo ${n} > src/step${n}.rs && git add -A && git commit -q -m "feat(T1): step ${n}" && ${milestone(n)}`);

  // A person answers the design while the agent waits, and its clock stands still.
  const plan = await project.run('architect', [
    project.shell(`${self} decision ask "Design approval for T1: a parser of its own" --type approval --wait`),
    project.shell('mkdir -p .comity/specs && echo "# T1, T2, T3" > .comity/specs/plan.md && git add -A && git commit -q -m "docs(T1): plan"'),
    block({ plan_path: '.comity/specs/plan.md', summary: 'three steps' }),
  ], { meanwhile: async (id) => {
    for (let n = 0; n < 300 && project.by('human:ann', 'run', 'show', id).run.state !== 'waiting'; n += 1) await sleep(100);
    const run = project.by('human:ann', 'run', 'show', id).run;
    assert.equal(run.state, 'waiting', project.said(id));
    project.by('human:ann', 'decision', 'answer', run.waiting_on, 'approved');
  } });
  project.succeeded(plan);
  assert.ok(plan.asked.includes('Speak plainly'), 'AGENTS.md of the base is in the prompt');
  assert.ok(plan.asked.includes('You are an architect'), 'the agent knows what it is');
  assert.notEqual(plan.run.sandbox, 'none');

  // Three commits, comity's own tools, and nobody in the run is somebody else.
  const develop = await project.run('developer', [
    { tool: 'look_up', args: { what: 'tasks' } }, commit(1), commit(2),
    project.shell(`${self} whoami; ${self} --as human:ann whoami; echo "exit $?"; echo no > ${project.root}/escaped; true`),
    commit(3), block({ status: 'DONE', summary: 'dates are parsed' }),
  ]);
  project.succeeded(develop);
  const { run } = develop;
  assert.equal(run.milestones.length, 3, JSON.stringify(run.milestones));
  assert.ok(run.milestones.every((made) => made.verified));
  assert.ok(develop.asked.includes('Parse dates') && develop.asked.includes(run.identity), 'the tools know the agent');
  assert.ok(develop.asked.includes('as nobody else'), '--as is refused');
  assert.ok(!fs.existsSync(path.join(project.root, 'escaped')), 'nothing is written outside');
  assert.ok(run.cost_usd > 0 && run.tokens.input > 0, JSON.stringify(run));
  assert.equal(run.cost_basis, kind === 'claude' ? 'reported' : 'priced');
  assert.equal(project.by('human:ann', 'task', 'show', 'T1').task.status, 'review');

  const review = await project.run('reviewer', [
    project.shell('git log --oneline | head -5; test -e src/step3.rs'),
    block({ verdict: 'APPROVED', spec_compliance: 'PASS', summary: 'good', issues: [] }),
  ]);
  project.succeeded(review);
  assert.equal(project.by('human:ann', 'task', 'show', 'T1').task.status, 'approved');

  // An agent is killed after its first commit; the next run knows that and goes on.
  project.by('human:ann', 'task', 'create', 'Parse times', '--file', 'lib/**');
  const args = ['run', 'developer', '--task', 'T2'];
  const lost = await project.run('developer', [commit(1), project.shell('sleep 60; true'), block({ status: 'DONE', summary: 'x' })], { args, meanwhile: async (id) => {
    for (let n = 0; n < 300 && !project.said(id).match(/began[^]*began/); n += 1) await sleep(100);
    const keeper = execFileSync('pgrep', ['-f', `__keeper .*/${id}/job.json`]).toString().trim();
    process.kill(Number(keeper), 'SIGKILL');
    for (let n = 0; n < 100; n += 1) { project.by('human:ann', 'watchdog', '--once'); await sleep(300); if (project.by('human:ann', 'run', 'show', id).run.ended_at) break; }
  } });
  assert.equal(lost.run.state, 'lost', JSON.stringify(lost.run));
  const again = await project.run('developer', [commit(2), block({ status: 'DONE', summary: 'times are parsed' })], { args: ['run', 'resume', lost.run.id, '--fresh'] });
  project.succeeded(again);
  assert.equal(again.run.resumed_from, lost.run.id);
  assert.ok(again.asked.includes('RESUMING FROM CRASH') && again.asked.includes('T1 (commit'), 'it knows what is done');
  const log = project.git('log', '--format=%s', again.run.branch);
  assert.ok(log.includes('step 2') && log.includes('step 1'), log);
  assert.equal(project.by('human:ann', 'log', 'verify').ok, true);
  console.log(`${kind}: plan behind a gate, three commits, review, killed and resumed; ${Date.now() - began} ms`);
  fs.rmSync(project.dir, { recursive: true, force: true });
}

let port = 18960;
for (const kind of wanted) await story(kind, port++);
process.exit(0);
