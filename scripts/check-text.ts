import { startVitest } from "vitest/node";
import { colorYellow } from "./chromium.ts";
import { readOptions } from "./options.ts";

/*
 * Checks that the documentation matches the code: wording, counts, names and quoted source (tests/text), and prints one line. Only a broken
 * link, or a file that can't be loaded, fails.
 *
 *   --list   prints each mismatch
 */

const { values } = readOptions({ options: { list: { type: "boolean", default: false } } });
const vitest = await startVitest("test", [], {
  config: "tests/text/vitest.config.ts",
  watch: false,
  // suppress its output
  reporters: [{}],
});
let passed = 0;
const hints: string[] = [];
const broken: string[] = vitest.state.getUnhandledErrors().map(String);
for (const module of vitest.state.getTestModules()) {
  const name = module.relativeModuleId.replace(/^.*\/|\.check\.ts$/g, "");
  for (const error of module.errors()) broken.push(`${name}: ${error.message}`);
  for (const check of module.children.allTests()) {
    const { state, errors } = check.result();
    if (state === "passed") passed += 1;
    if (state !== "failed") continue;
    const list = check.tags.includes("link") ? broken : hints;
    list.push(`${name}: ${check.fullName}\n${indent(errors?.map(readOutput).join("\n") ?? "")}`);
  }
}
await vitest.close();
if (passed === 0) broken.push("no check ran");

for (const line of values.list ? [...broken, ...hints] : broken) console.log(line);
const count = hints.length + broken.length;
const line = `text: ${passed.toLocaleString("en")} hold${count > 0 ? `, ${count} do not` : ""}`;
// scripts/test.ts shows lines with this sign
console.log(count > 0 ? colorYellow(`⚠ ${line}${values.list ? "" : ": pnpm check text --list"}`) : line);
process.exit(broken.length > 0 ? 1 : 0);

function readOutput({
  message,
  diff,
}: {
  readonly message: string;
  readonly diff?: string | undefined;
}): string {
  return diff ? `${message}\n${diff}` : message;
}

function indent(text: string): string {
  return text.replace(/^/gm, "    ");
}
