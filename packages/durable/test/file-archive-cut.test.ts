import { DatabaseSync } from "node:sqlite";
import type { Job } from "@sluice/worker-proxy/plugin";
import { expect, test, vi } from "vitest";
import { COPY, type UserInput } from "../src/file-store/files/tables.js";
import { copyDatabase, openFile } from "./support/database-file.js";
import { CDN, holdFile, openArchive, serveFile, video } from "./support/file-archive.js";
import { DAY_MS, readBytes } from "./support/file-store.js";

/* Copies that are cut off, and deletions while they run. */

/** Time from an attempt that ended with its process to the next attempt. */
const ATTEMPT_MS = 361_000;

test("a copy whose process ends is made by the next one, once", async () => {
  const file = await openFile();
  const { sources, create, poll, files, until, open, clock } = openArchive({ file });
  const slowFile = holdFile(video);
  sources.serve("cut.mp4", slowFile.serve);
  const id = await create("cut");
  await poll(id);
  await until(() => sources.fetched()).toHaveLength(1);
  const copiedFile = await copyDatabase(file);
  // it begins nothing more
  void files.close();
  const next = open({ file: copiedFile, bucket: files.bucket });
  sources.serve("cut.mp4", serveFile(video));
  expect((await next.export()).files).toMatchObject([{ taskId: "cut", state: "open", attempts: 1 }]);
  await clock.pass(ATTEMPT_MS);
  await until(() => next.jobEvents()).toMatchObject([{ outcome: "complete", attempts: 2 }]);
  const [copy] = (await next.list()).files;
  expect(files.keys()).toEqual([`media/${copy?.id}`]);
  expect(Buffer.compare(await readBytes(await next.request(copy?.url ?? "")), video)).toBe(0);
  expect(sources.fetched()).toHaveLength(2);
  slowFile.finish();
  await clock.run(1000);
});

/** Opens a store after its process ended during a copy. A query changes the rows before the restart. */
async function openInterrupted(change: string) {
  const path = await openFile();
  const archive = openArchive({ file: path });
  const slowFile = holdFile(video);
  archive.sources.serve("cut.mp4", slowFile.serve);
  await archive.poll(await archive.create("cut"));
  await archive.until(() => archive.sources.fetched()).toHaveLength(1);
  const file = await copyDatabase(path);
  void archive.files.close();
  const database = new DatabaseSync(file);
  database.exec(change);
  database.close();
  const next = archive.open({ file, bucket: archive.files.bucket });
  return { ...archive, next, finish: slowFile.finish };
}

test("a copy that was cut off in its last attempt is reported as failed, and not made again (case 124)", async () => {
  const { next, sources, clock, until, finish } = await openInterrupted("UPDATE files SET attempts = 5");
  await clock.pass(ATTEMPT_MS);
  await until(() => next.jobEvents()).toMatchObject([
    { job: "archive", outcome: "error", code: "copy_cut", taskId: "cut" },
  ]);
  expect(next.logs.join("\n")).toContain("its last attempt was cut off; dropped: task cut");
  expect([sources.fetched().length, next.keys()]).toEqual([1, []]);
  finish();
});

test("an attempt that ends after the next attempt has begun changes nothing", async () => {
  const { sources, create, poll, files, until, copyEvents, clock } = openArchive();
  const ends: (() => void)[] = [];
  sources.serve("late.mp4", () => {
    return new Promise((resolve) => {
      ends.push(() => resolve(new Response("gone", { status: 404 })));
    });
  });
  const job = files.plugin.storage?.jobs?.find(({ name }) => name === COPY.name) as Job<UserInput>;
  const run = vi.spyOn(job, "run");
  await poll(await create("late"));
  await until(() => ends).toHaveLength(1);
  sources.serve("late.mp4", serveFile(video));
  await clock.pass(ATTEMPT_MS);
  // run the job again, as a process with a newer lease would
  await job.run(...(run.mock.calls[0] as Parameters<typeof job.run>));
  expect(copyEvents()).toMatchObject([{ outcome: "complete", attempts: 2 }]);
  ends[0]?.();
  await clock.run(1000);
  expect([copyEvents().length, files.keys().length, (await files.list()).files.length]).toEqual([1, 1, 1]);
});

test("deleting a file while its copy runs leaves no file, and it is not copied again", async () => {
  const { sources, create, poll, files, until, copyEvents } = openArchive();
  const slowFile = holdFile(video);
  sources.serve("unwanted.mp4", slowFile.serve);
  const id = await create("unwanted");
  await poll(id);
  await until(async () => (await files.list()).files).toHaveLength(1);
  const [copy] = (await files.list()).files;
  expect((await files.request(`/v1/uploads/${copy?.id}`, { method: "DELETE" })).status).toBe(204);
  slowFile.finish();
  await until(() => copyEvents().map(({ outcome }) => outcome)).toEqual(["stopped"]);
  await poll(id);
  await poll(await create());
  await until(() => sources.fetched()).toEqual([`${CDN}/unwanted.mp4`, `${CDN}/video.mp4`]);
  await until(() => files.keys()).toHaveLength(1);
});

test("erasing a user ends the running copy, and drops the waiting copies (case 123)", async () => {
  const { sources, create, poll, files, until, copyEvents, clock } = openArchive();
  const slowFile = holdFile(video);
  sources.serve("slow.mp4", slowFile.serve);
  await poll(await create("slow"));
  await until(async () => (await files.list()).files).toHaveLength(1);
  await poll(await create("waiting"));
  await files.erase();
  expect(await files.export()).toEqual({ files: [], copies: [] });
  slowFile.finish();
  await until(() => copyEvents().map(({ outcome }) => outcome)).toEqual(["stopped"]);
  await clock.pass(DAY_MS);
  await clock.run(2000);
  expect([files.keys(), await files.export()]).toEqual([[], { files: [], copies: [] }]);
  expect(sources.fetched()).toEqual([`${CDN}/slow.mp4`]);
  // the user can start again
  const id = await create();
  await poll(id);
  await until(() => files.keys()).toHaveLength(1);
});
