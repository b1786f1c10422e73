import type { Emulator, EmulatorOptions } from "@sluice/emulator";
import { describe, expect, test } from "vitest";
import { createFastEmulator, createLeapingClock, readBody, readBytes, readRefusal, send } from "./support.js";

interface Receipt {
  id: string;
  status: string;
  [field: string]: unknown;
}
interface Result {
  code: string;
  message: string;
  data: {
    task_id: string;
    action: string;
    status: string;
    fail_reason: string;
    result_url?: string | null;
    submit_time: number;
    start_time: number;
    finish_time: number;
    progress: string;
    request_id: string;
    data: { output?: Record<string, unknown>; usage?: Record<string, unknown>; request_id?: string };
  };
}
interface Bare {
  id: string;
  status: string;
  content?: { video_url: string; last_frame_url?: string };
  error?: { code: string; message: string };
}

const PATH = "/v1/video/generations";
const SECOND = 1000;
const HOUR = 3600 * SECOND;
const image = "https://pictures.example/a.png";

const createBetaRequest = (prompt = "A reef", fields: object = {}) => ({
  model: "beta3.0-video",
  input: { prompt },
  ...fields,
});
const createContentRequest = (model: string, text = "A reef", fields: object = {}) => ({
  model,
  content: [{ type: "text", text }],
  ...fields,
});
const families = {
  "beta3.0-video": createBetaRequest(),
  "beta3.0-video-prime": createBetaRequest("A reef", { model: "beta3.0-video-prime" }),
  "gamma-video-1-5-pro-251215": createContentRequest("gamma-video-1-5-pro-251215"),
  "gamma-video-1-0-pro-fast-251015": createContentRequest("gamma-video-1-0-pro-fast-251015"),
  "gamma-video-2.0": createContentRequest("gamma-video-2.0"),
  "gamma-video-fast": createContentRequest("gamma-video-fast"),
};
const envelopedModels = Object.keys(families).slice(0, 4) as (keyof typeof families)[];
const runningModels = ["gamma-video-2.0", "gamma-video-fast"] as const;

/** Creates an emulator at the gateway's pace, on a clock that the test moves. */
function createPacedEmulator(options: Partial<EmulatorOptions> = {}) {
  const clock = createLeapingClock();
  return { clock, emulator: createFastEmulator({ clock, speed: 1, ...options }) };
}

function create(emulator: Emulator, body: object): Promise<Receipt> {
  return readBody<Receipt>(send(emulator, PATH, body));
}

function query<Body = Result>(emulator: Emulator, id: string): Promise<Body> {
  return readBody<Body>(send(emulator, `${PATH}/${id}`));
}

/** Creates a video and returns its final result. */
async function readFinished(body: object, options: Partial<EmulatorOptions> = {}): Promise<Result["data"]> {
  const emulator = createFastEmulator(options);
  return (await query(emulator, (await create(emulator, body)).id)).data;
}

describe("the receipt", () => {
  test.each(Object.entries(families))("A task of %s has every documented field", async (model, body) => {
    const { clock, emulator } = createPacedEmulator();
    const receipt = await create(emulator, body);
    expect(receipt).toEqual({
      id: expect.stringMatching(/^task-[\da-f]{16}-1$/),
      task_id: receipt.id,
      object: "video",
      model,
      status: model === "gamma-video-2.0" || model === "gamma-video-fast" ? "" : "queued",
      progress: 0,
      created_at: clock.now() / SECOND,
    });
  });
});

describe.each(envelopedModels)("a task of %s", (model) => {
  const isBeta = model.startsWith("beta");

  test("has its states in order within one to two minutes", async () => {
    const { clock, emulator } = createPacedEmulator();
    const { id } = await create(emulator, families[model]);
    const start = clock.now();
    const snapshots: Result["data"][] = [];
    for (let second = 0; second <= 120; second++) {
      snapshots.push((await query(emulator, id)).data);
      clock.pass(SECOND);
    }
    const states = [...new Set(snapshots.map(({ status }) => status))];
    expect(states).toEqual(["NOT_START", "QUEUED", "IN_PROGRESS", "SUCCESS"]);
    const took = snapshots.findIndex(({ status }) => status === "SUCCESS");
    expect(took).toBeGreaterThanOrEqual(60);

    const percents = snapshots.map(({ progress }) => Number(/^(\d{1,3})%$/.exec(progress)?.[1]));
    expect(percents).toEqual(percents.toSorted((left, right) => left - right));
    expect([percents[0], percents.at(-1)]).toEqual([0, 100]);
    for (const { status, submit_time, start_time, finish_time, progress } of snapshots) {
      const isWaiting = status === "NOT_START" || status === "QUEUED";
      expect(submit_time).toBe(start / SECOND);
      expect(start_time === 0).toBe(isWaiting);
      expect(finish_time === 0).toBe(status !== "SUCCESS");
      expect(progress === "100%").toBe(status === "SUCCESS");
    }
    const { start_time = 0, finish_time = 0 } = snapshots.at(-1) ?? {};
    expect(start_time).toBeGreaterThan(start / SECOND);
    expect(Math.abs(finish_time - start / SECOND - took)).toBeLessThanOrEqual(1);
  });

  test("has every documented field", async () => {
    const { clock, emulator } = createPacedEmulator();
    const { id } = await create(emulator, families[model]);
    const common = {
      task_id: id,
      action: "generate",
      fail_reason: "",
      submit_time: expect.any(Number),
      request_id: expect.any(String),
    };
    const waiting = await query(emulator, id);
    expect(waiting).toEqual({
      code: "success",
      message: "",
      data: {
        ...common,
        status: "NOT_START",
        start_time: 0,
        finish_time: 0,
        progress: "0%",
        data: isBeta
          ? {
              output: {
                task_id: expect.any(String),
                task_status: "PENDING",
                submit_time: "2026-03-14 00:00:00.000",
              },
              request_id: expect.any(String),
            }
          : {},
      },
    });
    clock.pass(30 * SECOND);
    const running = (await query(emulator, id)).data;
    expect(running).not.toHaveProperty("result_url");
    expect(Object.keys(running.data)).toEqual(isBeta ? ["output", "request_id"] : []);
    if (isBeta) expect(running.data.output).toMatchObject({ scheduled_time: expect.any(String) });
    clock.pass(90 * SECOND);
    const url = expect.stringMatching(/^https:\/\/gateway\.test\/files\/.*\.mp4\?/);
    expect((await query(emulator, id)).data).toEqual({
      ...common,
      status: "SUCCESS",
      fail_reason: url,
      result_url: url,
      start_time: expect.any(Number),
      finish_time: expect.any(Number),
      progress: "100%",
      data: isBeta
        ? {
            output: {
              task_id: waiting.data.data.output?.["task_id"],
              task_status: "SUCCEEDED",
              submit_time: "2026-03-14 00:00:00.000",
              scheduled_time: expect.stringMatching(/^2026-03-14 00:00:/),
              end_time: expect.stringMatching(/^2026-03-14 00:0[12]:/),
              orig_prompt: "A reef",
              video_url: url,
            },
            request_id: waiting.data.data.request_id,
            usage: {
              SR: 1080,
              duration: 5,
              fps: 24,
              input_video_duration: 0,
              output_video_duration: 5,
              ratio: "16:9",
              video_count: 1,
            },
          }
        : {},
    });
  });

  test("fails with [[fail]], through the query and with a reason", async () => {
    const body = isBeta
      ? createBetaRequest("A reef [[fail]]", { model })
      : createContentRequest(model, "A reef [[fail]]");
    const { data, ...result } = await readFinished(body);
    expect(result).toMatchObject({
      status: "FAILURE",
      fail_reason: expect.not.stringContaining("http"),
      result_url: null,
      progress: "100%",
      finish_time: expect.any(Number),
    });
    expect(result.fail_reason).not.toBe("");
    if (isBeta) expect(data.output).toMatchObject({ task_status: "FAILED" });
    expect(data).not.toHaveProperty("usage");
  });
});

describe.each(runningModels)("a task of %s", (model) => {
  test("has its own status words in the envelope", async () => {
    const { clock, emulator } = createPacedEmulator();
    const { id } = await create(emulator, families[model]);
    const words = new Set<string>();
    for (let second = 0; second <= 120; second++) {
      words.add((await query(emulator, id)).data.status);
      clock.pass(SECOND);
    }
    expect([...words]).toEqual(["queued", "running", "succeeded"]);
    const { code, data } = await query(emulator, id);
    expect(code).toBe("success");
    expect(data).toMatchObject({
      result_url: expect.any(String),
      data: { content: { video_url: data.result_url } },
    });
  });

  test("has no envelope with [[flat]]", async () => {
    const { clock, emulator } = createPacedEmulator();
    const { id } = await create(emulator, createContentRequest(model, "A reef [[flat]]"));
    const running = await query<Bare>(emulator, id);
    expect(running).toMatchObject({ id, model, status: "queued" });
    for (const field of ["code", "data", "content", "error"]) expect(running).not.toHaveProperty(field);
    clock.pass(120 * SECOND);
    expect(await query<Bare>(emulator, id)).toMatchObject({
      id,
      status: "succeeded",
      content: { video_url: expect.stringContaining(".mp4?") },
      created_at: expect.any(Number),
      updated_at: expect.any(Number),
    });
  });

  test("fails with [[fail]], in either shape", async () => {
    const result = await readFinished(createContentRequest(model, "[[fail]]"));
    expect(result).toMatchObject({ status: "failed", result_url: null });
    expect(result.fail_reason).not.toBe("");
    const emulator = createFastEmulator();
    const { id } = await create(emulator, createContentRequest(model, "[[fail]] [[flat]]"));
    const bare = await query<Bare>(emulator, id);
    expect(bare).toMatchObject({ status: "failed", error: { message: expect.any(String) } });
    expect(bare).not.toHaveProperty("content");
  });
});

test("gamma-video-2.0 returns the last frame on request", async () => {
  const emulator = createFastEmulator();
  const { id } = await create(
    emulator,
    createContentRequest("gamma-video-2.0", "A reef [[flat]]", { return_last_frame: true }),
  );
  const url = (await query<Bare>(emulator, id)).content?.last_frame_url ?? "";
  const bytes = await readBytes(await emulator.fetch(url));
  expect(String.fromCharCode(...bytes.subarray(1, 4))).toBe("PNG");
});

test("`action` says if the video has a first and a last frame", async () => {
  const createFrame = (type: string) => ({ type, url: image });
  const createItem = (role: string) => ({ type: "image_url", image_url: { url: image }, role });
  const readAction = async (body: object) => (await readFinished(body)).action;
  const withMedia = (...media: object[]) =>
    createBetaRequest("A reef", { input: { prompt: "A reef", media } });
  const withImages = (...images: object[]) => ({
    model: "gamma-video-1-5-pro-251215",
    content: [{ type: "text", text: "A reef" }, ...images],
  });
  expect(await readAction(withMedia(createFrame("first_frame"), createFrame("last_frame")))).toBe(
    "firstTailGenerate",
  );
  expect(await readAction(withImages(createItem("first_frame"), createItem("last_frame")))).toBe(
    "firstTailGenerate",
  );
  expect(await readAction(withMedia(createFrame("first_frame")))).toBe("generate");
  expect(await readAction(withImages(createItem("first_frame")))).toBe("generate");
});

test("usage follows the request", async () => {
  const media = [1, 2].map((nth) => ({ type: "reference_video", url: `https://videos.example/${nth}.mp4` }));
  const parameters = { resolution: "480P", ratio: "9:16", duration: 12 };
  const { data } = await readFinished(createBetaRequest("", { input: { media }, parameters }));
  expect(data.usage).toMatchObject({
    SR: 480,
    ratio: "9:16",
    duration: 12,
    output_video_duration: 12,
    input_video_duration: 6,
  });
  const chosen = await readFinished(createBetaRequest("A reef", { parameters: { duration: -1 } }));
  expect(chosen.data.usage?.["duration"]).toBeGreaterThanOrEqual(2);
});

test("every other success repeats the URL in fail_reason", async () => {
  const emulator = createFastEmulator();
  const repeats: boolean[] = [];
  for (let nth = 0; nth < 4; nth++) {
    const { data } = await query(emulator, (await create(emulator, createBetaRequest())).id);
    repeats.push(data.fail_reason !== "");
    if (data.fail_reason) expect(data.fail_reason).toBe(data.result_url);
  }
  expect(repeats).toEqual([true, false, true, false]);
});

describe("faults", () => {
  const readStatuses = async (emulator: Emulator, id: string, times: number) => {
    const statuses: number[] = [];
    for (let nth = 0; nth < times; nth++) statuses.push((await send(emulator, `${PATH}/${id}`)).status);
    return statuses;
  };

  test("[[no-url]] succeeds without any URL", async () => {
    const result = await readFinished(createBetaRequest("A reef [[no-url]]"));
    expect(result).toMatchObject({ status: "SUCCESS", result_url: null, fail_reason: "" });
    expect(JSON.stringify(result)).not.toContain("http");
  });

  test("[[no-url:2]] has the URL in the third query after the success", async () => {
    const { clock, emulator } = createPacedEmulator();
    const { id } = await create(emulator, createContentRequest("gamma-video-2.0", "[[no-url:2]] [[flat]]"));
    await query(emulator, id);
    clock.pass(120 * SECOND);
    const urls: boolean[] = [];
    for (let nth = 0; nth < 4; nth++) urls.push((await query<Bare>(emulator, id)).content !== undefined);
    expect(urls).toEqual([false, false, true, true]);
  });

  test("[[unknown]] shows an unknown status, without signs of an end", async () => {
    const emulator = createFastEmulator();
    const { id } = await create(emulator, createBetaRequest("[[unknown]]"));
    const known = ["NOT_START", "QUEUED", "IN_PROGRESS", "SUCCESS", "FAILURE"];
    for (let nth = 0; nth < 2; nth++) {
      const { data } = await query(emulator, id);
      expect(known).not.toContain(data.status);
      expect(data).toMatchObject({ finish_time: 0, progress: "99%" });
      expect(JSON.stringify(data)).not.toContain("http");
    }
    expect((await query(emulator, id)).data.status).toBe("SUCCESS");
  });

  test("[[late:3]] and [[busy]] hide the task from the first queries", async () => {
    const emulator = createFastEmulator();
    const late = await create(emulator, createBetaRequest("[[late:3]]"));
    expect(await readStatuses(emulator, late.id, 4)).toEqual([404, 404, 404, 200]);
    const busy = await create(emulator, createBetaRequest("[[busy]]"));
    expect(await readStatuses(emulator, busy.id, 3)).toEqual([429, 429, 200]);
  });

  test("[[slow]] takes five minutes", async () => {
    const { clock, emulator } = createPacedEmulator();
    const { id } = await create(emulator, createBetaRequest("[[slow]]"));
    clock.pass(299 * SECOND);
    expect((await query(emulator, id)).data.status).toBe("IN_PROGRESS");
    clock.pass(SECOND);
    expect((await query(emulator, id)).data.status).toBe("SUCCESS");
  });

  test("[[429:1]] and [[500]] refuse the creation, and nothing is made", async () => {
    const emulator = createFastEmulator();
    expect((await send(emulator, PATH, createBetaRequest("[[429:1]]"))).headers.get("retry-after")).toBe("1");
    expect((await create(emulator, createBetaRequest("[[429:1]]"))).id).toMatch(/-1$/);
    expect((await send(emulator, PATH, createContentRequest("gamma-video-fast", "[[500]]"))).status).toBe(
      500,
    );
  });

  test("[[drop]] creates the task, although the client gets no id", async () => {
    const emulator = createFastEmulator();
    const response = await send(emulator, PATH, createBetaRequest("[[drop]]"));
    await expect(response.text()).rejects.toBeInstanceOf(TypeError);
    expect((await create(emulator, createBetaRequest())).id).toMatch(/-2$/);
  });

  test("are found in the text items of a request with images", async () => {
    const items = [
      { type: "image_url", image_url: { url: image }, role: "first_frame" },
      { type: "text", text: "A reef [[fail]]" },
    ];
    const result = await readFinished({ model: "gamma-video-1-5-pro-251215", content: items });
    expect(result.status).toBe("FAILURE");
  });
});

describe("time", () => {
  test("is divided by the speed", async () => {
    const { clock, emulator } = createPacedEmulator({ speed: 100 });
    const { id } = await create(emulator, createBetaRequest());
    clock.pass(1200);
    const { data } = await query(emulator, id);
    expect(data.status).toBe("SUCCESS");
    expect(data.finish_time - data.submit_time).toBeLessThanOrEqual(2);
  });

  test("ends a task after 24 hours", async () => {
    const { clock, emulator } = createPacedEmulator();
    const { id } = await create(emulator, createBetaRequest());
    clock.pass(24 * HOUR - SECOND);
    expect((await query(emulator, id)).data.status).toBe("SUCCESS");
    clock.pass(SECOND);
    const response = await send(emulator, `${PATH}/${id}`);
    expect(response.status).toBe(404);
    expect(await readRefusal(response)).toMatchObject({ code: "task_not_found" });
  });

  test("a result's URL expires 24 hours after the video was finished, not after the first query", async () => {
    const { clock, emulator } = createPacedEmulator();
    const created = clock.now();
    const { id } = await create(emulator, createBetaRequest());
    clock.pass(23 * HOUR);
    const { result_url, finish_time } = (await query(emulator, id)).data;
    expect((await emulator.fetch(result_url ?? "")).status).toBe(200);
    clock.pass(finish_time * SECOND + 24 * HOUR - clock.now() - SECOND);
    expect((await emulator.fetch(result_url ?? "")).status).toBe(200);
    expect(clock.now() - created).toBeGreaterThan(24 * HOUR);
    clock.pass(2 * SECOND);
    expect((await emulator.fetch(result_url ?? "")).status).toBe(403);
  });
});

describe("memory", () => {
  test("is empty after a reset", async () => {
    const emulator = createFastEmulator();
    const { id } = await create(emulator, createBetaRequest());
    emulator.reset();
    expect((await send(emulator, `${PATH}/${id}`)).status).toBe(404);
    expect((await create(emulator, createBetaRequest())).id).toBe(id);
  });
});

test("the same requests in the same order get the same responses", async () => {
  const run = async () => {
    const { clock, emulator } = createPacedEmulator();
    const responses: unknown[] = [];
    for (const body of Object.values(families)) {
      const receipt = await create(emulator, body);
      responses.push(receipt, await query(emulator, receipt.id));
      clock.pass(100 * SECOND);
      responses.push(await query(emulator, receipt.id));
    }
    return responses;
  };
  expect(await run()).toEqual(await run());
});

test("an unknown task is not found", async () => {
  const response = await send(createFastEmulator(), `${PATH}/task-1`);
  expect(response.status).toBe(404);
  expect(await readRefusal(response)).toMatchObject({ code: "task_not_found" });
});

describe("the rules", () => {
  const pro = "gamma-video-1-5-pro-251215";
  const frame = { type: "first_frame", url: image };
  test.each<[string, object]>([
    ["input.prompt", createBetaRequest("")],
    ["input.prompt", createBetaRequest("x".repeat(5001))],
    ["input.media", createBetaRequest("A reef", { input: { media: [frame, frame] } })],
    [
      "input.media",
      createBetaRequest("A reef", { input: { media: [frame, { type: "reference_image", url: image }] } }),
    ],
    ["parameters.resolution", createBetaRequest("A reef", { parameters: { resolution: "1080p" } })],
    ["parameters.duration", createBetaRequest("A reef", { parameters: { duration: 31 } })],
    ["parameters.seed", createBetaRequest("A reef", { parameters: { seed: -1 } })],
    ["ratio", createBetaRequest("A reef", { ratio: "1:1" })],
    ["content", createContentRequest(pro, "A reef", { content: [] })],
    ["duration", createContentRequest(pro, "A reef", { duration: 3 })],
    ["ratio", createContentRequest("gamma-video-1-0-pro-fast-251015", "A reef", { ratio: "adaptive" })],
    ["resolution", createContentRequest("gamma-video-fast", "A reef", { resolution: "1080p" })],
    ["return_last_frame", createContentRequest("gamma-video-fast", "A reef", { return_last_frame: true })],
  ])("refuse %s in %o", async (param, body) => {
    const response = await send(createFastEmulator(), PATH, body);
    expect(response.status).toBe(400);
    expect(await readRefusal(response)).toMatchObject({ code: "invalid_parameter", param });
  });

  test("refuse models of other endpoints", async () => {
    const response = await send(
      createFastEmulator(),
      PATH,
      createBetaRequest("A reef", { model: "gamma-video-3.0" }),
    );
    expect(await readRefusal(response)).toMatchObject({ code: "model_not_found", param: "model" });
  });
});
