import {
  createVideoTask,
  getVideoTask,
  parseVideoTask,
  type VideoTaskHandle,
  watchVideoTask,
} from "@sluice/core";
import { afterEach, describe, expect, test, vi } from "vitest";
import { catchError, createTestClient, stoppedClock } from "./support/gateway.js";

const seconds = 1_755_000_000;
const request = { model: "beta3.0-video", input: { prompt: "A reef at dawn" } } as const;
const receipt = {
  id: "t-1",
  task_id: "t-1",
  object: "video",
  model: "beta3.0-video",
  status: "queued",
  progress: 0,
  created_at: seconds,
};
const handle: VideoTaskHandle = { id: "t-1", model: "gamma-video-2.0", createdAt: seconds * 1000 };

const respond = (data: object) =>
  Response.json({ code: "success", message: "", data: { task_id: "t-1", ...data } });
const queued = () => respond({ status: "QUEUED" });
const running = (progress: string) => respond({ status: "IN_PROGRESS", progress });
const createRefusal = (status: number, headers: Record<string, string> = {}) =>
  Response.json({ error: { message: `refused with ${status}`, code: "x" } }, { status, headers });

afterEach(() => vi.restoreAllMocks());

type Step = () => Response | Promise<Response>;

/** A task whose queries all get the response `step`. */
const createTask = ([step]: readonly [Step]) => createTestClient(step);

test("a query has no body, and no type of one", async () => {
  const { client, requests } = createTask([queued]);
  await getVideoTask(client, handle);
  expect(requests.map(({ method, headers }) => [method, headers.get("content-type")])).toEqual([
    ["GET", null],
  ]);
});

test("warns about a video in the response for another task", async () => {
  const warnings: unknown[] = [];
  const onEvent = (event: { type: string; issue?: object }) => event.issue && warnings.push(event.issue);
  for (const [task_id, count] of [
    ["t-1", 0],
    ["OTHER", 1],
  ] as const) {
    const { client } = createTestClient(
      () => respond({ task_id, status: "SUCCESS", result_url: "https://cdn.test/v.mp4" }),
      {
        onEvent,
      },
    );
    expect(await getVideoTask(client, handle)).toMatchObject({ id: "t-1", state: "succeeded" });
    expect(warnings).toHaveLength(count);
  }
  expect(warnings).toMatchObject([{ rule: "video.other-task", message: expect.stringContaining('"OTHER"') }]);
});

describe("createVideoTask", () => {
  test("returns a handle that is plain JSON, with the time until which a beta task can be queried", async () => {
    vi.spyOn(Date, "now").mockReturnValue(seconds * 1000);
    const { client, requests } = createTestClient(() => Response.json(receipt));
    const created = await createVideoTask(client, request);
    expect(created).toEqual({
      id: "t-1",
      model: "beta3.0-video",
      createdAt: seconds * 1000,
      queryableUntil: seconds * 1000 + 86_400_000,
    });
    expect(JSON.parse(JSON.stringify(created))).toEqual(created);
    expect(requests[0]?.url).toBe("https://gateway.test/v1/video/generations");
    expect(await requests[0]?.json()).toEqual(request);
  });

  test("can query a new task for a day by the local clock, even if that clock is ahead", async () => {
    vi.spyOn(Date, "now").mockReturnValue(seconds * 1000 + 2 * 86_400_000);
    const clock = stoppedClock();
    const { client } = createTestClient(
      (_, nth) =>
        [
          Response.json(receipt),
          createRefusal(404),
          respond({ status: "SUCCESS", result_url: "https://cdn.test/v" }),
        ][nth - 1] as Response,
      { clock },
    );
    const waited = watchVideoTask(client, await createVideoTask(client, request)).result();
    expect(await clock.advanceUntil(waited, 5000)).toMatchObject({ state: "succeeded" });
  });

  test("accepts a receipt with an empty status, and sets no time for other models", async () => {
    const { client } = createTestClient(() =>
      Response.json({ ...receipt, model: "gamma-video-2.0", status: "" }),
    );
    const created = await createVideoTask(client, {
      model: "gamma-video-2.0",
      content: [{ type: "text", text: "A reef" }],
    });
    expect(created).toEqual({ id: "t-1", model: "gamma-video-2.0", createdAt: seconds * 1000 });
  });

  test("reads the model from the request and the id from task_id if the receipt lacks them", async () => {
    const { client } = createTestClient(() => Response.json({ task_id: "t-2", status: "queued" }));
    expect(await createVideoTask(client, request)).toMatchObject({ id: "t-2", model: "beta3.0-video" });
  });

  test("reports that a receipt without an id may be billed", async () => {
    const { client } = createTestClient(() => Response.json({ ...receipt, id: {}, task_id: undefined }));
    expect(await catchError(createVideoTask(client, request))).toMatchObject({
      name: "ResponseError",
      path: "id",
      billing: "maybe",
    });
  });

  test("throws the error of a response with status 200", async () => {
    const { client } = createTestClient(() =>
      Response.json({ error: { message: "no quota", code: "quota" } }),
    );
    expect(await catchError(createVideoTask(client, request))).toMatchObject({
      name: "APIError",
      message: "no quota",
      code: "quota",
      billing: "maybe",
    });
  });

  test("accepts a file that a proxy on this machine stores, and no other local address", async () => {
    const { client, requests } = createTestClient(() => Response.json(receipt), {
      baseURL: "http://127.0.0.1:5180",
    });
    const createFrom = (url: string) =>
      createVideoTask(client, {
        model: "beta3.0-video",
        input: { prompt: "Video 1 by night", media: [{ type: "reference_video", url }] },
      });
    await createFrom("http://127.0.0.1:5180/v1/media/f-1");
    expect(await requests[0]?.json()).toMatchObject({
      input: { media: [{ url: "http://127.0.0.1:5180/v1/media/f-1" }] },
    });
    for (const url of ["http://127.0.0.1:5181/v1/media/f-1", "http://127.0.0.1:5180/video.mp4"])
      expect(await catchError(createFrom(url))).toMatchObject({ name: "ValidationError" });
    expect(requests).toHaveLength(1);
  });

  test("does not send a request that breaks a rule", async () => {
    const { client, requests } = createTestClient(() => Response.json(receipt));
    const wrong = { ...request, parameters: { duration: 31 } };
    expect(await catchError(createVideoTask(client, wrong))).toMatchObject({
      issues: [{ path: "parameters.duration", rule: "video.beta.parameters.duration" }],
    });
    expect(requests).toHaveLength(0);
  });
});

describe("getVideoTask", () => {
  test("sends the id alone, or the id of a handle from JSON", async () => {
    const { client, requests } = createTask([() => running("45%")]);
    expect(await getVideoTask(client, "t-1")).toMatchObject({ id: "t-1", state: "running", progress: 0.45 });
    expect(await getVideoTask(client, JSON.parse(JSON.stringify(handle)))).toMatchObject({
      model: "gamma-video-2.0",
    });
    expect(requests.map(({ method, url }) => `${method} ${url}`)).toEqual(
      Array(2).fill("GET https://gateway.test/v1/video/generations/t-1"),
    );
  });

  test("is never served from a cache", async () => {
    const { client, requests } = createTask([queued]);
    await getVideoTask(client, handle);
    expect(requests[0]?.cache).toBe("no-store");
  });

  test("keeps an id inside its path", async () => {
    const { client, requests } = createTask([queued]);
    await getVideoTask(client, "../../admin?x=1#y");
    expect(requests[0]?.url).toBe("https://gateway.test/v1/video/generations/..%2F..%2Fadmin%3Fx%3D1%23y");
  });

  test.each(["", " ", ".", "..", "a b", "a\n", "\ud800", 7, null, undefined])(
    "refuses %j as an id",
    async (id) => {
      const { client, requests } = createTask([queued]);
      expect(await catchError(getVideoTask(client, { id: id as string }))).toMatchObject({
        name: "ValidationError",
        issues: [{ rule: "video.task-id" }],
      });
      expect(await catchError(watchVideoTask(client, { id: id as string }).result())).toMatchObject({
        name: "ValidationError",
      });
      expect(requests).toHaveLength(0);
    },
  );

  test("returns a failed task, and throws a failed query with the handle", async () => {
    const failure = createTask([() => respond({ status: "FAILURE", fail_reason: "policy" })]);
    expect(await getVideoTask(failure.client, handle)).toMatchObject({ state: "failed", reason: "policy" });
    const broken = createTask([() => Response.json({ code: "db_error", message: "try later", data: null })]);
    expect(await catchError(getVideoTask(broken.client, handle))).toMatchObject({
      name: "APIError",
      message: "try later",
      code: "db_error",
      handle,
    });
  });

  test("returns a failed task of an unwrapped response", async () => {
    const bare = { id: "t-1", status: "failed", error: { code: "policy", message: "not allowed" } };
    const { client } = createTask([() => Response.json(bare)]);
    expect(await getVideoTask(client, handle)).toMatchObject({ state: "failed", reason: "not allowed" });
  });

  test("reports an unknown id as expired after its retention time, otherwise as not found", async () => {
    const { client } = createTask([() => createRefusal(404)]);
    const old = { ...handle, queryableUntil: Date.now() - 1 };
    expect(await catchError(getVideoTask(client, old))).toMatchObject({
      name: "TaskError",
      reason: "expired",
      handle: old,
    });
    expect(
      await catchError(getVideoTask(client, { ...old, queryableUntil: Date.now() + 60_000 })),
    ).toMatchObject({
      name: "APIError",
      status: 404,
    });
  });

  test("is repeated like every query", async () => {
    const { client, requests } = createTestClient((_, nth) =>
      nth < 3 ? createRefusal(500, { "retry-after": "0" }) : queued(),
    );
    expect(await getVideoTask(client, handle)).toMatchObject({ state: "queued" });
    expect(requests).toHaveLength(3);
  });

  test("reads responses with the client's parser", async () => {
    const { client } = createTestClient(() => Response.json({ job: { status: "queued" } }), {
      gateway: { parseVideoTask: (raw, known) => parseVideoTask((raw as { job: unknown }).job, known) },
    });
    expect(await getVideoTask(client, handle)).toMatchObject({ id: "t-1", state: "queued" });
  });
});
