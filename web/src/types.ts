// The shapes that the server sends. They are described in docs/reference/openapi.json; what is not shown is not listed.

export type Status =
  | "queued"
  | "claimed"
  | "in_progress"
  | "review"
  | "changes_requested"
  | "approved"
  | "merging"
  | "done"
  | "blocked"
  | "failed"
  | "abandoned";
export type ColumnName = "queued" | "working" | "review" | "approved" | "blocked" | "done" | "abandoned";
export type Mark = "verified" | "observed" | "claimed" | "failed" | "open" | "waived";

export interface At {
  seq: number;
  ts: string;
}
export interface Life {
  last_seen: string | null;
  ttl_seconds: number;
  expires_at: string;
  silent: boolean;
}
export interface GateMark {
  name: string;
  mark: Mark;
}
export interface Column {
  name: ColumnName;
  title: string;
  count: number;
}

export interface Card {
  id: string;
  number: number;
  version: number;
  title: string;
  status: Status;
  column: ColumnName;
  rank: number;
  priority: string;
  labels: string[];
  role: string | null;
  files: string[];
  parent: string | null;
  epic: string | null;
  initiative: string | null;
  round: number;
  agent: string | null;
  life: Life | null;
  reviewer: string | null;
  since: string;
  gates: GateMark[];
  ready: boolean;
  stuck: boolean;
  line: { kind: string; words: string } | null;
  strip: { kind: string; words: string; id: string } | null;
}
export interface Board {
  seq: number;
  at: At | null;
  repo: string;
  me: string | null;
  now: string;
  tasks: number;
  ready: number;
  more: boolean;
  columns: Column[];
  cards: Card[];
  last_event: At | null;
}

export interface Action {
  label: string;
  operation: string;
  method: string;
  path: string;
  body: Record<string, unknown>;
  wants: string[];
  note: string | null;
}
export interface Option {
  key: string;
  label: string | null;
  description: string | null;
}
export interface Decision {
  id: string;
  question: string;
  context: string | null;
  type: string;
  options: Option[];
  default: string | null;
  to: string | null;
  task: string | null;
  asked_by: string;
  created_at: string;
  expires_at: string | null;
  answer: string | null;
  text: string | null;
  answered_by: string | null;
  answered_at: string | null;
  state: string;
}
export interface Item {
  key: string;
  kind: string;
  word: string;
  id: string;
  task: string | null;
  title: string;
  about: string | null;
  reason: string | null;
  since: string;
  deadline: string | null;
  left: number | null;
  agent: string | null;
  decision: Decision | null;
  gates: GateMark[];
  path: string | null;
  /** More than half of its time is gone. */
  urgent: boolean;
  actions: Action[];
  /** The repository, where the list is about several. */
  repo?: string;
}
export interface Aside {
  agents: Counts;
  at_work: { agent: string; task: string; title: string; doing: string; note: string | null; repo?: string }[];
  wanted: {
    path: string;
    held_by: string | null;
    task: string | null;
    wanted_by: string[];
    refused_24h: number;
    repo?: string;
  }[];
  merging: { task: string; agent: string | null; since: string; repo?: string }[];
  done_24h: { tasks: number; verified: number; partly: number; waived: number };
  log: { events: number; head: string | null; verified_at: string | null; ok: boolean | null };
  last_event: At | null;
}
export interface Counts {
  total: number;
  at_work: number;
  waiting: number;
  silent: number;
  idle: number;
}
export interface Inbox {
  seq: number;
  at: At | null;
  now: string;
  me: string | null;
  count: number;
  more: number;
  items: Item[];
  aside: Aside;
}

export interface Bar {
  kind: string;
  task: string | null;
  decision: string | null;
  from: string;
  to: string | null;
  seq: number;
  end: string | null;
}
export interface LaneLease {
  lock_id: string;
  path: string;
  task: string | null;
  from: string;
  to: string | null;
  seq: number;
  refused: number;
}
export interface LaneMark {
  kind: string;
  ts: string;
  seq: number;
  task: string | null;
  decision: string | null;
  path: string | null;
  words: string;
}
export interface Lane {
  agent: string;
  person: boolean;
  bars: Bar[];
  leases: LaneLease[];
  marks: LaneMark[];
}
export interface Timeline {
  seq: number;
  at: At | null;
  now: string;
  from: string;
  to: string;
  log: { from: string | null; to: string | null };
  lanes: Lane[];
  folded: string[];
  density: { from: string; bucket_seconds: number; counts: number[] };
}

export interface Percentiles {
  day: string;
  p50: number | null;
  p85: number | null;
  tasks: string[];
}
export interface Wip {
  day: string;
  working: number;
  review: number;
  approved: number;
  blocked: number;
  tasks: string[];
}
export interface Flow {
  seq: number;
  at: At | null;
  from: string;
  to: string;
  days: number;
  done: number;
  headline: string | null;
  lead: Percentiles[];
  cycle: Percentiles[];
  wip: Wip[];
  blocked: { reason: string; hours: number; tasks: string[] }[];
  blocked_hours: number;
  refused: { path: string; count: number; tasks: string[]; seqs: number[] }[];
  refused_total: number;
  rounds: { rounds: string; count: number; tasks: string[] }[];
  first_pass: number | null;
}

export interface Holding {
  lock_id: string;
  agent: string;
  task: string | null;
  since: string;
  until: string;
  life: Life | null;
}
export interface TreeEntry {
  path: string;
  mode: string;
  refused_24h: number;
  wanted_by: string[];
  write_seen: boolean;
  held: Holding[];
}
export interface TreeFile {
  name: string;
  path: string;
  kind: "dir" | "file";
  files: number;
}
export interface Tree {
  seq: number;
  at: At | null;
  now: string;
  leases: number;
  holders: number;
  contended: number;
  entries: TreeEntry[];
  under: string | null;
  files: TreeFile[];
  /** Files that nobody holds, below each directory on the way to a held path; "" is the whole tree. */
  free: Record<string, number>;
}

export interface Crew {
  seq: number;
  at: At | null;
  now: string;
  counts: Counts;
  agents: CrewAgent[];
}
export interface CrewAgent {
  id: string;
  person: boolean;
  roles: string[];
  skills: string[];
  group: string;
  doing: string;
  words: string | null;
  task: string | null;
  title: string | null;
  decision: string | null;
  last_seen: string | null;
  life: Life | null;
  tasks: string[];
  leases: number;
  lock_ids: string[];
  done_7d: number;
  failed_7d: number;
  hours: number[];
  now_doing: string | null;
}

export interface Verb {
  verb: string;
  allowed: boolean;
  code: string | null;
  why: string | null;
  wants: string[];
  operation: string;
  label: string;
  to: ColumnName | null;
}
export interface Line {
  seq: number;
  ts: string;
  who: string;
  what: string;
  reason: string | null;
  task: string | null;
  event: string;
  mark: string;
}
export interface Evidence {
  gate: string;
  passed: boolean;
  tier: string;
  commit: string | null;
  round: number | null;
  by: string;
  at: string;
  seq: number;
  tail: string | null;
  report: string | null;
}
export interface Task {
  id: string;
  version: number;
  title: string;
  description: string | null;
  deliverable: string;
  status: Status;
  priority: string;
  labels: string[];
  role: string | null;
  assignee: string | null;
  reviewer: string | null;
  dependencies: string[];
  files: string[];
  branch: string | null;
  commit: string | null;
  pr: string | null;
  merged_sha: string | null;
  round: number;
  requirements: string[];
  dod: { text: string; state: string; by: string | null; at: string | null }[];
  gates: {
    name: string;
    required: boolean;
    state: string;
    tier: string | null;
    commit: string | null;
    by: string | null;
    at: string | null;
    reason?: string | null;
  }[];
  constraints: { max_files: number | null; no_git_commit: boolean; no_new_deps: boolean; allow_delete: string[] };
  attempts: number;
  max_attempts: number;
  needs: string | null;
  feedback: { by: string; text: string; round: number; at: string } | null;
  epic: string | null;
  initiative: string | null;
  parent: string | null;
  created_at: string;
  updated_at: string;
}
export interface Lease {
  lock_id: string;
  path: string;
  mode: string;
  owner: string;
  purpose: string | null;
  expires_at: string;
  acquired_at: string;
  task?: string | null;
}
export interface Memory {
  id: string;
  type: string;
  scope: string | null;
  text: string;
  tags: string[];
  source: { agent: string | null; task: string | null } | null;
  created_at: string;
  expires_at: string | null;
}
export interface Directive {
  id: string;
  text: string;
  trigger: string | null;
  priority: number;
  enabled: boolean;
  description: string | null;
  created_at: string;
  expires_at: string | null;
}
export interface Span {
  status: Status;
  column: ColumnName;
  from: string;
  to: string | null;
  agent: string | null;
  round: number | null;
}
export interface GraphNode {
  id: string;
  title: string;
  status: Status;
  column: ColumnName;
  step: number;
}
export interface Panel {
  seq: number;
  at: At | null;
  now: string;
  task: Task;
  card: Card;
  why: { summary: string; reasons: string[]; next: string | null };
  verbs: Verb[];
  evidence: Evidence[];
  graph: { nodes: GraphNode[]; edges: { from: string; to: string }[] };
  spans: Span[];
  history: Line[];
  folded: number;
  more: boolean;
  leases: Lease[];
  ended_leases: { path: string; lock_id: string; ended_at: string; how: string }[];
  decisions: Decision[];
  memories: Memory[];
  children: string[];
  runs: Run[];
}
export interface DiffFile {
  path: string;
  old_path: string | null;
  status: string;
  added: number;
  removed: number;
  binary: boolean;
  patch: string;
}
export interface Diff {
  base: string;
  commit: string;
  added: number;
  removed: number;
  bytes: number;
  cut: boolean;
  files: DiffFile[];
}
export interface Why {
  of: string;
  kind: string;
  summary: string;
  lines: Line[];
  commits: { commit: string; subject: string; task: string | null; ts: string }[];
  more: boolean;
}
export interface LogEvent {
  seq: number;
  ts: string;
  event: string;
  agent: string;
  task: string | null;
  [field: string]: unknown;
}

export interface CardsMessage {
  seq: number;
  cards: Card[];
  gone: string[];
  columns: Column[];
  tasks: number;
  ready: number;
  inbox: number;
  changed: string[];
}
export interface PresenceMessage {
  now: string;
  agents: { id: string; last_seen: string }[];
  lives: { task: string; life: Life | null }[];
}
export interface Session {
  csrf: string | null;
  me: string | null;
  expires_at: string | null;
  /** The repositories of the projects that are served. */
  repos: string[];
  /** The agent clients that were found, and whether comity is registered with them. */
  clients: { name: string; registered: boolean }[];
}

export interface Run {
  id: string | null;
  number: number | null;
  task: string | null;
  agent: string;
  identity: string | null;
  driver: string;
  model: string | null;
  stage: string;
  state: string;
  reason: string | null;
  error: { type: string; message: string } | null;
  attempt: number;
  turns: number;
  tokens: { input: number; output: number };
  cost_usd: number | null;
  reserved_usd: number;
  waiting_on: string | null;
  not_before: string | null;
  created_at: string | null;
  started_at: string | null;
  ended_at: string | null;
}
export interface Runs {
  runs: Run[];
}
export interface RunLogs {
  lines: { at: string; kind: string; text: string }[];
  next: number;
  more: boolean;
  live: boolean;
}
export interface Budget {
  scope: string;
  per: string;
  usd: number | null;
  runs: number | null;
  spent: { usd: number; runs: number };
  reserved: { usd: number };
  state: string;
}
export interface Budgets {
  budgets: Budget[];
}
export interface Sum {
  usd: number;
  runs: number;
  by: Record<string, { usd: number; runs: number }>;
}
export interface MergeQueue {
  queue: { task: string; state: string; approved_at: string; target: string | null }[];
  target: string | null;
}
export interface CostAnswer {
  cost: { today: Sum; all: Sum; reserved_usd: number; unpriced_runs: number };
}
export interface BriefAnswer {
  brief: {
    pad: { scope: string; version: number; head: string } | null;
    interfaces: { name: string; version: number; paths: string[] }[];
    changes: { seq: number; ts: string; by: string; text: string }[];
    neighbours: { agent: string; task: string | null; title: string | null }[];
    messages: { from: string; text: string; ts: string; seq: number }[];
    more: { count: number } | null;
  };
}
export interface PadAnswer {
  pad: { scope: string; version: number; text: string; by: string | null; ts: string | null; wants_tidying: boolean };
}
export interface Interface {
  name: string;
  version: number;
  text: string;
  paths: string[];
  for: string[];
  by: string;
  task: string | null;
  ts: string;
}
export interface Token {
  id: string;
  agent: string;
  task: string | null;
  verbs: string[];
  created_by: string;
  created_at: string;
  expires_at: string;
}
