// Records what real clients say to a driver, without a network: one file a scenario, as the tests of the readers take it.
//
//   unshare -n sh -c 'ip link set lo up; node record.mjs PACKAGES ACP-PACKAGES MODEL OUT [NAME…]'
//
// A line is what the client said ("<"), what was written to it (">"), or its end ("!").
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const [packages, adapters, model, out, ...wanted] = process.argv.slice(2);
const PORT = 18940;
const url = `http://127.0.0.1:${PORT}`;
const native = path.join(packages, `node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`);
const work = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'recorded-')));
const scripts = path.join(work, 'scripts');
const log = path.join(work, 'requests.jsonl');
fs.mkdirSync(scripts, { recursive: true });
const home = path.join(work, 'home');
fs.mkdirSync(home);
const base = { PATH: `${path.dirname(process.execPath)}:${process.env.PATH}`, HOME: home, USER: 'tester', IS_SANDBOX: '1' };

const TEXT = [{ text: 'All is done.' }];
const BASH = [{ tool: 'Bash', args: { command: 'echo one > a.txt', description: 'write' } }, { tool: 'Bash', args: { command: 'cat a.txt', description: 'read' } }, { text: 'All is done.' }];
const outside = (name) => [{ tool: 'Write', args: { file_path: path.join(home, name), content: 'one' } }, { text: 'All is done.' }];
const CODEX = [{ tool: 'exec_command', args: { cmd: 'echo one > a.txt' } }, { tool: 'exec_command', args: { cmd: 'cat a.txt' } }, { text: 'All is done.' }];
const fault = (kind, times) => [{ fault: kind, ...(times ? { times } : {}), text: 'All is done.' }];
const report = [{ text: 'I worked.\n\n```json\n{"status":"DONE","summary":"dates are parsed"}\n```\n' }];

/** What a scenario says first, how it answers, and when it ends. */
const claude = {
  text: { script: TEXT },
  report: { script: report },
  tools: { script: BASH, allow: true },
  asked: { script: outside('asked.txt'), allow: true },
  denied: { script: outside('denied.txt'), allow: false },
  edit: { script: [{ tool: 'Write', args: { file_path: 'WORK/b.txt', content: 'one\ntwo\n' } }, { tool: 'Edit', args: { file_path: 'WORK/b.txt', old_string: 'two', new_string: 'three' } }, { text: 'ok' }] },
  failing: { script: [{ tool: 'Bash', args: { command: 'exit 3', description: 'fail' } }, { text: 'it failed' }], allow: true },
  turns: { script: TEXT, more: ['say it again', 'and again'] },
  background: { script: [{ tool: 'Bash', args: { command: 'sleep 3; echo late', description: 'wait', run_in_background: true } }, { text: 'started' }, { text: 'the background task is done' }], allow: true, linger: 6000 },
  subagent: { script: [{ tool: 'Agent', args: { description: 'look', prompt: 'SCRIPT:inner look', subagent_type: 'general-purpose' } }, { text: 'looked' }], allow: true },
  usage: { script: [{ tool: 'Bash', args: { command: 'true', description: 'x' }, usage: { input: 900, cached: 5000, output: 70 } }, { text: 'ok', usage: { input: 40, cached: 6000, output: 300 } }], allow: true },
  interrupt: { script: [{ tool: 'Bash', args: { command: 'sleep 20; true', description: 'wait' } }, { text: 'never' }], allow: true, interrupt: 2500 },
  steered: { script: [{ tool: 'Bash', args: { command: 'sleep 2; true', description: 'wait' } }, { text: 'ok' }], allow: true, steer: 1500 },
  long: { script: [{ text: 'word '.repeat(4000) }] },
  unicode: { script: [{ text: 'grüße — 你好 🎉 \u2028 end' }] },
  max_turns: { script: BASH, allow: true, args: ['--max-turns', '1'] },
  max_budget: { script: BASH, allow: true, args: ['--max-budget-usd', '0.0001'] },
  fault_429: { script: fault(429) },
  fault_limit: { script: fault('limit') },
  fault_529: { script: fault(529) },
  fault_529_once: { script: fault(529, 1) },
  fault_500: { script: fault(500) },
  fault_401: { script: fault(401) },
  fault_403: { script: fault(403) },
  fault_cut: { script: fault('cut') },
  fault_hang: { script: fault('hang'), kill: 5000 },
  killed: { script: [{ tool: 'Bash', args: { command: 'sleep 20; true', description: 'wait' } }], allow: true, kill: 3000 },
  resumed: { script: TEXT, after: 'text' },
};
const codex = {
  text: { script: TEXT },
  report: { script: report },
  tools: { script: CODEX },
  asked: { script: CODEX, policy: 'untrusted', allow: true },
  denied: { script: CODEX, policy: 'untrusted', allow: false },
  patch: { script: [{ tool: 'exec_command', args: { cmd: "apply_patch <<'E'\n*** Begin Patch\n*** Add File: c.txt\n+mine\n*** End Patch\nE" } }, { text: 'ok' }] },
  failing: { script: [{ tool: 'exec_command', args: { cmd: 'exit 3' } }, { text: 'it failed' }] },
  turns: { script: TEXT, more: ['say it again', 'and again'] },
  usage: { script: [{ tool: 'exec_command', args: { cmd: 'true' }, usage: { input: 900, cached: 500, output: 70 } }, { text: 'ok', usage: { input: 1400, cached: 900, output: 300 } }] },
  interrupt: { script: [{ tool: 'exec_command', args: { cmd: 'sleep 20; true', yield_time_ms: 25000 } }, { text: 'never' }], interrupt: 2500 },
  steered: { script: [{ tool: 'exec_command', args: { cmd: 'sleep 3; true', yield_time_ms: 5000 } }, { text: 'ok' }], steer: 1000 },
  fault_429: { script: fault(429) },
  fault_529: { script: fault(529) },
  fault_500: { script: fault(500) },
  fault_401: { script: fault(401) },
  fault_cut: { script: fault('cut') },
  fault_hang: { script: fault('hang'), kill: 5000 },
  killed: { script: [{ tool: 'exec_command', args: { cmd: 'sleep 20; true', yield_time_ms: 25000 } }], kill: 3000 },
};
const acp = {
  claude_text: { agent: 'claude', script: TEXT },
  claude_tools: { agent: 'claude', script: BASH, allow: true },
  claude_denied: { agent: 'claude', script: BASH, allow: false },
  claude_cancel: { agent: 'claude', script: [{ tool: 'Bash', args: { command: 'sleep 20; true', description: 'wait' } }], allow: true, interrupt: 4000 },
  claude_turns: { agent: 'claude', script: TEXT, more: ['again'] },
  gemini_text: { agent: 'gemini', script: TEXT },
  opencode_text: { agent: 'opencode', script: TEXT },
};

class Talk {
  constructor(file, command, args, options) {
    this.file = fs.createWriteStream(file);
    this.child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], ...options });
    this.child.stdin.on('error', () => {});
    this.err = '';
    this.child.stderr.on('data', (piece) => { this.err += piece; });
    let rest = '';
    this.child.stdout.on('data', (piece) => {
      rest += piece;
      for (let at; (at = rest.indexOf('\n')) >= 0; rest = rest.slice(at + 1)) this.hear(rest.slice(0, at));
    });
    this.done = new Promise((resolve) => this.child.on('close', (code, signal) => {
      this.file.write(`! ${code ?? signal}\n`);
      this.file.end(resolve);
    }));
  }
  hear(line) {
    this.file.write(`< ${line}\n`);
    let value; try { value = JSON.parse(line); } catch { return; }
    this.on?.(value);
  }
  write(value) {
    const line = JSON.stringify(value);
    this.file.write(`> ${line}\n`);
    this.child.stdin.write(`${line}\n`);
  }
  end(after = 0) { setTimeout(() => this.child.stdin.end(), after); }
}

async function runClaude(name, scene) {
  const dir = fs.mkdtempSync(path.join(work, 'w-'));
  const place = (text) => text.replaceAll('WORK', dir);
  fs.writeFileSync(path.join(scripts, `${name}.json`), place(JSON.stringify(scene.script)));
  const config = path.join(work, 'claude-config');
  const args = ['-p', '--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose', '--model', 'opus', '--setting-sources', '',
    '--permission-mode', 'acceptEdits', '--permission-prompt-tool', 'stdio', '--strict-mcp-config', ...(scene.args ?? [])];
  if (scene.after) args.push('--resume', sessions[scene.after]);
  const env = { ...base, CLAUDE_CONFIG_DIR: config, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'none', DISABLE_AUTOUPDATER: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', ENABLE_TOOL_SEARCH: 'false', CLAUDE_CODE_MAX_RETRIES: '2' };
  const talk = new Talk(path.join(out, `claude-${name}.txt`), native, args, { cwd: scene.after ? sessionDirs[scene.after] : dir, env });
  const user = (text) => talk.write({ type: 'user', message: { role: 'user', content: text } });
  const more = [...(scene.more ?? [])];
  talk.on = (line) => {
    if (line.type === 'system' && line.subtype === 'init') { sessions[name] = line.session_id; sessionDirs[name] = dir; }
    if (line.type === 'control_request') {
      const response = scene.allow ? { behavior: 'allow', updatedInput: line.request.input } : { behavior: 'deny', message: 'not allowed' };
      talk.write({ type: 'control_response', response: { subtype: 'success', request_id: line.request_id, response } });
    }
    if (line.type === 'result') {
      if (more.length) user(more.shift());
      else talk.end(scene.linger ?? 0);
    }
  };
  user(`SCRIPT:${name} work`);
  if (scene.interrupt) setTimeout(() => talk.write({ type: 'control_request', request_id: 'i1', request: { subtype: 'interrupt' } }), scene.interrupt);
  if (scene.steer) setTimeout(() => user('look at b.txt, too'), scene.steer);
  await finish(talk, scene);
}

async function runCodex(name, scene) {
  const dir = fs.mkdtempSync(path.join(work, 'w-'));
  fs.writeFileSync(path.join(scripts, `${name}.json`), JSON.stringify(scene.script));
  const codexHome = path.join(home, '.codex');
  fs.mkdirSync(codexHome, { recursive: true });
  fs.writeFileSync(path.join(codexHome, 'config.toml'), `model = "scripted"\nmodel_provider = "scripted"\ncheck_for_update_on_startup = false\n[analytics]\nenabled = false
[model_providers.scripted]\nname = "scripted"\nbase_url = "${url}/v1"\nenv_key = "MODEL_KEY"\nwire_api = "responses"\nrequest_max_retries = 1\nstream_max_retries = 1\n`);
  const env = { ...base, CODEX_HOME: codexHome, MODEL_KEY: 'none' };
  const talk = new Talk(path.join(out, `codex-${name}.txt`), path.join(packages, 'node_modules/.bin/codex'),
    ['app-server', '--disable', 'apps', '--disable', 'plugins'], { cwd: dir, env });
  const more = [...(scene.more ?? [])];
  let [thread, turn, id] = [null, null, 10];
  const say = (text) => talk.write({ method: 'turn/start', id: id++, params: { threadId: thread, input: [{ type: 'text', text }] } });
  talk.on = (line) => {
    if (line.id === 1 && !line.method) {
      talk.write({ method: 'initialized' });
      talk.write({ method: 'thread/start', id: 2, params: { cwd: dir, approvalPolicy: scene.policy ?? 'on-request', sandbox: 'danger-full-access' } });
    }
    if (line.id === 2 && !line.method && line.result) { thread = line.result.thread.id; say(`SCRIPT:${name} work`); }
    if (line.method === 'turn/started') turn = line.params.turn.id;
    if (line.method?.endsWith('requestApproval')) talk.write({ id: line.id, result: { decision: scene.allow ? 'accept' : 'decline' } });
    if (line.method === 'turn/completed') { if (more.length) say(more.shift()); else talk.end(300); }
  };
  talk.write({ method: 'initialize', id: 1, params: { clientInfo: { name: 'comity', title: 'comity', version: '0' } } });
  if (scene.interrupt) setTimeout(() => talk.write({ method: 'turn/interrupt', id: 90, params: { threadId: thread, turnId: turn } }), scene.interrupt);
  if (scene.steer) setTimeout(() => talk.write({ method: 'turn/steer', id: 91, params: { threadId: thread, expectedTurnId: turn, input: [{ type: 'text', text: 'look at b.txt, too' }] } }), scene.steer);
  await finish(talk, scene);
}

async function runAcp(name, scene) {
  const dir = fs.mkdtempSync(path.join(work, 'w-'));
  fs.writeFileSync(path.join(scripts, `${name}.json`), JSON.stringify(scene.script));
  const agents = {
    claude: [process.execPath, [path.join(adapters, 'node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js')],
      { CLAUDE_CONFIG_DIR: path.join(work, 'acp-config'), ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'none', DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', ENABLE_TOOL_SEARCH: 'false' }],
    gemini: [path.join(packages, 'node_modules/.bin/gemini'), ['--acp', '--skip-trust', '-m', 'gemini-2.5-pro'],
      { GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: url, GEMINI_CLI_TRUST_WORKSPACE: 'true' }],
    opencode: [path.join(packages, 'node_modules/.bin/opencode'), ['acp'], { OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_LSP_DOWNLOAD: '1' }],
  };
  fs.mkdirSync(path.join(home, '.gemini'), { recursive: true });
  fs.writeFileSync(path.join(home, '.gemini/settings.json'), JSON.stringify({ security: { auth: { selectedType: 'gemini-api-key' } }, privacy: { usageStatisticsEnabled: false }, telemetry: { enabled: false }, general: { enableAutoUpdate: false }, model: { name: 'gemini-2.5-pro' } }));
  fs.writeFileSync(path.join(dir, 'opencode.json'), JSON.stringify({ provider: { scripted: { npm: '@ai-sdk/openai-compatible', options: { baseURL: `${url}/v1`, apiKey: 'none' }, models: { scripted: {} } } },
    model: 'scripted/scripted', small_model: 'scripted/scripted', enabled_providers: ['scripted'], autoupdate: false, share: 'disabled' }));
  const [command, args, env] = agents[scene.agent];
  const talk = new Talk(path.join(out, `acp-${name}.txt`), command, args, { cwd: dir, env: { ...base, ...env } });
  let [session, id] = [null, 10];
  const more = [...(scene.more ?? [])];
  const say = (text) => talk.write({ jsonrpc: '2.0', id: id++, method: 'session/prompt', params: { sessionId: session, prompt: [{ type: 'text', text }] } });
  talk.on = (line) => {
    if (line.id === 1 && line.result) talk.write({ jsonrpc: '2.0', id: 2, method: 'session/new', params: { cwd: dir, mcpServers: [] } });
    else if (line.id === 2 && line.result && !session) { session = line.result.sessionId; say(`SCRIPT:${name} work`); }
    else if (line.method === 'session/request_permission') {
      const kinds = scene.allow ? ['allow_once', 'allow_always'] : ['reject_once', 'reject_always'];
      const option = line.params.options.find((one) => kinds.includes(one.kind));
      talk.write({ jsonrpc: '2.0', id: line.id, result: { outcome: { outcome: 'selected', optionId: option.optionId } } });
    } else if (line.method && line.id !== undefined) talk.write({ jsonrpc: '2.0', id: line.id, error: { code: -32601, message: 'not supported' } });
    else if (line.id >= 10 && !line.method) { if (more.length) say(more.shift()); else talk.end(300); }
  };
  talk.write({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: 1, clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false }, clientInfo: { name: 'comity', version: '0' } } });
  if (scene.interrupt) setTimeout(() => talk.write({ jsonrpc: '2.0', method: 'session/cancel', params: { sessionId: session } }), scene.interrupt);
  await finish(talk, scene);
}

async function finish(talk, scene) {
  const timer = setTimeout(() => talk.child.kill('SIGKILL'), scene.kill ?? 90_000);
  await talk.done;
  clearTimeout(timer);
  if (talk.err) fs.writeFileSync(path.join(work, 'stderr.log'), talk.err, { flag: 'a' });
}

const sessions = {}, sessionDirs = {};
fs.mkdirSync(out, { recursive: true });
fs.writeFileSync(path.join(scripts, 'script.json'), JSON.stringify(TEXT));
fs.writeFileSync(path.join(scripts, 'inner.json'), JSON.stringify([{ text: 'I looked.' }]));
const server = spawn(process.execPath, [model, String(PORT), path.join(scripts, 'script.json'), log], { stdio: 'ignore' });
await new Promise((go) => setTimeout(go, 500));
const all = [...Object.entries(claude).map(([n, s]) => ['claude', n, s, runClaude]), ...Object.entries(codex).map(([n, s]) => ['codex', n, s, runCodex]),
  ...Object.entries(acp).map(([n, s]) => ['acp', n, s, runAcp])];
for (const [kind, name, scene, run] of all) {
  if (wanted.length && !wanted.some((one) => `${kind}-${name}`.startsWith(one))) continue;
  const began = Date.now();
  await run(name, scene);
  console.log(`${kind}-${name}: ${Date.now() - began} ms`);
}
server.kill();
