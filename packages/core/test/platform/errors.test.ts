import { errorCases } from "virtual:conformance";
import {
  APIError,
  ConfigurationError,
  completeChat,
  isGatewayError,
  StreamError,
  streamChat,
  ValidationError,
} from "@sluice/core";
import { describe, expect, test } from "vitest";
import { catchError, createTestClient, question } from "../support/gateway.js";
import { describeRecorded } from "../support/recorded.js";

describeRecorded("recorded error responses", errorCases, (cases) => {
  for (const { id, status, headers, body, expected } of cases) {
    const { "content-length": _, ...rest } = headers;
    const respond = () => new Response(body, { status, headers: rest });

    test(`${id} is an APIError with the recorded fields`, async () => {
      const { client } = createTestClient(respond, { retry: { limit: 0 } });
      if (expected.not_error_required) {
        expect((await completeChat(client, question)).message.content).not.toBe("");
        expect((await streamChat(client, question).result()).message.content).not.toBe("");
        return;
      }
      for (const sent of [completeChat(client, question), streamChat(client, question).result()]) {
        const error = await catchError(sent);
        if (!(error instanceof APIError)) throw error;
        expect(error.status).toBe(expected.status);
        expect(expected.code_may_be ?? [expected.code]).toContain(error.code ?? null);
        expect(error.type ?? null).toBe(expected.type);
        expect(expected.param_may_be ?? [expected.param]).toContain(error.param ?? null);
        if (expected.message !== null) expect(error.message).toBe(expected.message);
        else expect(error.message).toContain(String(status));
        expect(error.message).not.toMatch(/SyntaxError|Unexpected (token|end)/);
        expect(error.body.length).toBeLessThanOrEqual(8193);
      }
    });
  }
});

describe("the message of an error body", () => {
  test.each([
    ['{"code":1001,"msg":"quota exhausted"}', "quota exhausted", "1001"],
    [
      '{"code":"InvalidParameter","message":"no such size","param":"size"}',
      "no such size",
      "InvalidParameter",
    ],
    ['{"success":false,"msg":"not today"}', "not today", undefined],
    ['{"errors":["first","second"]}', "first", undefined],
    ['{"errors":[{"message":"no such size","code":"bad_size"}]}', "no such size", "bad_size"],
    ['{"message":"two errors","errors":[]}', "two errors", undefined],
    ['{"code":7,"error":{},"message":"outside"}', "outside", undefined],
    ['{"error":"","message":"outside"}', "outside", undefined],
    ['[""]', "HTTP", undefined],
    ['{"status":"maintenance","message":"back at noon"}', "back at noon", undefined],
    ['{"error":"busy","code":9}', "busy", "9"],
    ['{"detail":[{"loc":["body"],"msg":"missing"}]}', '[{"loc":["body"],"msg":"missing"}]', undefined],
  ])("is read from %s", async (body, message, code) => {
    for (const status of [200, 400]) {
      const { client } = createTestClient(() => new Response(body, { status }));
      const error = await catchError(completeChat(client, question));
      expect(error).toMatchObject({ name: "APIError", status, message: expect.stringContaining(message) });
      expect((error as APIError).code).toBe(code);
    }
  });

  test("is read from a body of any length and depth, and is bounded", async () => {
    const deep = `${"[".repeat(20_000)}1${"]".repeat(20_000)}`;
    for (const body of [`{"detail":${deep}}`, `{"errors":${deep}}`, `{"message":"${"x".repeat(100_000)}"}`]) {
      const { client } = createTestClient(() => new Response(body, { status: 400 }));
      const error = (await catchError(completeChat(client, question))) as Error;
      expect(error).toMatchObject({ name: "APIError", status: 400 });
      expect(error.message.length).toBeLessThan(8200);
      expect(JSON.stringify(error).length).toBeLessThan(50_000);
    }
  });
});

test("a fetch that rejects with nothing is a failed connection", async () => {
  const { client } = createTestClient(() => Promise.reject(), { retry: { limit: 0 } });
  const error = await catchError(completeChat(client, question));
  expect(error).toMatchObject({ name: "ConnectionError", billing: "maybe" });
  expect((error as Error).cause).toBeUndefined();
});

test("an error keeps 8,192 characters of the body, and marks a longer body as truncated", async () => {
  const whole = "x".repeat(8192);
  for (const [body, expected] of [
    [whole, whole],
    [`${whole}x`, `${whole}…`],
  ]) {
    const { client } = createTestClient(() => new Response(body, { status: 400 }));
    expect(await catchError(completeChat(client, question))).toMatchObject({ body: expected });
  }
});

describe("the id of a request", () => {
  test.each([
    ["r-1", { "x-request-id": "r-1" }],
    [undefined, {}],
  ])("is %j for a response with the headers %j", async (requestId, headers) => {
    const { client } = createTestClient(() => new Response("{}", { status: 400, headers }));
    const error = await catchError(completeChat(client, question));
    expect((error as APIError).requestId).toBe(requestId);
  });
});

describe("the error family", () => {
  test("is recognized by one guard, even from another copy of the package", () => {
    const foreign = Object.assign(new Error("x"), { [Symbol.for("sluice.GatewayError")]: true });
    expect(isGatewayError(new ValidationError([]))).toBe(true);
    expect(isGatewayError(foreign)).toBe(true);
    for (const other of [new Error("x"), new DOMException("x", "AbortError"), undefined, null, "x"])
      expect(isGatewayError(other)).toBe(false);
  });

  test("lists every broken rule on its own line, with the field's path first", () => {
    const error = new ValidationError([
      { path: "max_tokens", message: "expected >=1, got 0", rule: "chat.alpha.max-tokens" },
      { path: "", message: "is no object", rule: "chat" },
    ]);
    expect(error.message).toBe("max_tokens: expected >=1, got 0\nis no object");
  });

  test("has its fields in JSON, without keys, data URIs and signatures", () => {
    const body =
      "key sk-1234567890abc, Authorization: Bearer topsecret123, data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==, https://cdn.test/v.mp4?X-Sig=abcdef&e=1";
    const error = new APIError(
      "denied for sk-1234567890abc",
      { status: 403, type: "t", code: "c", body },
      { requestId: "r-1", cause: new Error("Bearer topsecret123") },
    );
    const json = JSON.parse(JSON.stringify(error)) as Record<string, unknown>;
    expect(json).toMatchObject({
      name: "APIError",
      status: 403,
      type: "t",
      code: "c",
      requestId: "r-1",
    });
    for (const secret of ["1234567890abc", "topsecret123", "iVBORw0KGgo", "abcdef"])
      expect(JSON.stringify(error)).not.toContain(secret);
    expect(JSON.stringify(error)).toContain("https://cdn.test/v.mp4?[redacted]");
  });

  test("omits the text of a response from its JSON, which is for logs", () => {
    const error = new StreamError("cut", {
      reason: "truncated",
      partial: { role: "assistant", content: "Hel" },
    });
    const json = JSON.stringify([error, new Error("x", { cause: error })]);
    expect(JSON.parse(json)[0]).toMatchObject({ reason: "truncated", message: "cut" });
    expect(json).not.toContain("Hel");
  });

  test("redacts credentials in URLs", () => {
    const error = new ConfigurationError("see https://me:pass@host.test/x");
    expect(error.toJSON()["message"]).toBe("see https://[redacted]@host.test/x");
  });
});
