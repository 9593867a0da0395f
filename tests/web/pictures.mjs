// Pictures of the dashboard for the documents: `comity demo --scene ledger`, played at 14:32 of one day (faketime), every page
// in both themes and at phone width. scripts/pictures calls it.
//
//   node pictures.mjs DIR [NAME…]     a name is PAGE-light, PAGE-dark or PAGE-phone; none is all of them
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { COMITY, sleep, World } from "./harness.mjs";

const MOMENT = "@2026-11-17 14:32:00";
const PERSON = "human:you";
const PAGES = {
  inbox: "/inbox",
  board: "/board",
  task: "/task/T112",
  tree: "/tree?path=crates/ledger/src/posting.rs",
  agents: "/agents",
  timeline: "/timeline?range=4h",
  flow: "/flow",
};
const LOOKS = {
  light: { colorScheme: "light", width: 1440, height: 900 },
  dark: { colorScheme: "dark", width: 1440, height: 900 },
  phone: { colorScheme: "light", width: 390, height: 844 },
};
const [out = "pictures", ...wanted] = process.argv.slice(2);

/** The fonts of the drawings, where they are installed; else what the system has. */
function fonts(home) {
  const alias = (from, to) => `<alias binding="strong"><family>${from}</family><prefer><family>${to}</family></prefer></alias>`;
  const sans = ["system-ui", "sans-serif"].map((name) => alias(name, "Inter"));
  const mono = ["ui-monospace", "monospace"].map((name) => alias(name, "JetBrains Mono"));
  const file = join(home, "fonts.conf");
  const include = '<include ignore_missing="yes">/etc/fonts/fonts.conf</include>';
  writeFileSync(file, `<?xml version="1.0"?><fontconfig>${include}${[...sans, ...mono].join("")}</fontconfig>`);
  process.env.FONTCONFIG_FILE = file;
}

const preload = spawnSync("faketime", ["now", "printenv", "LD_PRELOAD"], { encoding: "utf8" }).stdout.trim();
const home = mkdtempSync(join(tmpdir(), "comity-home-"));
const place = join(home, "scene");
fonts(home);
const more = { LD_PRELOAD: preload, FAKETIME: MOMENT, FAKETIME_DONT_FAKE_MONOTONIC: "1" };
const played = spawnSync(COMITY, ["demo", "--scene", "ledger", "--dir", place, "--json"], {
  env: { PATH: process.env.PATH, HOME: home, TZ: "UTC", ...more },
  encoding: "utf8",
});
if (played.status !== 0) throw new Error(played.stderr);
const world = await World.of({ dir: JSON.parse(played.stdout).demo.dir, home, who: PERSON, more });
await world.serve();
mkdirSync(out, { recursive: true });
const page = await world.person({ who: PERSON });
for (const [look, { width, height, colorScheme }] of Object.entries(LOOKS)) {
  for (const [name, path] of Object.entries(PAGES)) {
    if (wanted.length && !wanted.includes(`${name}-${look}`)) continue;
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height });
    await world.open(page, path);
    await sleep(1200);
    await page.screenshot({ path: join(out, `${name}-${look}.png`) });
  }
}
await world.stop();
rmSync(place, { recursive: true, force: true });
