import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { folderBucket } from "@sluice/durable/node";
import { beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { bundle } from "../../worker-proxy/test/support/bundle.js";

/* A bucket in a folder: its disk, its process, and other writers in its folder. */

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
async function run(program: string, limit = "") {
  await writeFile(join(folder, "host.mjs"), host);
  await writeFile(join(folder, "program.mjs"), program);
  return spawnSync("sh", ["-c", `${limit} exec "${process.execPath}" program.mjs`], {
    cwd: folder,
    encoding: "utf8",
  });
}

const START = `import { folderBucket } from "./host.mjs";
const PNG = { httpMetadata: { contentType: "image/png" } };
const createStream = (bytes) => new Blob([new Uint8Array(bytes).fill(bytes % 251)]).stream();
const bucket = folderBucket("files");`;

test("no file name leads out of the folder (case 178)", async () => {
  const bucket = folderBucket(join(folder, "files"));
  const outside = join(folder, "outside");
  await writeFile(outside, "secret");
  const names = [
    "../outside",
    "a/../../../outside",
    "/etc/passwd",
    "a\0b",
    "..",
    "",
    "a//b",
    "a\\..\\b",
    "\ud800",
  ];
  for (const name of [...names, "n".repeat(1025)]) {
    await expect(bucket.put(name, createStream(10), PNG)).rejects.toThrow(TypeError);
    await expect(bucket.get(name, NO_RANGE)).rejects.toThrow(TypeError);
    await expect(bucket.delete([name])).rejects.toThrow(TypeError);
  }
  await bucket.put("n".repeat(1024), createStream(10), PNG);
  expect((await bucket.head("n".repeat(1024)))?.size).toBe(10);
  // the id of an upload is not a path, either
  const upload = bucket.resumeMultipartUpload("media/a", "../../outside");
  await expect(upload.uploadPart(1, createStream(10))).rejects.toThrow("10024");
  await upload.abort();
  expect((await stat(outside)).size).toBe(6);
});

test("does not follow a symbolic link instead of a file or a folder (case 178)", async () => {
  const bucket = folderBucket(join(folder, "files"));
  await bucket.put("media/a", createStream(10), PNG);
  const [name = ""] = await listFiles("files");
  const path = join(folder, "files/files", name.slice(0, 2));
  await writeFile(join(folder, "outside"), "secret ".repeat(1000));
  await rm(join(path, name));
  await symlink(join(folder, "outside"), join(path, name));
  await expect(bucket.get("media/a", NO_RANGE)).rejects.toThrow("ELOOP");
  // a write replaces the link by a file, and does not change the target of the link
  await bucket.put("media/a", createStream(20), PNG);
  expect((await bucket.head("media/a"))?.size).toBe(20);
  expect((await stat(join(folder, "outside"))).size).toBe(7000);

  await mkdir(join(folder, "elsewhere"));
  await rm(path, { recursive: true });
  await symlink(join(folder, "elsewhere"), path);
  await expect(bucket.put("media/a", createStream(10), PNG)).rejects.toThrow("a link in a bucket");
  await expect(bucket.head("media/a")).rejects.toThrow("a link in a bucket");
  expect(await readdir(join(folder, "elsewhere"))).toEqual([]);
  // the bucket's folder itself may be a link
  await symlink(join(folder, "elsewhere"), join(folder, "linked"));
  const linked = folderBucket(join(folder, "linked"));
  await linked.put("media/a", createStream(10), PNG);
  expect((await linked.head("media/a"))?.size).toBe(10);
});

test("only the user of the process can read a file (case 178)", {
  skip: process.platform === "win32",
}, async () => {
  await folderBucket(join(folder, "files")).put("media/a", createStream(10), PNG);
  const [name = ""] = await listFiles("files");
  const paths = ["", name.slice(0, 2), join(name.slice(0, 2), name)].map((path) =>
    join(folder, "files/files", path),
  );
  for (const path of paths) expect((await stat(path)).mode & 0o077).toBe(0);
});

// a limit of the file size makes a write fail in its middle, like a full disk
test("a full disk ends a write with an error, and leaves nothing of the file (case 179)", {
  skip: process.platform === "win32",
}, async () => {
  const { stdout, stderr } = await run(
    `${START}
const tried = (work) => work.then(() => "stored", ({ code }) => code);
await bucket.put("media/a", createStream(1000), PNG);
const said = [await tried(bucket.put("media/a", createStream(5_000_000), PNG))];
const upload = await bucket.createMultipartUpload("media/b", PNG);
said.push(await tried(upload.uploadPart(1, createStream(5_000_000))));
const parts = [];
for (let number = 1; number <= 10; number += 1) parts.push(await upload.uploadPart(number, createStream(400_000)));
said.push(await tried(upload.complete(parts)));
console.log(JSON.stringify({ said, a: (await bucket.head("media/a")).size, b: await bucket.head("media/b") }));
await upload.abort();`,
    "ulimit -f 2000;",
  );
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toEqual({ said: ["EFBIG", "EFBIG", "EFBIG"], a: 1000, b: null });
  expect([(await listFiles("files")).length, await listFiles("unfinished")]).toEqual([1, []]);
});

test("a full disk refuses an upload with 503, leaves no file and no used space, and heals", {
  skip: process.platform === "win32",
}, async () => {
  const program = `import { createProxy, fileStore, folderBucket, nodeHost } from "./host.mjs";
const store = fileStore({ bucket: () => bucket, secret: () => "s".repeat(32), maxBytesPerUser: 6_000_000 });
const bucket = folderBucket("files");
const host = nodeHost({ file: ":memory:" });
const options = { baseURL: "https://gateway.example", apiKey: () => "k", origins: [], models: ["m"] };
const proxy = createProxy({ ...options, authenticate: () => ({ id: "ada" }), host, plugins: [store] });
const ask = async (init) => {
  const response = await proxy.fetch(new Request("https://app.example/v1/uploads", init), {});
  const body = await response.json();
  return body.files?.length ?? [response.status, body.error?.code];
};
const upload = (bytes) => {
  const body = new Uint8Array(bytes);
  body.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const headers = { "content-type": "application/octet-stream", "content-length": String(bytes) };
  return ask({ method: "POST", headers, body });
};
// twice: a leak of reserved space would refuse the second upload with 413
console.log(JSON.stringify([await upload(5_000_000), await upload(5_000_000), await upload(1000), await ask()]));
await host.close();`;
  const full = await run(program, "ulimit -f 2000;");
  const unavailable = [503, "media_unavailable"];
  expect(JSON.parse(full.stdout)).toEqual([unavailable, unavailable, [201, null], 1]);
  expect(full.stderr).toContain("EFBIG");
  expect([(await listFiles("files")).length, await listFiles("unfinished")]).toEqual([1, []]);
  const healed = await run(program);
  expect(JSON.parse(healed.stdout)[0]).toEqual([201, null]);
});

/** Makes all that is being written some days older. */
async function age(days: number): Promise<void> {
  const at = Date.now() / 1000 - days * 86_400;
  const path = join(folder, "files/unfinished");
  for (const name of await readdir(path).catch(() => [])) await utimes(join(path, name), at, at);
}

test("the sweep keeps files that are being written, and unfinished uploads for days", async () => {
  const first = folderBucket(join(folder, "files"));
  const upload = await first.createMultipartUpload("media/a", PNG);
  const part = await upload.uploadPart(1, createStream(1000));
  await age(6);
  const next = folderBucket(join(folder, "files"));
  await next.put("media/b", createStream(10), PNG);
  await next.resumeMultipartUpload("media/a", upload.uploadId).complete([part]);
  expect((await next.head("media/a"))?.size).toBe(1000);
});

test("does not confuse a part that was stored again with the recorded part", async () => {
  const bucket = folderBucket(join(folder, "files"));
  const upload = await bucket.createMultipartUpload("media/a", PNG);
  const noted = await upload.uploadPart(1, createStream(1000));
  const again = await upload.uploadPart(1, createStream(2000));
  await expect(upload.complete([noted])).rejects.toThrow("part 1 was stored again since");
  await upload.complete([again]);
  expect((await bucket.head("media/a"))?.size).toBe(2000);
});
