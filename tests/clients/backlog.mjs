// A backlog of three tickets becomes merged work: a supervisor, real Claude Code or real Codex as every agent, and one answer of a
// person. Then again, where the supervisor is killed between any two stages, and the keeper of a run once in each stage.
//
//   node backlog.mjs COMITY DIRECTORY-WITH-node_modules [claude,codex] [plain,killed]
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { Project, block, self, sleep } from './project.mjs';

const wanted = (process.argv[4] ?? 'claude,codex').split(',');
const ways = (process.argv[5] ?? 'plain,killed').split(',');
const STORY_MS = 900_000;
const SETTINGS = '[supervisor]\nheartbeat = "1s"\n[gates]\nrequired = ["test"]\n[gate.test]\ncommand = "sh test.sh"\n';
const TICKETS = { T1: 'Add a parser for dates', T2: 'Fix the crash of the clock', T3: 'Add a colour for names' };
const MISSING = 'the tests of it are missing';

/** What every agent does on a task. Whoever begins again finds what is done. */
function scripts(project, task) {
  const part = (n, after) => `{ test -e src/${task}-${n}.txt || { mkdir -p src; echo ${n} > src/${task}-${n}.txt; git add src; git commit -q -m "feat(${task}): part ${n}"; `
    + `${self} note milestone "T${n} done — commit $(git rev-parse HEAD)"; ${after}; }; }`;
  const next = project.shell(`while true; do ${[1, 2, 3].map((n) => part(n, 'break')).join(' && ')}; break; done`);
  const all = project.shell(`${[1, 2, 3].map((n) => part(n, 'true')).join('; ')}; git log --oneline | head -5`);
  const test = project.shell(`test -e src/${task}-test.txt || { echo test > src/${task}-test.txt; git add src; git commit -q -m "test(${task}): tests"; }`);
  const ticket = `${task}: ${TICKETS[task]}`;
  const problem = { severity: 'CRITICAL', category: 'coverage', file: `src/${task}-1.txt`, description: MISSING };
  return [
    { when: ['You are an architect', ticket], steps: [
      project.shell(`${self} decision ask "Design approval for ${task}: one file for each part" --type approval --wait --timeout 300s`),
      project.shell(`mkdir -p .comity/specs; echo "# Plan of ${task}" > .comity/specs/${task}.md; git add -f .comity/specs; git commit -q -m "docs(${task}): plan"; true`),
      block({ plan_path: `.comity/specs/${task}.md`, summary: 'one file for each part' }),
    ] },
    { when: ['You are a developer', ticket], steps: [
      next, next, next, all, { if: MISSING, then: test, else: project.shell('git status --short') },
      block({ status: 'DONE', summary: 'it is done' }),
    ] },
    // The model goes by what the shell prints, as a reviewer does.
    { when: ['You are a reviewer', ticket], steps: [
      project.shell(`git log --oneline | head -5; test -e src/${task}-test.txt && echo tests-$((40 + 2)); true`),
      { if: 'tests-42',
        then: block({ verdict: 'APPROVED', spec_compliance: 'PASS', issues: [], summary: 'good' }),
        else: block({ verdict: 'CHANGES_REQUESTED', spec_compliance: 'PASS', issues: [problem], summary: MISSING }) },
    ] },
  ];
}

/** Which runs lose their keepers, each once: one in each stage. */
const LOST = {
  plan: (run) => run.agent === 'architect' && run.state === 'waiting',
  develop: (run) => run.agent === 'developer' && run.task === 'T2',
  review: (run) => run.agent === 'reviewer' && run.task === 'T3',
  fix: (run, runs) => run.agent === 'developer' && run.task === 'T1'
    && runs.some((one) => one.task === 'T1' && one.agent === 'reviewer' && one.state === 'succeeded'),
};

async function story(kind, port, killed) {
  const began = Date.now();
  const project = new Project(kind, port, SETTINGS);
  fs.writeFileSync(`${project.root}/test.sh`, 'for file in src/*.txt; do test -s "$file" || exit 1; done\n');
  project.git('add', '-A');
  project.git('commit', '-q', '-m', 'A test');
  const ann = (...args) => project.by('human:ann', ...args);
  ann('trust');
  ann('task', 'create', TICKETS.T1, '--complexity', '5');
  ann('task', 'create', TICKETS.T2, '--priority', 'P0', '--file', 'src/T2-1.txt');
  ann('task', 'create', TICKETS.T3, '--file', 'src/T3-1.txt');
  const { model } = await project.model(Object.keys(TICKETS).flatMap((task) => scripts(project, task)));
  const supervise = () => project.goes('human:ann', 'supervise');
  let supervisor = supervise();
  let [stage, kills] = ['', 0];
  const left = new Map(killed ? Object.entries(LOST) : []);
  const told = () => {
    const rows = ann('runs').runs.map((run) => `${run.id} ${run.task} ${run.agent} ${run.state} ${run.reason} ${JSON.stringify(run.error)}`);
    return `${stage}\n${rows.join('\n')}\n${JSON.stringify(ann('decision', 'list').decisions)}`;
  };
  try {
    for (;;) {
      assert.ok(Date.now() - began < STORY_MS, `not merged: ${told()}`);
      await sleep(300);
      const tasks = ann('task', 'list', '--all').tasks;
      const now = tasks.map((task) => task.status).join(' ');
      if (tasks.every((task) => task.status === 'done')) break;
      if (killed && stage && stage !== now) {
        supervisor.child.kill('SIGKILL');
        await supervisor.ended;
        supervisor = supervise();
        kills += 1;
      }
      stage = now;
      const { runs } = ann('runs');
      for (const [name, is] of left) {
        const run = runs.find((one) => ['running', 'waiting'].includes(one.state) && is(one, runs));
        const keeper = run && (run.state === 'waiting' || project.said(run.id).includes('began')) && project.keeper(run.id);
        if (keeper) { process.kill(keeper, 'SIGKILL'); left.delete(name); }
      }
      for (const decision of ann('decision', 'list').decisions) {
        assert.ok(decision.question.startsWith('Design approval for T1'), JSON.stringify(decision));
        if (!left.has('plan')) ann('decision', 'answer', decision.id, 'approved');
      }
    }
    const { runs } = ann('runs');
    for (const task of Object.keys(TICKETS)) {
      for (const file of ['1', '2', '3', 'test']) project.git('cat-file', '-e', `main:src/${task}-${file}.txt`);
      const done = (agent) => runs.filter((run) => run.task === task && run.agent === agent && run.state === 'succeeded').length;
      assert.deepEqual([done('architect'), done('developer'), done('reviewer')], [task === 'T1' ? 1 : 0, 2, 2], told());
    }
    project.git('cat-file', '-e', 'main:.comity/specs/T1.md');
    // No two runs of one task and stage were ever live at once.
    for (const [place, one] of runs.entries()) {
      for (const other of runs.slice(place + 1)) {
        const same = one.task === other.task && one.stage === other.stage;
        assert.ok(!same || one.ended_at <= other.created_at || other.ended_at <= one.created_at, `${one.id} ${other.id}`);
      }
    }
    assert.equal(left.size, 0, 'every stage lost a keeper');
    assert.equal(ann('log', 'verify').ok, true);
    assert.deepEqual(ann('status').runs, {});
    assert.equal(ann('supervise', '--stop').supervisor.state, 'stopped');
    assert.equal(await supervisor.ended, 0);
    assert.deepEqual(ann('supervise', '--once'), { steps: [], idle: true });
    await sleep(1_000);
    const orphans = spawnSync('pgrep', ['-af', project.dir]).stdout.toString();
    assert.equal(orphans.split('\n').filter((line) => line && !line.includes('model.mjs')).join('\n'), '', 'no process is left');
    const how = killed ? `, the supervisor killed ${kills} times, a keeper in each of ${Object.keys(LOST).length} stages` : '';
    console.log(`${kind}: three tickets planned, built, sent back, mended and merged in ${runs.length} runs${how}; ${Date.now() - began} ms`);
  } finally {
    supervisor.child.kill('SIGKILL');
    model.kill();
  }
  fs.rmSync(project.dir, { recursive: true, force: true });
}

let port = 18970;
for (const way of ways) for (const kind of wanted) await story(kind, port++, way === 'killed');
process.exit(0);
