// Delivers every published example of a webhook payload, signed, and some that are not GitHub's. Prints how they were answered.
//
//   node examples.mjs URL SECRET
import { createHmac, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const [, , url, secret] = process.argv;
const file = join(process.env.PACKAGES, "node_modules/@octokit/webhooks-examples/api.github.com/index.json");
const all = JSON.parse(readFileSync(file, "utf8"));
const deliver = async (event, body, { sign = secret, id = randomUUID() } = {}) => {
  const signature = `sha256=${createHmac("sha256", sign).update(body).digest("hex")}`;
  const headers = { "content-type": "application/json", "x-github-event": event, "x-github-delivery": id, "x-hub-signature-256": signature };
  return (await fetch(url, { method: "POST", headers, body })).status;
};
const expect = (what, wanted, got) => {
  if (!wanted.includes(got)) throw new Error(`${what}: ${got}, not ${wanted.join(" or ")}`);
};

const counted = {};
let sent = 0;
for (const { name, examples } of all) {
  for (const example of examples) {
    const status = await deliver(name, JSON.stringify(example));
    expect(`${name} ${example.action ?? ""}`, [200, 202, 204], status);
    counted[status] = (counted[status] ?? 0) + 1;
    sent += 1;
  }
}
const ping = JSON.stringify(all.find(({ name }) => name === "ping").examples[0]);
expect("a wrong signature", [401], await deliver("ping", ping, { sign: "guessed" }));
expect("no JSON", [400], await deliver("issues", "{"));
expect("not an object", [400, 204], await deliver("issues", "[]"));
expect("too large", [413], await deliver("issues", JSON.stringify({ text: "x".repeat(6 << 20) })).catch(() => 413));
const unsigned = await fetch(url, { method: "POST", headers: { "x-github-event": "ping", "x-github-delivery": randomUUID() }, body: ping });
expect("no signature", [401], unsigned.status);
console.log(`${sent} payloads: ${JSON.stringify(counted)}`);
