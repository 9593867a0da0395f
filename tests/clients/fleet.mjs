// Runs of real Claude Code and real Codex, without a network: a plan behind a design gate, three commits with milestones, a
// review; then an agent that is killed in the middle, and the run that goes on from there.
//
//   node fleet.mjs COMITY DIRECTORY-WITH-node_modules [claude,codex]
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { Project, block, self, sleep } from './project.mjs';

const wanted = (process.argv[4] ?? 'claude,codex').split(',');

async function story(kind, port) {
  const began = Date.now();
  const project = new Project(kind, port);
  project.by('human:ann', 'task', 'create', 'Parse dates', '--file', 'src/**');
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
    process.kill(project.keeper(id), 'SIGKILL');
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
