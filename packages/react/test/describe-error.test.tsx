import * as core from "@sluice/core";
import {
  APIError,
  type Billing,
  ConfigurationError,
  ConnectionError,
  ResponseError,
  StreamError,
  TaskError,
  TimeoutError,
  ValidationError,
} from "@sluice/core";
import { describeError, type ErrorDescription, errorMessages } from "@sluice/react";
import { createChatStore, memoryStorage } from "@sluice/stores";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createTestClient } from "../../core/test/support/gateway.js";
import { until } from "../../stores/test/support/chat.js";

afterEach(() => vi.unstubAllGlobals());

const handle = { id: "t-1" };
const refuse = (status: number, fields: object = {}) => new APIError("no", { status, body: "", ...fields });
const issue = (path: string, rule: string) => new ValidationError([{ path, message: "no", rule }]);
const withBilling = (error: Error, billing: Billing) => Object.assign(error, { billing });
const pending = { id: "t-1", state: "running" } as never;
const asset = { id: "a-1", uri: "asset://a-1", state: "failed" } as never;

const cases = [
  ["ConfigurationError", new ConfigurationError("no"), "setup", "contact", "none"],
  ["ValidationError", issue("prompt", "image.prompt"), "invalidInput", "check-input", "none"],
  ["ValidationError of a blind model", issue("images", "chat.images"), "blindModel", "switch-model", "none"],
  ["ValidationError of one image", issue("images.0", "chat.images"), "invalidInput", "check-input", "none"],
  ["APIError 400", refuse(400), "refusedInput", "check-input", "none"],
  ["APIError 401", refuse(401), "signedOut", "sign-in", "none"],
  ["APIError 403", refuse(403), "forbidden", "contact", "none"],
  ["APIError 409 of a user", refuse(409, { code: "user_mismatch" }), "otherUser", "sign-in", "none"],
  [
    "APIError 403 of a model",
    refuse(403, { code: "model_not_allowed" }),
    "modelNotAllowed",
    "switch-model",
    "none",
  ],
  ["APIError 404", refuse(404), "notFound", "none", "none"],
  [
    "APIError 404 of another server",
    refuse(404, { reason: "wrong-address" }),
    "wrongAddress",
    "contact",
    "none",
  ],
  [
    "APIError in the page of a site",
    withBilling(refuse(200, { reason: "wrong-address" }), "maybe"),
    "wrongAddress",
    "contact",
    "none",
  ],
  [
    "APIError 404 of a server that the proxy took for the gateway",
    refuse(404, { code: "upstream_type" }),
    "setup",
    "contact",
    "none",
  ],
  ["APIError 403 of a page", refuse(403, { code: "origin_not_allowed" }), "originRefused", "contact", "none"],
  ["APIError 413", refuse(413), "tooLong", "check-input", "none"],
  ["APIError 422", refuse(422), "refusedInput", "check-input", "none"],
  ["APIError 429", refuse(429), "rateLimited", "wait", "none"],
  ["APIError 429 of a budget", refuse(429, { code: "budget_exhausted" }), "budgetUsed", "wait", "none"],
  [
    "APIError 429 of a budget that all share",
    refuse(429, { code: "shared_budget_exhausted" }),
    "sharedBudgetUsed",
    "wait",
    "none",
  ],
  ["APIError 500", refuse(500), "serviceDown", "retry", "maybe"],
  ["APIError 502 of the proxy's key", refuse(502, { code: "upstream_auth" }), "setup", "contact", "none"],
  ["APIError 504 of a silent gateway", refuse(504, { code: "upstream_idle" }), "stalled", "retry", "maybe"],
  ["APIError in a 200", refuse(200), "modelFailed", "retry", "maybe"],
  ["ConnectionError, not sent", new ConnectionError("no", "none"), "unreachable", "retry", "none"],
  ["ConnectionError", new ConnectionError("no", "maybe"), "connectionLost", "retry", "maybe"],
  [
    "ConnectionError of a page whose origin is refused",
    Object.assign(new ConnectionError("no", "maybe"), { reason: "origin-refused" }),
    "originRefused",
    "contact",
    "none",
  ],
  ["TimeoutError until the first chunk", new TimeoutError("no", "first-chunk"), "timedOut", "retry", "maybe"],
  ["TimeoutError between chunks", new TimeoutError("no", "chunk"), "stalled", "retry", "maybe"],
  [
    "TimeoutError of a task",
    Object.assign(new TimeoutError("no", "deadline"), { handle }),
    "videoLate",
    "wait",
    "none",
  ],
  [
    "StreamError, truncated",
    new StreamError("no", { reason: "truncated", partial: {} }),
    "cutOff",
    "retry",
    "maybe",
  ],
  [
    "StreamError, interrupted",
    new StreamError("no", { reason: "interrupted", partial: {} }),
    "cutOff",
    "retry",
    "maybe",
  ],
  [
    "StreamError, malformed",
    new StreamError("no", { reason: "malformed", partial: {} }),
    "damaged",
    "retry",
    "maybe",
  ],
  [
    "StreamError of the server",
    new StreamError("no", { reason: "server-error", partial: {} }),
    "modelFailed",
    "retry",
    "maybe",
  ],
  ["ResponseError", new ResponseError("no", { path: "data", body: "" }), "unreadable", "retry", "maybe"],
  [
    "TaskError",
    new TaskError("no", { reason: "failed", task: pending }),
    "videoFailed",
    "check-input",
    "maybe",
  ],
  [
    "TaskError without a URL",
    new TaskError("no", { reason: "no-result", task: pending }),
    "videoMissing",
    "wait",
    "maybe",
  ],
  [
    "TaskError of an expired task",
    new TaskError("no", { reason: "expired" }),
    "videoExpired",
    "retry",
    "none",
  ],
  [
    "TaskError of an asset",
    new TaskError("no", { reason: "failed", task: asset }),
    "assetFailed",
    "check-input",
    "maybe",
  ],
  ["an image that failed", { message: "the gateway gave no image" }, "imageFailed", "check-input", "maybe"],
  ["a storage that is full", new DOMException("no", "QuotaExceededError"), "storageFull", "none", "none"],
  [
    "a text that the model has no room for",
    refuse(400, { code: "context_length_exceeded" }),
    "tooLong",
    "check-input",
    "none",
  ],
  ["an abort", new DOMException("no", "AbortError"), "stopped", "none", "maybe"],
  ["an error of somebody else", new RangeError("no"), "unexpected", "retry", "none"],
  ["something that is no error", "no", "unexpected", "retry", "none"],
  ["nothing", null, "unexpected", "retry", "none"],
  ["APIError without a status", { name: "APIError" }, "unexpected", "retry", "none"],
  ["APIError 408", refuse(408), "timedOut", "retry", "maybe"],
  [
    "APIError 400 with a name of objects",
    refuse(400, { code: "constructor" }),
    "refusedInput",
    "check-input",
    "none",
  ],
  [
    "ValidationError of an earlier page load",
    { name: "ValidationError" },
    "invalidInput",
    "check-input",
    "none",
  ],
] as const;

test.each(cases)("%s is described", (_, error, kind, action, billing) => {
  expect(describeError(error)).toMatchObject({ kind, action, billing });
});

test("The error of a later step says that the responses before it may be billed, and never that nothing was sent", () => {
  const issues = [{ path: "messages", message: "is too long", rule: "chat.messages" }];
  for (const error of [
    new ValidationError(issues),
    new ConfigurationError("no key"),
    new APIError("who?", { status: 401, body: "" }),
    new Error("in a prompt"),
  ]) {
    const { hint, billing } = describeError(Object.assign(error, { billing: "maybe" }));
    expect(billing).toBe("maybe");
    expect(hint).toContain("may have been charged");
    expect(hint).not.toMatch(/nothing was sent/i);
  }
});

test("describeError is tested with every error class of the core", () => {
  const classes = Object.keys(core).filter((name) => name.endsWith("Error") && !/^(is|Gateway)/.test(name));
  const described = cases.map(([name]) => name.split(/[ ,]/)[0]);
  expect(classes.length).toBeGreaterThan(7);
  expect(classes.filter((name) => !described.includes(name))).toEqual([]);
});

test("a page without a network is offline", () => {
  vi.stubGlobal("navigator", { onLine: false });
  expect(describeError(new ConnectionError("no", "none")).title).toBe("You seem to be offline");
});

describe("the bill", () => {
  test("is mentioned where the billing is maybe, and only there", () => {
    const findHint = (billing: Billing) => describeError(withBilling(refuse(500), billing)).hint;
    expect(findHint("maybe")).toBe("Try again in a few minutes. You may have been charged.");
    expect(findHint("none")).toBe("Try again in a few minutes.");
  });

  test("follows the billing of a stopped request", () => {
    const stopped = (billing: Billing) => withBilling(new DOMException("no", "AbortError"), billing);
    expect(describeError(stopped("none"))).toMatchObject({ hint: "", billing: "none" });
    expect(describeError(stopped("maybe")).hint).toBe("You may have been charged.");
  });

  test("is not mentioned where only a poll failed", () => {
    const poll = Object.assign(new ConnectionError("no", "maybe"), { handle });
    expect(describeError(poll)).toMatchObject({ kind: "connectionLost", billing: "none" });
  });
});

test("the time to wait counts from the first description of an error", () => {
  vi.useFakeTimers({ now: 1000 });
  const error = refuse(429, { retryAfterMs: 5000 });
  expect(describeError(error).retryAt).toBe(6000);
  vi.setSystemTime(3000);
  expect(describeError(error).retryAt).toBe(6000);
  expect(describeError(refuse(429))).not.toHaveProperty("retryAt");
  vi.useRealTimers();
});

test("describes an error read from storage like the original error", async () => {
  const storage = memoryStorage();
  const open = () => {
    const { client } = createTestClient(() => Response.json({ error: { message: "no" } }, { status: 401 }));
    return createChatStore(client, { id: "a", model: "delta-5.3", storage });
  };
  const before = open();
  await before.send("Hi");
  const failed = before.getSnapshot().error;
  before.close();
  const after = open();
  await until(after, ({ persistence }) => persistence?.status !== "restoring");
  const stored = after.getSnapshot().messages.at(-1)?.error;
  expect(stored).not.toBe(failed);
  expect(describeError(stored)).toEqual(describeError(failed));
  expect(describeError(stored).kind).toBe("signedOut");
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
  expect(describeError(refuse(401), { messages })).toMatchObject({
    title: "Bitte anmelden",
    hint: "Dann noch einmal.",
  });
  // @ts-expect-error a missing kind is no table
  const incomplete: typeof errorMessages = { signedOut: messages.signedOut, mayBeBilled: "" };
  expect(incomplete).toBeTruthy();
});
