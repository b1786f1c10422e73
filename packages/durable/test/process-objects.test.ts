import type { DurableObjectHandlers, ObjectState } from "@sluice/durable";
import { expect, onTestFinished, test, vi } from "vitest";
import { openSQLiteKeeper } from "../src/hosts/node/sqlite-keeper.js";
import { openLiveObjects } from "../src/hosts/process/live-objects.js";
import { keeperWith } from "./support/keepers.js";

/** Opens objects whose writes fail for as long as `isFull` says so. */
function openObjects(ThingClass: new (state: ObjectState) => DurableObjectHandlers) {
  const disk = { isFull: false, writes: 0 };
  const failing = keeperWith(openSQLiteKeeper(":memory:"), async (write, changes) => {
    disk.writes += 1;
    // a write takes its time: what is written meanwhile waits
    await undefined;
    if (disk.isFull) throw new Error("the disk is full");
    await write(changes);
  });
  const objects = openLiveObjects(failing, { THING: ThingClass as never }, {} as never);
  onTestFinished(() => objects.close(0));
  const ask = (step: string) =>
    objects
      .namespace("THING")
      .get("one" as never)
      .fetch(new Request(`https://thing.invalid/${step}`));
  return { objects, disk, ask };
}

function errorsLogged() {
  const error = vi.spyOn(console, "error").mockImplementation(() => {});
  onTestFinished(() => error.mockRestore());
  return () => error.mock.calls.map(([line]) => String(line));
}

test("An alarm whose writes fail is tried again ever later, and runs once they succeed", async () => {
  const logged = errorsLogged();
  let rung = 0;
  const { objects, disk, ask } = openObjects(
    class {
      readonly state: ObjectState;
      constructor(state: ObjectState) {
        this.state = state;
      }
      async fetch() {
        await this.state.storage.setAlarm(Date.now() + 1_000);
        return new Response();
      }
      async alarm() {
        rung += 1;
        await this.state.storage.put("rung", rung);
      }
    },
  );
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  onTestFinished(() => void vi.useRealTimers());
  objects.start();
  await ask("set");
  disk.isFull = true;
  await vi.advanceTimersByTimeAsync(60_000);
  const pauses = logged().flatMap(
    (line) => /could not run; it is tried again in (\d+) s/.exec(line)?.[1] ?? [],
  );
  expect(pauses).toEqual(["1", "2", "4", "8", "16", "32"]);
  disk.isFull = false;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(rung).toBe(7);
  expect(logged().filter((line) => line.includes("could not run"))).toHaveLength(6);
});

test("Turns that write while a write is under way are kept by one more write, in their order", async () => {
  const { disk, ask } = openObjects(
    class {
      readonly state: ObjectState;
      constructor(state: ObjectState) {
        this.state = state;
      }
      async fetch() {
        const { sql } = this.state.storage;
        sql.exec("CREATE TABLE IF NOT EXISTS counts (id INTEGER PRIMARY KEY, n INTEGER)");
        sql.exec("INSERT INTO counts VALUES (1, 1) ON CONFLICT DO UPDATE SET n = n + 1");
        return Response.json(sql.exec("SELECT n FROM counts").toArray());
      }
      async alarm() {}
    },
  );
  const answers = await Promise.all(Array.from({ length: 50 }, async () => (await ask("add")).json()));
  expect(answers.map(([{ n }]) => n).sort((a, b) => a - b)).toEqual(
    Array.from({ length: 50 }, (_, at) => at + 1),
  );
  expect(disk.writes).toBeLessThan(5);
});
