import { pollCache } from "@sluice/worker-proxy";
import { afterEach, expect, test, vi } from "vitest";
import { asked, openProxy } from "./support/in-process.js";
import { SECRET, signed } from "./support/sign.js";

afterEach(() => {
  vi.useRealTimers();
});

const receipt = (status: string) => Response.json({ code: "success", data: { task_id: "t", status } });

/** A proxy with videos, and polls of one user's tasks. */
function openPolled(answer: (calls: number) => Response | Promise<Response>, plugins = [pollCache()]) {
  let calls = 0;
  const opened = openProxy(
    {
      routes: ["videos", "assets"],
      secret: () => SECRET,
      gateway: { assetLookup: "/gamma/asset/Get" },
      plugins,
    },
    () => {
      calls += 1;
      return answer(calls);
    },
  );
  const request = (id: string, init = {}) =>
    asked({ method: "GET", path: `/v1/video/generations/${signed(id)}`, ...init });
  return { ...opened, calls: () => calls, poll: (id: string, init = {}) => opened.ask(request(id, init)) };
}

test("case 57: an answer is given again for a second, and no longer", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const { poll, calls } = openPolled((call) => receipt(call === 1 ? "QUEUED" : "SUCCESS"));
  expect((await poll("t")).text).toContain("QUEUED");
  vi.setSystemTime(Date.now() + 999);
  expect((await poll("t")).text).toContain("QUEUED");
  expect(calls()).toBe(1);
  vi.setSystemTime(Date.now() + 1);
  expect((await poll("t")).text).toContain("SUCCESS");
  expect(calls()).toBe(2);
});

test("case 57: without `pollCache()` each poll is sent to the gateway", async () => {
  const { poll, calls } = openPolled(() => receipt("QUEUED"), []);
  await poll("t");
  await poll("t");
  expect(calls()).toBe(2);
});

test("case 57: a client that leaves ends the poll in flight, and the next one is sent at once", async () => {
  let arrived = () => {};
  const arrival = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const { poll, calls } = openPolled((call) => {
    arrived();
    return call === 1 ? new Promise<Response>(() => {}) : receipt("SUCCESS");
  });
  const leaving = new AbortController();
  const first = poll("t", { signal: leaving.signal });
  await arrival;
  const others = [poll("t"), poll("t"), poll("t")];
  leaving.abort();
  expect((await first).status).toBe(408);
  expect((await Promise.all(others)).map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(calls()).toBe(2);
});

test("case 57: a lookup of an asset is a poll too, each asset for itself", async () => {
  const { ask, calls } = openPolled(() => Response.json({ Id: "a", Status: "Active" }));
  const lookup = (id: string) => ask(asked({ path: "/gamma/asset/Get", body: { Id: signed(id, "asset") } }));
  expect([(await lookup("a")).status, (await lookup("a")).status, calls()]).toEqual([200, 200, 1]);
  await lookup("b");
  expect(calls()).toBe(2);
});

test("case 57: the memory is bounded in entries and in size", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const { poll, calls } = openPolled(() => Response.json({ task_id: "t", text: "x".repeat(1_500_000) }));
  for (const id of ["a", "b", "c"]) await poll(id);
  await poll("c");
  expect(calls()).toBe(3);
  await poll("a");
  expect(calls()).toBe(4);
  const small = openPolled(() => receipt("QUEUED"));
  await small.poll("task-0");
  await Promise.all(Array.from({ length: 999 }, (_, n) => small.poll(`task-${n + 1}`)));
  await small.poll("task-1000");
  await small.poll("task-1000");
  expect(small.calls()).toBe(1001);
  await small.poll("task-0");
  expect(small.calls()).toBe(1002);
});

test("case 57: what creates a task is never answered from memory", async () => {
  const { ask, calls } = openPolled(() => Response.json({ id: "t", task_id: "t" }));
  const create = () =>
    ask(asked({ path: "/v1/video/generations", body: { model: "beta3.0-video", input: { prompt: "a" } } }));
  await create();
  await create();
  expect(calls()).toBe(2);
});
