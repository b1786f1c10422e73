import * as core from "@sluice/core";
import {
  APIError,
  ConfigurationError,
  ConnectionError,
  type Outcome,
  ResponseError,
  StreamError,
  TaskError,
  TimeoutError,
  ValidationError,
} from "@sluice/core";
import { describeError, type ErrorDescription, errorMessages } from "@sluice/react";
import { createChatStore, memoryStorage } from "@sluice/stores";
import { afterEach, describe, expect, test, vi } from "vitest";
import { clientOf } from "../../core/test/support/gateway.js";
import { until } from "../../stores/test/support/chat.js";

afterEach(() => vi.unstubAllGlobals());

const handle = { id: "t-1" };
const answer = (status: number, fields: object = {}) => new APIError("no", { status, body: "", ...fields });
const issue = (path: string, rule: string) => new ValidationError([{ path, message: "no", rule }]);
const withOutcome = (error: Error, outcome: Outcome) => Object.assign(error, { outcome });
const pending = { id: "t-1", state: "running" } as never;
const asset = { id: "a-1", uri: "asset://a-1", state: "failed" } as never;

const cases = [
  ["ConfigurationError", new ConfigurationError("no"), "setup", "contact", false],
  ["ValidationError", issue("prompt", "image.prompt"), "invalidInput", "check-input", false],
  ["ValidationError of a blind model", issue("images", "chat.images"), "blindModel", "switch-model", false],
  ["ValidationError of one image", issue("images.0", "chat.images"), "invalidInput", "check-input", false],
  ["APIError 400", answer(400), "refusedInput", "check-input", false],
  ["APIError 401", answer(401), "signedOut", "sign-in", false],
  ["APIError 403", answer(403), "forbidden", "contact", false],
  [
    "APIError 403 of a model",
    answer(403, { code: "model_not_allowed" }),
    "modelNotAllowed",
    "switch-model",
    false,
  ],
  ["APIError 404", answer(404), "notFound", "none", false],
  [
    "APIError 404 of another server",
    answer(404, { reason: "wrong-address" }),
    "wrongAddress",
    "contact",
    false,
  ],
  [
    "APIError in the page of a site",
    withOutcome(answer(200, { reason: "wrong-address" }), "unknown"),
    "wrongAddress",
    "contact",
    false,
  ],
  [
    "APIError 404 of a server that the proxy took for the gateway",
    answer(404, { code: "upstream_type" }),
    "setup",
    "contact",
    false,
  ],
  ["APIError 403 of a page", answer(403, { code: "origin_not_allowed" }), "originRefused", "contact", false],
  ["APIError 413", answer(413), "tooLong", "check-input", false],
  ["APIError 422", answer(422), "refusedInput", "check-input", false],
  ["APIError 429", answer(429), "rateLimited", "wait", false],
  ["APIError 429 of a budget", answer(429, { code: "budget_exhausted" }), "budgetUsed", "wait", false],
  [
    "APIError 429 of a budget that all share",
    answer(429, { code: "shared_budget_exhausted" }),
    "sharedBudgetUsed",
    "wait",
    false,
  ],
  ["APIError 500", answer(500), "serviceDown", "retry", true],
  ["APIError 502 of the proxy's key", answer(502, { code: "upstream_auth" }), "setup", "contact", false],
  ["APIError 504 of a silent gateway", answer(504, { code: "upstream_idle" }), "stalled", "retry", true],
  ["APIError in a 200", answer(200), "modelFailed", "retry", true],
  ["ConnectionError, not sent", new ConnectionError("no", "not-sent"), "unreachable", "retry", false],
  ["ConnectionError, after a refusal", new ConnectionError("no", "refused"), "unreachable", "retry", false],
  ["ConnectionError", new ConnectionError("no", "unknown"), "connectionLost", "retry", true],
  [
    "ConnectionError of a page whose origin is refused",
    Object.assign(new ConnectionError("no", "unknown"), { reason: "origin-refused" }),
    "originRefused",
    "contact",
    false,
  ],
  ["TimeoutError until the first chunk", new TimeoutError("no", "first-chunk"), "timedOut", "retry", true],
  ["TimeoutError between chunks", new TimeoutError("no", "chunk"), "stalled", "retry", true],
  [
    "TimeoutError of a task",
    Object.assign(new TimeoutError("no", "deadline"), { handle }),
    "videoLate",
    "wait",
    false,
  ],
  [
    "StreamError, truncated",
    new StreamError("no", { reason: "truncated", partial: {} }),
    "cutOff",
    "retry",
    true,
  ],
  [
    "StreamError, malformed",
    new StreamError("no", { reason: "malformed", partial: {} }),
    "damaged",
    "retry",
    true,
  ],
  [
    "StreamError of the server",
    new StreamError("no", { reason: "server-error", partial: {} }),
    "modelFailed",
    "retry",
    true,
  ],
  ["ResponseError", new ResponseError("no", { path: "data", body: "" }), "unreadable", "retry", true],
  ["TaskError", new TaskError("no", { reason: "failed", task: pending }), "videoFailed", "check-input", true],
  [
    "TaskError without a URL",
    new TaskError("no", { reason: "no-result", task: pending }),
    "videoMissing",
    "wait",
    true,
  ],
  [
    "TaskError of an expired task",
    new TaskError("no", { reason: "expired" }),
    "videoExpired",
    "retry",
    false,
  ],
  [
    "TaskError of an asset",
    new TaskError("no", { reason: "failed", task: asset }),
    "assetFailed",
    "check-input",
    true,
  ],
  ["an image that failed", { message: "the gateway gave no image" }, "imageFailed", "check-input", true],
  ["a storage that is full", new DOMException("no", "QuotaExceededError"), "storageFull", "none", false],
  [
    "a text that the model has no room for",
    answer(400, { code: "context_length_exceeded" }),
    "tooLong",
    "check-input",
    false,
  ],
  ["an abort", new DOMException("no", "AbortError"), "stopped", "none", true],
  ["an error of somebody else", new RangeError("no"), "unexpected", "retry", false],
  ["something that is no error", "no", "unexpected", "retry", false],
  ["nothing", null, "unexpected", "retry", false],
  ["APIError without a status", { name: "APIError" }, "unexpected", "retry", false],
  ["APIError 408", answer(408), "timedOut", "retry", true],
  [
    "APIError 400 with a name of objects",
    answer(400, { code: "constructor" }),
    "refusedInput",
    "check-input",
    false,
  ],
  [
    "ValidationError of an earlier page load",
    { name: "ValidationError" },
    "invalidInput",
    "check-input",
    false,
  ],
] as const;

test.each(cases)("%s is described", (_, error, kind, action, mayBeBilled) => {
  expect(describeError(error)).toMatchObject({ kind, action, mayBeBilled });
});

test("The error of a later step says that the answers before it may be billed, and never that nothing was sent", () => {
  const issues = [{ path: "messages", message: "is too long", rule: "chat.messages" }];
  for (const error of [
    new ValidationError(issues),
    new ConfigurationError("no key"),
    new APIError("who?", { status: 401, body: "" }),
    new Error("in a prompt"),
  ]) {
    const { hint, mayBeBilled } = describeError(Object.assign(error, { outcome: "unknown" }));
    expect(mayBeBilled).toBe(true);
    expect(hint).toContain("may have been charged");
    expect(hint).not.toMatch(/nothing was sent/i);
  }
});

test("every error of the family is among those that are described", () => {
  const classes = Object.keys(core).filter((name) => name.endsWith("Error") && !/^(is|Gateway)/.test(name));
  const described = cases.map(([name]) => name.split(/[ ,]/)[0]);
  expect(classes.length).toBeGreaterThan(7);
  expect(classes.filter((name) => !described.includes(name))).toEqual([]);
});

test("a page without a network is offline", () => {
  vi.stubGlobal("navigator", { onLine: false });
  expect(describeError(new ConnectionError("no", "not-sent")).title).toBe("You seem to be offline");
});

describe("the bill", () => {
  test("is mentioned where the outcome is unknown, and only there", () => {
    const hintOf = (outcome: Outcome) => describeError(withOutcome(answer(500), outcome)).hint;
    expect(hintOf("unknown")).toBe("Try again in a few minutes. You may have been charged.");
    expect(hintOf("refused")).toBe("Try again in a few minutes.");
  });

  test("follows the outcome of a state where the error has none", () => {
    const abort = new DOMException("no", "AbortError");
    expect(describeError(abort, { outcome: "not-sent" })).toMatchObject({ hint: "", mayBeBilled: false });
    expect(describeError(abort, { outcome: "unknown" }).hint).toBe("You may have been charged.");
  });

  test("is not mentioned where only a poll failed", () => {
    const poll = Object.assign(new ConnectionError("no", "unknown"), { handle });
    expect(describeError(poll)).toMatchObject({ kind: "connectionLost", mayBeBilled: false });
  });
});

test("the time to wait counts from the first description of an error", () => {
  vi.useFakeTimers({ now: 1000 });
  const error = answer(429, { retryAfterMs: 5000 });
  expect(describeError(error).retryAt).toBe(6000);
  vi.setSystemTime(3000);
  expect(describeError(error).retryAt).toBe(6000);
  expect(describeError(answer(429))).not.toHaveProperty("retryAt");
  vi.useRealTimers();
});

test("an error that a storage kept is described as before", async () => {
  const storage = memoryStorage();
  const open = () => {
    const { client } = clientOf(() => Response.json({ error: { message: "no" } }, { status: 401 }));
    return createChatStore(client, { id: "a", model: "delta-5.3", storage });
  };
  const before = open();
  await before.send("Hi");
  const failed = before.getSnapshot().error;
  before.close();
  const after = open();
  await until(after, ({ isRestoring }) => !isRestoring);
  const kept = after.getSnapshot().messages.at(-1)?.error;
  expect(kept).not.toBe(failed);
  expect(describeError(kept)).toEqual(describeError(failed));
  expect(describeError(kept).kind).toBe("signedOut");
});

test("each text is short: a title of five words and a hint of twelve, with the bill", () => {
  const { mayBeBilled, attachments: _, ...texts } = errorMessages;
  const kinds = Object.entries(texts) as [
    ErrorDescription["kind"],
    (typeof texts)[ErrorDescription["kind"]],
  ][];
  for (const [kind, { title, hint }] of kinds) {
    const count = (text: string) => text.split(" ").length;
    expect.soft(count(title), `${kind}: ${title}`).toBeLessThanOrEqual(5);
    expect.soft(count(`${hint} ${mayBeBilled}`), `${kind}: ${hint}`).toBeLessThanOrEqual(12);
  }
});

test("the texts can be replaced", () => {
  const messages = { ...errorMessages, signedOut: { title: "Bitte anmelden", hint: "Dann noch einmal." } };
  expect(describeError(answer(401), { messages })).toMatchObject({
    title: "Bitte anmelden",
    hint: "Dann noch einmal.",
  });
  // @ts-expect-error a missing kind is no table
  const incomplete: typeof errorMessages = { signedOut: messages.signedOut, mayBeBilled: "" };
  expect(incomplete).toBeTruthy();
});
