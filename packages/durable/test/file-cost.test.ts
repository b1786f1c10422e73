import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { CDN, openArchive } from "./support/file-archive.js";
import { createFile, DAY_MS, firstBytes, MINUTE_MS, PART_BYTES, png } from "./support/file-store.js";

test("each step reads rows by an index, however many files there are (cases 110, 123)", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sluice-files-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "rows.db");
  const prepare = vi.spyOn(DatabaseSync.prototype, "prepare");
  onTestFinished(() => prepare.mockRestore());

  const { files, create, poll, findCopies, until, clock, sources } = openArchive({
    file,
    options: { maxFilesPerUser: 3 },
  });
  const whole = createFile(firstBytes.mp4, PART_BYTES + 1000);
  const { id } = await files.begin(whole);
  await files.upload(png, {
    path: `/v1/uploads/${id}`,
    method: "PATCH",
    headers: { "upload-offset": String(PART_BYTES) },
  });
  await files.sendPart(id, whole, PART_BYTES);
  await files.store(png);
  await files.store(png, { user: "user-2" });
  await files.list();
  const task = await create();
  await poll(task);
  await until(() => findCopies({ tasks: [task], urls: [`${CDN}/video.mp4`] })).toHaveLength(1);
  await files.upload(png);
  await files.upload(whole.slice(0, PART_BYTES), {
    user: "user-3",
    headers: { "upload-length": String(4 * PART_BYTES) },
  });
  sources.serve("long.mp4", () => new Response(new Blob([whole]).stream()));
  await poll(await create("long", "user-4"), "user-4");
  await until(async () => (await files.list("user-4")).files).toHaveLength(1);
  await files.request(`/v1/uploads/${id}`, { method: "DELETE" });
  await files.export();
  await files.erase("user-2");
  await clock.pass(31 * DAY_MS);
  await until(files.keys).toEqual([]);
  await clock.pass(20 * MINUTE_MS);
  await files.close();

  const statements = new Set(
    prepare.mock.calls.map(([sql]) => sql).filter((sql) => /\bfile(?:s|_\w+)\b/.test(sql)),
  );
  expect(statements.size).toBeGreaterThan(20);
  const database = new DatabaseSync(file);
  for (const sql of statements) {
    const values = Array.from(sql.matchAll(/\?/g), () => 0);
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values);
    for (const { detail } of plan) expect(`${sql}: ${detail}`).not.toMatch(/: SCAN|TEMP B-TREE/);
  }
  database.close();
});
