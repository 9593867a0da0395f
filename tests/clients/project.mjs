// A project whose agents are a real client with a scripted model, without a network.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const [comity, packages] = process.argv.slice(2, 4).map((one) => path.resolve(one));
const here = import.meta.dirname;
const native = path.join(packages, `node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`);
const codex = path.join(packages, 'node_modules/.bin/codex');
const RUN_MS = 180_000;

export const sleep = (ms) => new Promise((go) => { setTimeout(go, ms); });

/** comity, as a word of a shell. */
export const self = `"${comity}"`;

/** The last words of an agent. */
export const block = (report) => ({ text: `I am done.\n\n\`\`\`json\n${JSON.stringify(report)}\n\`\`\`\n` });

export class Project {
  /** `settings` are further lines of the project's settings. */
  constructor(kind, port, settings = '') {
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
    fs.writeFileSync(path.join(this.root, '.comity/config.toml'), `${settings}[fleet]\ndriver = "${kind}"\nttl = "10s"\n[drivers.claude]\nkind = "claude"\ncommand = ["${native}"]
[drivers.codex]\nkind = "codex"\ncommand = ["${codex}", "-c", 'model="scripted"', "-c", 'model_provider="scripted"', "-c", '${provider}']
[prices.scripted]\ninput = 10.0\noutput = 20.0\n${['architect', 'developer', 'reviewer'].map((name) => `[agent.${name}]\nenv_pass = ["MODEL_KEY"]\n`).join('')}`);
    this.git('add', '-A');
    this.git('commit', '-q', '-m', 'Begin');
    this.by('human:ann', 'init', '--clients', 'none');
    this.by('human:ann', 'trust');
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

  /** Starts a process of comity that goes on; `ended` is a promise. */
  goes(who, ...args) {
    const child = spawn(comity, args, { cwd: this.root, env: { ...this.env, COMITY_AGENT: who }, stdio: 'ignore' });
    return { child, ended: new Promise((go) => { child.once('exit', go); }) };
  }

  /** The keeper of a run, by the file that it was started with. */
  keeper(id) {
    const found = spawnSync('pgrep', ['-f', `__keeper ${this.dir}.*/${id}/job.json`]).stdout.toString().trim();
    return found ? Number(found.split('\n')[0]) : null;
  }

  /** Starts a model with a script; whoever asked for it ends it. */
  async model(steps) {
    const [script, log] = ['script.json', 'requests.jsonl'].map((file) => path.join(this.dir, file));
    fs.writeFileSync(script, JSON.stringify(steps));
    fs.rmSync(log, { force: true });
    const model = spawn(process.execPath, [path.join(here, 'model.mjs'), String(this.port), script, log], { stdio: ['ignore', 'pipe', 'ignore'] });
    await new Promise((go) => { model.stdout.once('data', go); });
    return { model, log };
  }

  /** Starts an agent with its own scripted model; `meanwhile` runs beside it. Returns the run and what the model was asked. */
  async run(agent, steps, { more = [], meanwhile = async () => {}, args = null } = {}) {
    const { model, log } = await this.model(steps);
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
