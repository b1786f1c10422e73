import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";

const root = new URL("..", import.meta.url).pathname;
const biome = join(root, "node_modules/.bin/biome");
const copy = mkdtempSync(join(tmpdir(), "sluice-layers-"));
cpSync(join(root, "biome.json"), join(copy, "biome.json"));
afterAll(() => rmSync(copy, { recursive: true, force: true }));

/** What the linter, with the project's own rules, says of a file of the core that imports `specifier`. */
function lint(file: string, specifier: string): string {
  const path = join(copy, "packages/core/src", file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `import { it } from "${specifier}";\n\nexport const used = it;\n`);
  const { stdout, stderr } = spawnSync(biome, ["lint", "--vcs-enabled=false", path], {
    cwd: copy,
    encoding: "utf8",
  });
  return stdout + stderr;
}

test.each([
  ["errors.ts", "./http.js", "Layer 0"],
  ["store.ts", "valibot", "Layer 0 has no dependency"],
  ["storage/memory.ts", "../chat/store.js", "Layer 0"],
  ["storage/web.ts", "idb", "Only storage/indexed-db.ts imports idb"],
  ["chat/storage.ts", "idb", "Only storage/indexed-db.ts imports idb"],
  ["chat/stream.ts", "./run.js", "imports point down"],
  ["chat/stream.ts", "./prompt.js", "imports point down"],
  ["chat/history.ts", "./state.js", "imports point down"],
  ["chat/schema.ts", "../http.js", "Layer 1"],
  ["validate.ts", "./client.js", "Layer 1"],
  ["sse.ts", "./chat/stream.js", "Layer 2"],
  ["body.ts", "valibot", "Layer 2"],
  ["body.ts", "ky", "Only repeat.ts imports ky"],
  ["client.ts", "ky", "Only repeat.ts imports ky"],
  ["http.ts", "ky", "Only repeat.ts imports ky"],
  ["chat/stream.ts", "./store.js", "imports point down"],
  ["chat/stream.ts", "../index.js", "imports point down"],
  ["chat/stream.ts", "valibot", "schema.ts"],
  ["chat/store.ts", "../index.js", "The index is the top"],
  ["chat/complete.ts", "../videos/tasks.js", "No resource imports another"],
  ["task.ts", "./http.js", "Layer 0"],
  ["videos/schema/beta.ts", "../../http.js", "Layer 1"],
  ["videos/schema/beta.ts", "../tasks.js", "Layer 1"],
  ["images/schema.ts", "../json.js", "Layer 1"],
  ["poll.ts", "./videos/tasks.js", "Layer 2"],
  ["watch.ts", "./videos/tasks.js", "Layer 2"],
  ["task-store.ts", "./videos/tasks.js", "Layer 2"],
  ["overhear.ts", "./client.js", "Layer 2"],
  ["http.ts", "./assets/assets.js", "Layer 2"],
  ["images/generate.ts", "../chat/complete.js", "No resource imports another"],
  ["videos/tasks.ts", "../assets/assets.js", "No resource imports another"],
  ["videos/tasks.ts", "./store.js", "imports point down"],
  ["videos/tasks.ts", "./list.js", "imports point down"],
  ["videos/ledger.ts", "./options.js", "imports point down"],
  ["videos/store.ts", "../chat/store.js", "No resource imports another"],
  ["videos/check.ts", "../assets/assets.js", "No resource imports another"],
  ["images/store.ts", "../chat/store.js", "No resource imports another"],
  ["assets/create.ts", "valibot", "schema.ts"],
  ["assets/create.ts", "./run.js", "imports point down"],
  ["assets/store.ts", "../index.js", "The index is the top"],
  ["assets/watches.ts", "../videos/ledger.js", "No resource imports another"],
  ["epsilon/epsilon.ts", "../videos/tasks.js", "No resource imports another"],
  ["epsilon/epsilon.ts", "ky", "Only repeat.ts imports ky"],
])("%s may not import %s: %s", (file, specifier, reason) => {
  const said = lint(file, specifier);
  expect(said).toContain("noRestrictedImports");
  expect(said).toContain(reason);
});

test.each([
  ["repeat.ts", "ky"],
  ["http.ts", "./errors.js"],
  ["chat/schema.ts", "valibot"],
  ["chat/schema.ts", "../models.js"],
  ["chat/stream.ts", "../http.js"],
  ["chat/store.ts", "./stream.js"],
  ["errors.ts", "./task.js"],
  ["storage/memory.ts", "../isolate.js"],
  ["videos/schema/request.ts", "./beta.js"],
  ["videos/schema/beta.ts", "../../address.js"],
  ["videos/tasks.ts", "../poll.js"],
  ["videos/store.ts", "./tasks.js"],
  ["videos/list.ts", "./ledgers.js"],
  ["assets/store.ts", "./state.js"],
  ["assets/watches.ts", "./options.js"],
  ["assets/create.ts", "./schema.js"],
])("%s may import %s", (file, specifier) => {
  expect(lint(file, specifier)).not.toContain("noRestrictedImports");
});
