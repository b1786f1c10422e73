import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { folderBucket } from "@sluice/durable/node";
import { beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { bundle } from "../../worker-proxy/test/support/bundle.js";

/* A bucket in a folder. Its process is killed at each call of the disk. */

const PNG = { httpMetadata: { contentType: "image/png" } };
const NO_RANGE = { range: new Headers() };
const createStream = (bytes: number) => new Blob([new Uint8Array(bytes).fill(bytes % 251)]).stream();
let host = "";
let folder = "";

beforeAll(async () => {
  host = await bundle("durable/test/fixture/folder-bucket.ts");
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-folder-"));
  onTestFinished(() => rm(folder, { recursive: true }));
});

/** All files of the bucket, without the folders that they are in. */
async function listFiles(part: string): Promise<string[]> {
  const all = await readdir(join(folder, "files", part), { recursive: true, withFileTypes: true }).catch(
    () => [],
  );
  return all.filter((one) => !one.isDirectory()).map(({ name }) => name);
}

/** Runs a program with the bucket in a separate process. */
async function run(program: string) {
  await writeFile(join(folder, "host.mjs"), host);
  await writeFile(join(folder, "program.mjs"), program);
  return spawnSync(process.execPath, ["program.mjs"], { cwd: folder, encoding: "utf8" });
}

const START = `import { folderBucket } from "./host.mjs";
const PNG = { httpMetadata: { contentType: "image/png" } };
const createStream = (bytes) => new Blob([new Uint8Array(bytes).fill(bytes % 251)]).stream();
const bucket = folderBucket("files");`;

// each step starts a process, which takes long on a busy machine
test("a process killed at any step leaves only whole files, and unfinished ones that the sweep deletes (case 179)", async () => {
  const steps: number[] = [];
  for (let step = 1; ; step += 1) {
    const bucket = folderBucket(join(folder, "files"));
    for (const key of ["media/a", "media/c"]) await bucket.put(key, createStream(1000), PNG);
    const { signal, stderr } = await run(createKilledProgram(step));
    if (signal === null) {
      expect(stderr).toBe("");
      break;
    }
    steps.push(step);
    for (const [key, sizes] of Object.entries({
      "media/a": [1000, 200_000],
      "media/b": [undefined, 300_000],
      "media/c": [1000, undefined],
    })) {
      const found = await bucket.get(key, NO_RANGE);
      expect(sizes, `${key} after ${step} steps`).toContain(found?.size);
      const bytes = new Uint8Array(await new Response(found?.body ?? null).arrayBuffer());
      expect(bytes.byteLength).toBe(found?.size ?? 0);
    }
    await age(8);
    // a process that starts sweeps by its first write
    await folderBucket(join(folder, "files")).put("media/d", createStream(10), PNG);
    expect(await listFiles("unfinished"), `after ${step} steps`).toEqual([]);
    await bucket.delete(["media/a", "media/b", "media/c", "media/d"]);
    expect(await listFiles("files")).toEqual([]);
  }
  expect(steps.length).toBeGreaterThan(30);
});

/** Returns the code of a program that is killed at its n-th call of the disk. */
const createKilledProgram = (step: number) => `import { promises } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
let remaining = ${step};
const counted = (owner, name) => {
  const call = owner[name];
  owner[name] = function (...given) {
    remaining -= 1;
    if (remaining === 0) process.kill(process.pid, "SIGKILL");
    return call.apply(this, given);
  };
};
const handle = await promises.open("host.mjs");
counted(Object.getPrototypeOf(handle), "writeFile");
await handle.close();
remaining = ${step};
for (const name of ["open", "mkdir", "rename", "rm"]) counted(promises, name);
syncBuiltinESMExports();
${START.replace("import { folderBucket } from", "const { folderBucket } = await import(").replace('"./host.mjs";', '"./host.mjs");')}
await bucket.put("media/a", createStream(200_000), PNG);
const upload = await bucket.createMultipartUpload("media/b", PNG);
const parts = [await upload.uploadPart(1, createStream(100_000)), await upload.uploadPart(2, createStream(200_000))];
await upload.complete(parts);
await bucket.delete(["media/c"]);`;

/** Makes all that is being written some days older. */
async function age(days: number): Promise<void> {
  const at = Date.now() / 1000 - days * 86_400;
  const path = join(folder, "files/unfinished");
  for (const name of await readdir(path).catch(() => [])) await utimes(join(path, name), at, at);
}
