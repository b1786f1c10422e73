import { isGatewayError, parseVideoTask } from "@sluice/core";
import { describe, expect, test } from "vitest";

const created = 1_755_000_000;
const video = "https://cdn.test/v.mp4?sig=1";
const enveloped = (data: object) => ({ code: "success", message: "", data: { task_id: "t-1", ...data } });

describe("the state follows from the status alone (spec, Video task)", () => {
  test.each([
    ["NOT_START", "queued"],
    ["QUEUED", "queued"],
    ["queued", "queued"],
    ["", "queued"],
    ["IN_PROGRESS", "running"],
    ["in_progress", "running"],
    ["SUCCESS", "succeeded"],
    ["succeeded", "succeeded"],
    ["Succeeded", "succeeded"],
    ["FAILURE", "failed"],
    ["failed", "failed"],
    ["cancelled", "failed"],
    ["canceled", "failed"],
    ["expired", "failed"],
    ["PAUSED_FOR_REVIEW", "unknown"],
    ["constructor", "unknown"],
  ])("%j is %s, wrapped and bare, and rawStatus is unchanged", (status, state) => {
    for (const raw of [
      enveloped({ status, result_url: video }),
      { id: "t-1", status, content: { video_url: video } },
    ]) {
      const task = parseVideoTask(raw);
      expect(task).toMatchObject({ id: "t-1", state, rawStatus: status });
      expect(task.raw).toBe(raw);
    }
  });

  test("a fail_reason is not a failure, and 100 % is not a success", () => {
    const running = enveloped({ status: "IN_PROGRESS", progress: "100%", fail_reason: "overloaded" });
    expect(parseVideoTask(running)).toMatchObject({ state: "running", progress: 1 });
    const done = enveloped({ status: "SUCCESS", result_url: video, fail_reason: video });
    expect(parseVideoTask(done)).toMatchObject({ state: "succeeded", url: video });
  });

  test("a success without a URL is not final", () => {
    const raw = enveloped({ status: "SUCCESS", result_url: null, fail_reason: "" });
    expect(parseVideoTask(raw).state).toBe("result-pending");
  });
});

describe("the URL", () => {
  test.each([
    ["data.result_url", enveloped({ result_url: video, url: "https://other.test/" })],
    ["data.url", enveloped({ url: video })],
    ["data.content.video_url", enveloped({ content: { video_url: video } })],
    ["content.video_url", { content: { video_url: video } }],
    ["result_url", { result_url: video }],
    ["data.data.output.video_url", enveloped({ data: { output: { video_url: video } } })],
    ["data.data.content.video_url", enveloped({ data: { content: { video_url: video } } })],
    ["data.fail_reason", enveloped({ result_url: "", fail_reason: video })],
  ])("is found in %s, which is named in the task", (urlSource, raw) => {
    const status = "data" in raw && "code" in raw ? { data: { ...raw.data, status: "SUCCESS" } } : {};
    expect(
      parseVideoTask({ status: "code" in raw ? undefined : "succeeded", ...raw, ...status }),
    ).toMatchObject({
      state: "succeeded",
      url: video,
      urlSource,
    });
  });
});

describe("the last frame", () => {
  const frame = "https://cdn.test/last.png";
  test.each([
    ["beside the URL of the video", { content: { video_url: video, last_frame_url: frame } }],
    [
      "in the response of the model's own",
      { data: { content: { video_url: video, last_frame_url: frame } } },
    ],
    ["in the envelope", { result_url: video, last_frame_url: frame }],
  ])("is found %s", (_, fields) => {
    const task = parseVideoTask(enveloped({ status: "SUCCESS", ...fields }));
    expect(task).toMatchObject({ state: "succeeded", url: video, lastFrameURL: frame });
  });

  test("is absent if it is not an address", () => {
    const content = { video_url: video, last_frame_url: "" };
    expect(parseVideoTask(enveloped({ status: "SUCCESS", content }))).not.toHaveProperty("lastFrameURL");
  });
});

describe("the reason of a failure", () => {
  test.each([
    [{ fail_reason: "content policy" }, "content policy"],
    [{ fail_reason: video }, undefined],
    [{ fail_reason: "" }, undefined],
    [{ fail_reason: null, error: { code: "x", message: "no GPU" } }, "no GPU"],
    [{ fail_reason: video, error: "no GPU" }, "no GPU"],
    [{ error: { code: "content_filter" } }, "content_filter"],
    [{ fail_reason: "SUCCEED", message: "no credit" }, "no credit"],
    [{ task_status_msg: "risk control" }, "risk control"],
    [
      { data: { output: { task_status: "FAILED", code: "DataInspectionFailed", message: "unsafe input" } } },
      "DataInspectionFailed: unsafe input",
    ],
    [{ data: { output: { code: "InternalError" } } }, "InternalError"],
    [{ data: { error: { code: "1301", message: "sensitive" } } }, "sensitive"],
    [{ data: { error: "sensitive" } }, "sensitive"],
    [{ data: { task_status: "failed", task_status_msg: "risk control" } }, "risk control"],
    [{ data: { data: { task_status_msg: "risk control" } } }, "risk control"],
    [{ data: { message: "ok" } }, undefined],
    [{ data: [], error: 7, message: {}, task_status_msg: " " }, undefined],
  ])("%j gives %j", (fields, reason) => {
    const raw = enveloped({ status: "FAILURE", ...fields });
    for (const body of [raw, raw.data]) {
      const task = parseVideoTask(body);
      expect(task.state === "failed" && task.reason).toBe(reason);
    }
  });

  test.each(["content policy", "", "success", "Success", "SUCCEED", "SUCCEEDED", "ok", "OK", "successful"])(
    "is the envelope's message only if it speaks of no success: %j",
    (message) => {
      const task = parseVideoTask({ ...enveloped({ status: "FAILURE" }), message });
      expect(task.state === "failed" && task.reason).toBe(
        message === "content policy" ? "content policy" : undefined,
      );
    },
  );
});

describe("progress", () => {
  test.each([
    ["45%", 0.45],
    [" 45 % ", 0.45],
    ["45", 0.45],
    [45, 0.45],
    ["0%", 0],
    ["250%", 1],
    ["-3%", 0],
    ["", undefined],
    ["%", undefined],
    ["soon", undefined],
    [null, undefined],
    [Number.NaN, undefined],
  ])("%j is %j", (progress, expected) => {
    expect(parseVideoTask(enveloped({ status: "QUEUED", progress })).progress).toBe(expected);
  });
});

describe("times", () => {
  test("are Unix milliseconds, and 0 means unknown", () => {
    const task = parseVideoTask(
      enveloped({ status: "QUEUED", submit_time: created, start_time: 0, finish_time: 0 }),
    );
    expect(task.submittedAt).toBe(created * 1000);
    expect("startedAt" in task || "finishedAt" in task).toBe(false);
  });

  const done = { status: "SUCCESS", result_url: video, finish_time: created };
  test.each([
    ["beta3.0-video", {}, created * 1000 + 86_400_000],
    ["beta3.0-video-prime", {}, created * 1000 + 86_400_000],
    ["gamma-video-2.0", {}, undefined],
    ["gamma-video-1-5-pro-251215", {}, undefined],
    [undefined, { data: { output: { task_id: "u" } } }, created * 1000 + 86_400_000],
    [undefined, { data: {} }, undefined],
    ["beta3.0-video", { finish_time: 0 }, undefined],
  ])("include the end of a URL of %s: %j gives %j", (model, fields, expiresAt) => {
    const task = parseVideoTask(enveloped({ ...done, ...fields }), { model });
    expect(task.state === "succeeded" && task.expiresAt).toBe(expiresAt);
  });
});

test("a snapshot is plain JSON", () => {
  const task = parseVideoTask(enveloped({ status: "SUCCESS", result_url: video, progress: "100%" }));
  expect(JSON.parse(JSON.stringify(task))).toEqual(task);
});

test.each([
  ["data", null],
  ["data", "done"],
  ["status", {}],
  ["status", { code: "success", message: "", data: null }],
  ["data.status", enveloped({})],
  ["data.status", enveloped({ status: 3 })],
  ["data.result_url", enveloped({ status: "SUCCESS", result_url: 7 })],
])("a response without a task names the path: %s in %j", (path, raw) => {
  try {
    parseVideoTask(raw);
  } catch (error) {
    expect(isGatewayError(error) && error.name === "ResponseError" && error.path).toBe(path);
    return;
  }
  throw new Error("expected an error");
});
