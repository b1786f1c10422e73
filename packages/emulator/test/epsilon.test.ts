import { describe, expect, test } from "vitest";
import { createFastEmulator, createLeapingClock, readBody, readRefusal, send } from "./support.js";

interface EpsilonResponse {
  code: number;
  data: { task_id: string; task_status: string; task_result?: { videos: { url: string }[] } };
}

const routes = ["text2video", "image2video", "multi-image2video"].map((name) => `/epsilon/v1/videos/${name}`);

describe.each(routes)("%s", (path) => {
  test.each([{ prompt: "A reef" }, {}, [1, 2], "text", 7, null])(
    "accepts %j and returns a task",
    async (body) => {
      const clock = createLeapingClock();
      const emulator = createFastEmulator({ clock, speed: 1 });
      const { code, data } = await readBody<EpsilonResponse>(send(emulator, path, body));
      expect(code).toBe(0);
      const words = new Set([data.task_status]);
      const query = () => readBody<EpsilonResponse>(send(emulator, `/epsilon/v1/videos/${data.task_id}`));
      for (let second = 0; second < 120; second++) {
        words.add((await query()).data.task_status);
        clock.pass(1000);
      }
      const { task_status, task_result } = (await query()).data;
      expect([...words, task_status]).toEqual(["submitted", "processing", "succeed", "succeed"]);
      expect(task_result?.videos[0]?.url).toMatch(/^https:\/\/gateway\.test\/files\/epsilon-.+\.mp4\?/);
    },
  );

  test("returns a task whose result is a video", async () => {
    const clock = createLeapingClock();
    const emulator = createFastEmulator({ clock });
    const { data } = await readBody<EpsilonResponse>(send(emulator, path, { prompt: "A lake" }));
    clock.pass(120_000);
    const { task_result } = (
      await readBody<EpsilonResponse>(send(emulator, `/epsilon/v1/videos/${data.task_id}`))
    ).data;
    const file = await emulator.fetch(task_result?.videos[0]?.url ?? "");
    expect(file.headers.get("content-type")).toBe("video/mp4");
  });

  test("refuses a body that is not JSON", async () => {
    const response = await send(createFastEmulator(), path, {}, { body: "{" });
    expect(response.status).toBe(400);
  });

  test("has the faults of any text in the body", async () => {
    const emulator = createFastEmulator();
    const createBody = (fault: string) => ({ input: { text: `A reef ${fault}` } });
    expect((await send(emulator, path, createBody("[[429]]"))).status).toBe(429);
    expect((await send(emulator, path, createBody("[[500]]"))).status).toBe(500);
    const { data } = await readBody<EpsilonResponse>(send(emulator, path, createBody("[[fail]]")));
    expect(data).toMatchObject({ task_status: "failed" });
    expect(data).not.toHaveProperty("task_result");
  });
});

test("a list of lists is not a fault", async () => {
  const response = await send(createFastEmulator(), routes[0] ?? "", { points: [[500]], 'a\\"b': [[429]] });
  expect(response.status).toBe(200);
});

test("a task is gone after 24 hours, after a reset, and after 2,000 more", async () => {
  const clock = createLeapingClock();
  const emulator = createFastEmulator({ clock });
  const [path = ""] = routes;
  const make = async () => (await readBody<EpsilonResponse>(send(emulator, path, {}))).data.task_id;
  const readStatus = async (id: string) => (await send(emulator, `/epsilon/v1/videos/${id}`)).status;
  const first = await make();
  expect(await readStatus(first)).toBe(200);
  clock.pass(24 * 3_600_000);
  expect(await readStatus(first)).toBe(404);
  const second = await make();
  for (let nth = 0; nth < 2000; nth++) await make();
  expect(await readStatus(second)).toBe(404);
  const last = await make();
  expect(await readStatus(last)).toBe(200);
  emulator.reset();
  expect(await readStatus(last)).toBe(404);
  expect(await make()).toBe(first);
});

test("an unknown task is not found", async () => {
  const response = await send(createFastEmulator(), "/epsilon/v1/videos/epsilon-1");
  expect(response.status).toBe(404);
  expect(await readRefusal(response)).toMatchObject({ code: "task_not_found" });
});
