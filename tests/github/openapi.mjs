// Holds calls against GitHub's own OpenAPI document: path, method, parameters and body. Prints what is wrong and fails.
//
//   node openapi.mjs CALLS.json [DOCUMENT]     CALLS.json: [{method, target, body}]; DOCUMENT: api.github.com, ghes-3.19, …
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const packages = join(process.env.PACKAGES, "node_modules");
const require = createRequire(join(packages, "x"));
const Ajv = require("ajv").default;
const formats = require("ajv-formats").default;
const [, , file, name = "api.github.com"] = process.argv;
const calls = JSON.parse(readFileSync(file, "utf8"));
const document = JSON.parse(readFileSync(join(packages, `@octokit/openapi/generated/${name}.json`), "utf8"));

/** Makes references absolute, and says what may be null in the words of JSON Schema. */
const absolute = (node) => {
  if (Array.isArray(node)) return node.map(absolute);
  if (!node || typeof node !== "object") return node;
  const { nullable, ...made } = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, absolute(value)]));
  if (typeof made.$ref === "string") made.$ref = made.$ref.replace(/^#/, "openapi#");
  return nullable === true ? { anyOf: [made, { type: "null" }] } : made;
};
const components = absolute(document.components);
const validator = (options) => {
  const ajv = new Ajv({ strict: false, allErrors: true, ...options });
  formats(ajv);
  return ajv.addSchema({ $id: "openapi", components });
};
// Parameters are text and become what the schema says; bodies have to be it already.
const [ofText, ofJson] = [validator({ coerceTypes: "array" }), validator({})];
const resolved = (node) =>
  node.$ref ? node.$ref.slice(2).split("/").reduce((at, key) => at[key], document) : node;

// The longest literal wins; refs, branches and paths of files may have slashes.
const wide = new Set(["ref", "path", "basehead", "branch", "base", "head"]);
const paths = Object.keys(document.paths)
  .map((template) => {
    const pattern = template
      .split(/(\{\w+\})/)
      .map((piece) => {
        const name = /^\{(\w+)\}$/.exec(piece)?.[1];
        return name ? `(?<${name}>${wide.has(name) ? ".+?" : "[^/]+"})` : piece.replace(/[.*+?^$()|[\]\\]/g, "\\$&");
      })
      .join("");
    return { template, match: new RegExp(`^${pattern}$`), literal: template.replace(/\{\w+\}/g, "").length };
  })
  .sort((a, b) => b.literal - a.literal);

const compiled = new Map();
const check = (ajv, key, schema, value, say) => {
  if (!compiled.has(key)) compiled.set(key, ajv.compile(absolute(schema)));
  const validate = compiled.get(key);
  if (!validate(value)) for (const error of validate.errors) say(`${error.instancePath || "/"} ${error.message}`);
};

const wrong = new Map();
let known = 0;
for (const { method, target, body } of calls) {
  const url = new URL(target, "http://x");
  const verb = method.toLowerCase();
  const found = paths.find(({ template, match }) => match.test(url.pathname) && document.paths[template][verb]);
  const say = (what) => wrong.set(`${method} ${found?.template ?? url.pathname}: ${what}`, target);
  if (!found) {
    say("GitHub has no such call");
    continue;
  }
  known += 1;
  const operation = document.paths[found.template][verb];
  const parameters = [...(document.paths[found.template].parameters ?? []), ...(operation.parameters ?? [])].map(resolved);
  const given = found.match.exec(url.pathname).groups ?? {};
  for (const one of parameters) {
    const value = one.in === "path" ? decodeURIComponent(given[one.name] ?? "") : url.searchParams.get(one.name);
    if (!["path", "query"].includes(one.in)) continue;
    if (value === null) {
      if (one.required) say(`the parameter ${one.name} is missing`);
      continue;
    }
    // A text that may also stand for a list of one is both.
    const { oneOf, ...schema } = one.schema;
    if (oneOf) schema.anyOf = oneOf;
    check(ofText, `${verb} ${found.template} ${one.in} ${one.name}`, { type: "object", properties: { value: schema } }, { value }, (what) =>
      say(`the parameter ${one.name}: ${what}`),
    );
  }
  for (const name of url.searchParams.keys()) {
    if (!parameters.some((one) => one.in === "query" && one.name === name)) say(`the parameter ${name} is unknown`);
  }
  const schema = operation.requestBody && resolved(operation.requestBody).content?.["application/json"]?.schema;
  if (body === null || body === undefined) {
    if (operation.requestBody?.required) say("the body is missing");
  } else if (!schema) {
    say("a body where GitHub wants none");
  } else {
    check(ofJson, `${verb} ${found.template} body`, schema, body, (what) => say(`the body at ${what}`));
    const names = resolved(schema).properties;
    if (names && !Array.isArray(body)) for (const name of Object.keys(body)) if (!(name in names)) say(`the body has ${name}, which GitHub does not know`);
  }
}
for (const [what, target] of wrong) console.log(`${what}\n    ${target}`);
console.log(`${known} of ${calls.length} calls are GitHub's own, ${wrong.size} things are wrong`);
process.exit(wrong.size ? 1 : 0);
