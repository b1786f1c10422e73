import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { planInnocent, planKill, readIds, readSum, readTimers, reserve } from "./fixture/fault-part.js";
import { createHostProgram, type HostProgram } from "./support/host-process.js";

let program: HostProgram;
beforeAll(async () => {
  program = await createHostProgram();
});
afterAll(() => program.close());

test("a job that ends its process each time is given up, and takes no other job with it", async () => {
  const process = await program.run(join(program.folder, "kill.db"));
  const ids = ["a", "b", "c", "d"];
  await Promise.all(ids.map((id) => process.host.run("innocent", planInnocent, { id })));
  await process.host.run("guilty", planKill, null).catch(() => {});
  for (let deaths = 1; deaths <= 3; deaths += 1) {
    await process.ended();
    // each start serves requests before the job runs again
    await process.start();
    await process.host.run(`start ${deaths}`, reserve, { id: "served" });
  }
  // the lease of the last process lasts 15 s; after its end the job is given up
  await expect.poll(() => process.host.run("guilty", readTimers, null), { timeout: 60_000 }).toEqual([]);
  expect(await process.host.run("guilty", readIds, null)).toEqual([
    ...["attempt 1", "attempt 2", "attempt 3", "given up"],
  ]);
  const all = ids.flatMap((id) => [`begin ${id}`, `end ${id}`]).sort();
  await expect.poll(() => process.host.run("innocent", readIds, null), { timeout: 60_000 }).toEqual(all);
  expect(process.logs.join("\n")).toContain("its last 3 attempts ended their process, or lost the database");
  await process.close();
});

test("stores each operation that has returned, and none in part, while its process is killed", async () => {
  const process = await program.run(join(program.folder, "killed.db"));
  let done = 0;
  for (let round = 0; round < 5; round += 1) {
    const load = Array.from({ length: 200 }, (_, nth) =>
      process.host.run("one", reserve, { id: `${round} ${nth}` }).then(
        () => {
          done += 1;
        },
        () => {},
      ),
    );
    await load[20];
    await process.kill();
    await Promise.all(load);
    await process.start();
    const { total, rows } = await process.host.run("one", readSum, null);
    expect(total).toBe(rows);
    expect(rows).toBeGreaterThanOrEqual(done);
  }
  await process.close();
});
