import {
  type CallInfo,
  type Client,
  type ClientEvent,
  type ClientOptions,
  completeChat,
  createAsset,
  createClient,
  createVideoTask,
  generateImages,
  getAsset,
  getVideoTask,
  streamChat,
  subscribeToEvents,
} from "@sluice/core";
import { createEpsilonTask, getEpsilonTask } from "@sluice/core/epsilon";
import { sendRequest } from "@sluice/core/extend";
import { createChatStore } from "@sluice/stores";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  catchError,
  createTestClient,
  DONE,
  frame,
  openBody,
  question,
  settled,
  stoppedClock,
  streamResponse,
} from "../../core/test/support/gateway.js";

type CallEvent = Extract<ClientEvent, { readonly kind: unknown }>;
type EndEvent = Extract<CallEvent, { readonly type: "end" }>;

const key = "sk-live-0123456789abcdef";
const usage = { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 };
const completion = {
  id: "c-1",
  model: "delta-5.3",
  choices: [{ index: 0, message: { role: "assistant", content: "Blue." }, finish_reason: "stop" }],
  usage,
};
const createRefusal = (status: number, headers: Record<string, string> = {}) =>
  Response.json({ error: { message: `refused with ${status}` } }, { status, headers });

/** Creates a client whose gateway is `respond`, and records the events of its calls. */
function recordEvents(respond: Parameters<typeof createTestClient>[0], options: Partial<ClientOptions> = {}) {
  const events: CallEvent[] = [];
  const { client, requests } = createTestClient(respond, {
    ...options,
    onEvent: (event) => {
      if ("kind" in event) events.push(event);
    },
  });
  return {
    client,
    requests,
    events,
    ends: () => events.filter((event): event is EndEvent => event.type === "end"),
  };
}

const listTypes = (events: readonly ClientEvent[]) => events.map(({ type }) => type);

describe("the events of a call", () => {
  test("report a stream from its first attempt to its end, without its content and the API key", async () => {
    const clock = stoppedClock();
    const { client, events } = recordEvents(
      (_, nth) =>
        nth === 1
          ? createRefusal(429, { "retry-after": "0", "x-request-id": "r-1" })
          : streamResponse(frame({ content: "Hi" }, "stop", { usage }) + DONE),
      { apiKey: key, dangerouslyAllowBrowser: true, clock },
    );
    await streamChat(client, question).result();
    const { callId } = events[0] as CallEvent;
    const call = { callId, kind: "chat", model: "delta-5.3", path: "/v1/chat/completions" };
    expect(events).toMatchObject([
      { ...call, type: "request", attempt: 1 },
      { ...call, type: "response", attempt: 1, status: 429, durationMs: 0, requestId: "r-1" },
      { ...call, type: "retry", attempt: 1, delayMs: 0, error: { status: 429 } },
      { ...call, type: "request", attempt: 2 },
      { ...call, type: "response", attempt: 2, status: 200, durationMs: 0 },
      { ...call, type: "first-chunk", durationMs: 0 },
      {
        ...call,
        type: "end",
        outcome: "complete",
        durationMs: 0,
        usage,
        timing: { firstTokenMs: 0, totalMs: 0 },
      },
    ]);
    expect(events).toHaveLength(7);
    expect(callId).not.toBe("");
    for (const secret of [key, "sky", "Hi"]) expect(JSON.stringify(events)).not.toContain(secret);
  });

  test("Two parallel calls have different callIds, which separate their timelines", async () => {
    const clock = stoppedClock();
    const chat = openBody();
    let respondToImage = (_: Response): void => {};
    const { client, events } = recordEvents(
      (request) =>
        request.url.endsWith("/v1/images/generations")
          ? new Promise<Response>((resolve) => {
              respondToImage = resolve;
            })
          : streamResponse(chat.body),
      { clock },
    );
    // the times of a call begin with the call
    await clock.advance(7000);
    const streamed = streamChat(client, question).result();
    const image = generateImages(client, { model: "gamma-image-5-0-260128", prompt: "A reef" });
    await chat.wanted();
    await clock.advance(1000);
    chat.send(frame({ content: "Hi" }));
    await chat.wanted();
    await clock.advance(500);
    respondToImage(
      Response.json({ data: [{ url: "https://cdn.test/1.png" }], usage: { generated_images: 1 } }),
    );
    await image;
    chat.send(frame({}, "stop") + DONE);
    await streamed;

    const callIds = [...new Set(events.map(({ callId }) => callId))];
    const lines = callIds.map((callId) => events.filter((event) => event.callId === callId));
    expect(lines.map(([first]) => first?.kind).sort()).toEqual(["chat", "image"]);
    const formatEvent = (kind: string) => lines.find(([first]) => first?.kind === kind) ?? [];
    expect(listTypes(formatEvent("chat"))).toEqual(["request", "response", "first-chunk", "end"]);
    expect(formatEvent("chat").slice(2)).toMatchObject([
      { durationMs: 1000 },
      { outcome: "complete", durationMs: 1500, timing: { firstTokenMs: 1000, totalMs: 1500 } },
    ]);
    expect(listTypes(formatEvent("image"))).toEqual(["request", "response", "end"]);
    expect(formatEvent("image")[1]).toMatchObject({ durationMs: 1500 });
    expect(formatEvent("image")[2]).toMatchObject({
      model: "gamma-image-5-0-260128",
      outcome: "complete",
      durationMs: 1500,
      usage: { generated_images: 1 },
    });
    expect(listTypes(events).lastIndexOf("end")).toBe(events.length - 1);
  });

  describe("end with", () => {
    const secret = "canary-7f3a";
    /** Counts, and texts that a gateway may send beside them. Events must not contain the texts. */
    const wide = {
      prompt_tokens: 3,
      completion_tokens: 5,
      total_tokens: 8,
      prompt_cache_hit_tokens: 2,
      prompt_cache_miss_tokens: 1,
      prompt_tokens_details: { cached_tokens: 2, note: secret, parts: [{ text: secret }] },
      completion_tokens_details: { reasoning_tokens: 4 },
      comment: secret,
    };
    const counted = {
      prompt_tokens: 3,
      completion_tokens: 5,
      total_tokens: 8,
      prompt_cache_hit_tokens: 2,
      prompt_cache_miss_tokens: 1,
      prompt_tokens_details: { cached_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 4 },
    };
    const fields = { responseId: "chat-1", responseModel: "delta-5.3-0901", finishReason: "stop" };
    const model = fields.responseModel;

    test("the ids, the finish_reason and all counts of a chat response, streamed or not, and no text", async () => {
      const streamed = recordEvents(() =>
        streamResponse(frame({ content: secret }, "stop", { model, usage: wide }) + DONE),
      );
      await streamChat(streamed.client, question).result();
      const whole = recordEvents(() => Response.json({ ...completion, id: "chat-1", model, usage: wide }));
      await completeChat(whole.client, question);
      for (const { ends, events } of [streamed, whole]) {
        expect(ends()).toMatchObject([{ outcome: "complete", ...fields }]);
        expect(ends()[0]?.usage).toEqual(counted);
        expect(JSON.stringify(events)).not.toContain(secret);
      }
    });

    test("the received part of a response that was lost or stopped", async () => {
      const head = frame({ content: "Hel" }, null, { model, usage: wide });
      const cut = recordEvents(() => streamResponse(head));
      await catchError(streamChat(cut.client, question).result());
      const body = openBody();
      const stopped = recordEvents(() => streamResponse(body.body));
      const stream = streamChat(stopped.client, question);
      const failed = catchError(stream.result());
      await body.wanted();
      body.send(head);
      await body.wanted();
      stream.abort();
      await failed;
      const known = { responseId: "chat-1", responseModel: model, usage: counted };
      expect(cut.ends()).toMatchObject([{ outcome: "truncated", ...known }]);
      expect(stopped.ends()).toMatchObject([{ outcome: "stopped", ...known }]);
      for (const { ends } of [cut, stopped]) {
        expect(ends()[0]?.finishReason).toBeUndefined();
        expect(ends()[0]?.timing).toBeUndefined();
      }
    });

    test("no id, model or reason that is missing, too long or contains the API key", async () => {
      const bare = recordEvents(() => Response.json({ choices: completion.choices }));
      await completeChat(bare.client, question);
      expect(bare.ends()).toMatchObject([{ outcome: "complete", finishReason: "stop" }]);
      expect(bare.ends()[0]?.responseId).toBeUndefined();
      expect(bare.ends()[0]?.responseModel).toBeUndefined();
      expect(bare.ends()[0]?.usage).toBeUndefined();

      const odd = { ...completion, id: `${"x".repeat(190)}${key}`, model: key };
      const echoed = recordEvents(() => Response.json(odd), { apiKey: key, dangerouslyAllowBrowser: true });
      await completeChat(echoed.client, question);
      expect(echoed.ends()[0]?.responseModel).toBe("[redacted]");
      expect(echoed.ends()[0]?.responseId).toHaveLength(200);
      expect(JSON.stringify(echoed.events)).not.toContain(key.slice(0, 9));
    });

    test("the model of an image request", async () => {
      const { client, ends } = recordEvents(() =>
        Response.json({ model: "gamma-image-5-0", data: [], usage: { generated_images: 0, note: secret } }),
      );
      await generateImages(client, { model: "gamma-image-5-0-260128", prompt: "A reef" });
      expect(ends()).toMatchObject([{ responseModel: "gamma-image-5-0", outcome: "complete" }]);
      expect(ends()[0]?.usage).toEqual({ generated_images: 0 });
    });
  });

  describe("of a chat", () => {
    const ids = { chatId: "trip", messageId: expect.any(String) };

    test("name the chat and the message at each step: attempts, retries, the end", async () => {
      const { client, events } = recordEvents(
        (_, nth) =>
          nth === 1
            ? createRefusal(429, { "retry-after": "0" })
            : streamResponse(frame({ content: "Hi" }, "stop") + DONE),
        { clock: stoppedClock() },
      );
      const chat = createChatStore(client, { model: "delta-5.3", id: "trip" });
      await chat.send("Hello");
      expect(listTypes(events)).toEqual([
        "request",
        "response",
        "retry",
        "request",
        "response",
        "first-chunk",
        "end",
      ]);
      expect(events).toMatchObject(events.map(() => ({ ...ids, kind: "chat", callId: events[0]?.callId })));
      expect(events[0]?.messageId).toBe(chat.getSnapshot().messages.at(-1)?.id);
    });

    test("name only the message without a chat id, and nothing without a chat", async () => {
      const { client, events } = recordEvents(() => streamResponse(frame({ content: "Hi" }, "stop") + DONE));
      const chat = createChatStore(client, { model: "delta-5.3" });
      await chat.send("Hello");
      await chat.send("Again");
      const ends = events.filter(({ type }) => type === "end");
      expect(ends.map(({ messageId }) => messageId)).toEqual(
        chat
          .getSnapshot()
          .messages.filter(({ role }) => role === "assistant")
          .map(({ id }) => id),
      );
      expect(ends[0]?.chatId).toBeUndefined();
      await streamChat(client, question).result();
      expect(events.at(-1)).toMatchObject({ type: "end" });
      expect(events.at(-1)?.messageId).toBeUndefined();
    });
  });

  const video = { id: "t-1", model: "beta3.0-video" };
  test.each([
    ["chat", completion, (client) => completeChat(client, question), "complete"],
    [
      "image",
      { data: [] },
      (client) => generateImages(client, { model: "gamma-image-5-0-260128", prompt: "A reef" }),
      "complete",
    ],
    [
      "video",
      { id: "t-1", created_at: 1 },
      (client) => createVideoTask(client, { model: "beta3.0-video", input: { prompt: "A reef" } }),
      "complete",
    ],
    ["video", { status: "failed" }, (client) => getVideoTask(client, video), "complete"],
    [
      "asset",
      { Id: "a-1" },
      (client) =>
        createAsset(client, {
          model: "gamma-asset",
          GroupId: "g",
          Name: "n",
          AssetType: "Image",
          URL: "https://a.test/1.png",
        }),
      "complete",
    ],
    ["asset", { Status: "Active" }, (client) => getAsset(client, "a-1"), "complete"],
    ["epsilon", {}, (client) => createEpsilonTask(client, "text2video", { prompt: "A reef" }), "complete"],
    ["epsilon", {}, (client) => getEpsilonTask(client, "e-1"), "complete"],
  ] satisfies [string, object, (client: ReturnType<typeof createClient>) => Promise<unknown>, string][])(
    "end once for each call of kind %s: %j",
    async (kind, body, call, outcome) => {
      const gateway = { assetLookup: "/look/up" } as const;
      const { client, events } = recordEvents(() => Response.json(body), { gateway });
      await call(client);
      expect(listTypes(events)).toEqual(["request", "response", "end"]);
      expect(events[2]).toMatchObject({ kind, outcome, callId: events[0]?.callId });

      const refused = recordEvents(() => createRefusal(401), { gateway });
      const error = await catchError(call(refused.client));
      expect(listTypes(refused.events)).toEqual(["request", "response", "end"]);
      expect(refused.ends()).toMatchObject([{ kind, error }]);
    },
  );

  test("end with the error of a response that does not fit the spec", async () => {
    const { client, ends } = recordEvents(() => Response.json({ choices: [] }));
    const error = await catchError(completeChat(client, question));
    expect(ends()).toMatchObject([{ error }]);
  });

  test("end as truncated if the stream broke off, and as an error that may be billed without a response", async () => {
    const cut = recordEvents(() => streamResponse(frame({ content: "Hel" })));
    await catchError(streamChat(cut.client, question).result());
    expect(cut.ends()).toMatchObject([{ outcome: "truncated", error: { name: "StreamError" } }]);

    const dead = recordEvents(() => Promise.reject(new TypeError("fetch failed")), {
      retry: { maxRetryAfterMs: 0 },
    });
    await catchError(createVideoTask(dead.client, { model: "beta3.0-video", input: { prompt: "A reef" } }));
    expect(dead.ends()).toMatchObject([
      { outcome: "error", error: { name: "ConnectionError", billing: "maybe" } },
    ]);
  });

  test("end once as stopped if the caller aborts before or during the response, even twice", async () => {
    const body = openBody();
    const { client, ends } = recordEvents(() => streamResponse(body.body));
    const stream = streamChat(client, question);
    const failed = catchError(stream.result());
    await body.wanted();
    stream.abort();
    stream.abort();
    const error = await failed;
    expect(ends()).toMatchObject([{ outcome: "stopped", error }]);

    const controller = new AbortController();
    const silent = recordEvents(() => {
      controller.abort();
      return new Promise<Response>(() => {});
    });
    await catchError(completeChat(silent.client, question, { signal: controller.signal }));
    await catchError(completeChat(silent.client, question, { signal: controller.signal }));
    expect(silent.ends()).toMatchObject([{ outcome: "stopped" }, { outcome: "stopped" }]);
    expect(silent.requests).toHaveLength(1);
  });
});

describe("headers", () => {
  /** Creates a client that records the arguments of its `headers` and sends the call's id. */
  function createIdentifiedClient(
    respond: Parameters<typeof createTestClient>[0],
    options: Partial<ClientOptions> = {},
  ) {
    const given: CallInfo[] = [];
    const all = recordEvents(respond, {
      ...options,
      headers: (request) => {
        given.push(request);
        return { "x-call": request.callId ?? "none" };
      },
    });
    return { ...all, given, sent: () => all.requests.map(({ headers }) => headers.get("x-call")) };
  }

  test("are called with the ids that the events of the call have, and without the request", async () => {
    const { client, given, events, sent } = createIdentifiedClient(() => Response.json(completion));
    await Promise.all([completeChat(client, question), completeChat(client, question)]);
    const { kind, model, path } = events[0] as CallEvent;
    const callIds = [...new Set(events.map(({ callId }) => callId))];
    expect(given).toEqual(callIds.map((callId) => ({ callId, kind, model, path })));
    expect(sent()).toEqual(callIds);
    expect(JSON.stringify(given)).not.toContain("sky");
  });

  test("are called once for all attempts of a request", async () => {
    const { client, given, sent } = createIdentifiedClient(
      (_, nth) => (nth === 1 ? createRefusal(429, { "retry-after": "0" }) : Response.json(completion)),
      { clock: stoppedClock() },
    );
    await completeChat(client, question);
    expect(given).toHaveLength(1);
    expect(new Set(sent()).size).toBe(1);
    expect(sent()).toHaveLength(2);
  });

  test("get the ids of the chat and the message", async () => {
    const respond = () => streamResponse(frame({ content: "Hi" }, "stop") + DONE);
    const { client, given } = createIdentifiedClient(respond);
    const chat = createChatStore(client, { model: "delta-5.3", id: "trip" });
    await chat.send("Hello");
    expect(given).toMatchObject([{ chatId: "trip", messageId: chat.getSnapshot().messages[1]?.id }]);
  });

  test("get the ids of the call whose proxy is probed, with the path of the probe", async () => {
    const { client, given, events } = createIdentifiedClient(
      (request) => {
        if (request.url.endsWith("/health"))
          return Response.json({}, { headers: { "x-sluice-features": "" } });
        throw new TypeError("fetch failed");
      },
      { clock: stoppedClock() },
    );
    await catchError(generateImages(client, { model: "gamma-image-5-0-260128", prompt: "A reef" }));
    const { callId, kind } = events[0] as CallEvent;
    expect(given).toMatchObject([
      { callId, kind, path: "/v1/images/generations" },
      { callId, kind, path: "/health" },
    ]);
  });

  test("get only the path for a request that belongs to no call", async () => {
    const { client, given } = createIdentifiedClient(() => Response.json({}));
    await sendRequest(client, "/v1/notes", {}, () => undefined);
    expect(given).toEqual([{ path: "/v1/notes" }]);
  });
});

describe("subscribeToEvents", () => {
  const respond = () => Response.json(completion);
  const createListener = (client: Client) => {
    const seen: ClientEvent[] = [];
    return { seen, unsubscribe: subscribeToEvents(client, (event) => seen.push(event)) };
  };

  test("gives each subscriber the events from then on, after onEvent, until it unsubscribes", async () => {
    const order: string[] = [];
    const { client } = createTestClient(respond, { onEvent: ({ type }) => order.push(`onEvent ${type}`) });
    subscribeToEvents(client, ({ type }) => order.push(`early ${type}`));
    const early = createListener(client);
    await completeChat(client, question);
    const late = createListener(client);
    expect(order.slice(0, 2)).toEqual(["onEvent request", "early request"]);
    expect(listTypes(early.seen)).toEqual(["request", "response", "end"]);
    early.unsubscribe();
    early.unsubscribe();
    await completeChat(client, question);
    expect(early.seen).toHaveLength(3);
    expect(listTypes(late.seen)).toEqual(["request", "response", "end"]);
  });

  test("calls a listener twice that is subscribed twice, and once after one unsubscribes", async () => {
    const { client } = createTestClient(respond);
    const seen: string[] = [];
    const listener = ({ type }: ClientEvent) => seen.push(type);
    const unsubscribe = subscribeToEvents(client, listener);
    subscribeToEvents(client, listener);
    await completeChat(client, question);
    expect(seen).toHaveLength(6);
    unsubscribe();
    await completeChat(client, question);
    expect(seen).toHaveLength(9);
  });

  test("sends an attempt when the promise of a listener for its request has settled", async () => {
    let sent = 0;
    const { client } = createTestClient(() => {
      sent += 1;
      return respond();
    });
    let store = () => {};
    const stored = new Promise<void>((resolve) => {
      store = resolve;
    });
    subscribeToEvents(client, ({ type }) => (type === "request" ? stored : undefined));
    const result = completeChat(client, question);
    await settled();
    expect(sent).toBe(0);
    store();
    await result;
    expect(sent).toBe(1);
  });

  test("lets listeners subscribe and unsubscribe during an event", async () => {
    const { client } = createTestClient(respond);
    const seen: string[] = [];
    const leaveFirst = subscribeToEvents(client, ({ type }) => {
      seen.push(`first ${type}`);
      leaveFirst();
      leaveSecond();
      subscribeToEvents(client, (event) => seen.push(`third ${event.type}`));
    });
    const leaveSecond = subscribeToEvents(client, ({ type }) => seen.push(`second ${type}`));
    await completeChat(client, question);
    expect(seen).toEqual(["first request", "third response", "third end"]);
  });

  test("continues the call and the other listeners if a listener throws", async () => {
    const uncaught: unknown[] = [];
    vi.stubGlobal("queueMicrotask", (task: () => void) => {
      try {
        task();
      } catch (error) {
        uncaught.push((error as Error).message);
      }
    });
    const { client } = createTestClient(respond);
    subscribeToEvents(client, () => {
      throw new Error("in a listener");
    });
    const { seen } = createListener(client);
    expect(await completeChat(client, question)).toMatchObject({ outcome: "complete" });
    vi.unstubAllGlobals();
    expect(seen).toHaveLength(3);
    expect(new Set(uncaught)).toEqual(new Set(["in a listener"]));
  });

  test("works for copies of a client, as the stores make them", async () => {
    const { client } = createTestClient(respond);
    const { seen } = createListener(client);
    await completeChat({ ...client }, question);
    expect(seen).toHaveLength(3);
  });

  test("subscribes and unsubscribes in constant time with any number of listeners", () => {
    const { client } = createTestClient(respond, { onEvent: () => {} });
    const leave = Array.from({ length: 100_000 }, () => subscribeToEvents(client, () => {}));
    const { seen, unsubscribe } = createListener(client);
    // a linear search would take minutes
    for (const each of leave.reverse()) each();
    client.warn({ path: "a", message: "is ignored", rule: "test.many" });
    unsubscribe();
    expect(listTypes(seen)).toEqual(["warning"]);
  });
});

describe("a warning", () => {
  const ignored = {
    model: "alpha-v4.1-flash",
    messages: [{ role: "user", content: "Hi" }],
    temperature: 0,
  } as const;
  const rule = "chat.alpha.temperature-ignored";

  test("names a field that the gateway would ignore, and the field is sent", async () => {
    const events: ClientEvent[] = [];
    const { client, requests } = createTestClient(() => Response.json(completion), {
      onEvent: (event) => events.push(event),
    });
    await completeChat(client, ignored);
    expect(events[0]).toMatchObject({ type: "warning", issue: { path: "temperature", rule } });
    expect(await requests[0]?.json()).toMatchObject({ temperature: 0 });
  });

  describe("without onEvent", () => {
    const issue = () => ({ path: "a.b", message: "is ignored", rule: `test.${Math.random()}` });
    let printed: ReturnType<typeof vi.spyOn>;
    /** Prints another warning and waits for it, so that all earlier warnings are printed. */
    async function printOfAnother(): Promise<void> {
      const last = issue();
      createClient({ baseURL: "https://gateway.test" }).warn(last);
      await vi.waitFor(() => expect(printed).toHaveBeenLastCalledWith(expect.stringContaining(last.rule)));
    }
    beforeEach(() => {
      printed = vi.spyOn(console, "warn").mockImplementation(() => {});
    });
    afterEach(() => {
      vi.restoreAllMocks();
      vi.unstubAllEnvs();
    });

    test("is printed once for its rule and path, for all clients", async () => {
      const once = issue();
      for (const client of [1, 2].map(() => createClient({ baseURL: "https://gateway.test" }))) {
        client.warn(once);
        client.warn({ ...once, path: "c.0.d" });
        // the same field of another entry
        client.warn({ ...once, path: "c.17.d" });
      }
      await printOfAnother();
      expect(printed.mock.calls.slice(0, -1)).toEqual([
        [`@sluice/core: a.b: is ignored (${once.rule})`],
        [`@sluice/core: c.0.d: is ignored (${once.rule})`],
      ]);
    });

    test("is printed even with a subscriber, because a library must not swallow it", async () => {
      const client = createClient({ baseURL: "https://gateway.test" });
      const seen: ClientEvent[] = [];
      subscribeToEvents(client, (event) => seen.push(event));
      const given = issue();
      client.warn(given);
      await printOfAnother();
      expect(seen).toEqual([{ type: "warning", issue: given, callId: undefined }]);
      expect(printed).toHaveBeenCalledTimes(2);
    });

    test("is not printed with onEvent", async () => {
      createClient({ baseURL: "https://gateway.test", onEvent: () => {} }).warn(issue());
      await printOfAnother();
      expect(printed).toHaveBeenCalledTimes(1);
    });

    test("is not printed in production", async () => {
      vi.stubEnv("NODE_ENV", "production");
      createClient({ baseURL: "https://gateway.test" }).warn(issue());
      vi.unstubAllEnvs();
      await printOfAnother();
      expect(printed).toHaveBeenCalledTimes(1);
    });
  });
});

test("Events and the headers function get the settings of the request, and no text except its stop sequences", async () => {
  const infos: (CallInfo | undefined)[] = [];
  const headers = (request: CallInfo) => {
    infos.push(request);
    return {};
  };
  const { client, events } = recordEvents(() => Response.json(completion), { headers });
  const settings = { temperature: 0.5, max_tokens: 9, stop: ["END"] };
  await completeChat(client, { ...question, ...settings });
  expect([...infos, ...events].map((event) => event?.settings)).toEqual(
    Array.from({ length: 4 }, () => settings),
  );
  events.length = 0;
  const { client: streaming, events: streamed } = recordEvents(() => streamResponse(DONE));
  await catchError(streamChat(streaming, question).result());
  expect(streamed[0]?.settings).toEqual({ stream: true });
});
