// A person with octokit, which nobody here wrote: does one thing on GitHub and prints what GitHub says, as JSON.
//
//   node person.mjs LOGIN OWNER/NAME VERB …
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { Octokit } = await import(pathToFileURL(join(process.env.PACKAGES, "node_modules/@octokit/rest/dist-src/index.js")));
const [, , login, repository, verb, ...rest] = process.argv;
const [owner, repo] = repository.split("/");
const octokit = new Octokit({ baseUrl: process.env.GITHUB_URL, auth: `gho_${login}`, log: { debug() {}, info() {}, warn() {}, error() {} } });
const { issues, pulls } = octokit.rest;
const [first, second, ...more] = rest;
const at = { owner, repo, issue_number: Number(first) };
const pull = { owner, repo, pull_number: Number(first) };

const verbs = {
  open: async () => (await issues.create({ owner, repo, title: first, body: second, labels: more })).data,
  label: async () => (await issues.addLabels({ ...at, labels: [second, ...more] })).data,
  unlabel: async () => (await issues.removeLabel({ ...at, name: second })).data,
  say: async () => (await issues.createComment({ ...at, body: second })).data,
  edit: async () => (await issues.update({ ...at, body: second })).data,
  close: async () => (await issues.update({ ...at, state: "closed", state_reason: second })).data,
  review: async () => (await pulls.createReview({ ...pull, event: second, body: more[0] })).data,
  merge: async () => (await pulls.merge({ ...pull, merge_method: "merge" })).data,
  read: async () => ({
    issue: (await issues.get(at)).data,
    comments: await octokit.paginate(issues.listComments, { ...at, per_page: 100 }),
    events: await octokit.paginate(issues.listEvents, { ...at, per_page: 100 }),
  }),
};
console.log(JSON.stringify(await verbs[verb]()));
