// Starts npm's `emulate` from a directory of packages, and ends it when whoever started it is gone.
//
//   node emulate.mjs PACKAGES start …
import { join } from "node:path";
import { pathToFileURL } from "node:url";

process.stdin.on("end", () => process.exit()).on("error", () => process.exit());
process.stdin.resume();
const program = join(process.argv.splice(2, 1)[0], "node_modules/emulate/dist/index.js");
process.argv[1] = program;
await import(pathToFileURL(program));
