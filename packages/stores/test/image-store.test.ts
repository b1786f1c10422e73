import type { Billing, ClientOptions } from "@sluice/core";
import { createImageStore, type ImageStoreOptions } from "@sluice/stores";
import { describe, expect, expectTypeOf, test } from "vitest";
import { createTestClient, openBody, settled, stoppedClock } from "../../core/test/support/gateway.js";

const model = "gamma-image-5-0-260128";
type Options = ImageStoreOptions<typeof model>;

const reef = { prompt: "A reef" };
const wreck = { prompt: "A wreck" };
const first = { url: "https://cdn.test/1.png", size: "2048x2048" };
const second = { url: "https://cdn.test/2.png", size: "2048x2048" };
const withheld = { error: { code: "content_filter", message: "This image was withheld" } };

const createResponse = (...data: object[]) => Response.json({ model, created: 1_755_000_000, data });
const createRefusal = (status: number) =>
  Response.json(
    { error: { message: `refused with ${status}` } },
    { status, headers: { "retry-after": "20" } },
  );

/** Creates a promise with its resolver. */
function createDeferred<Value>() {
  let fulfil!: (value: Value) => void;
  const promise = new Promise<Value>((resolve) => {
    fulfil = resolve;
  });
  return { promise, fulfil };
}

/** Creates a store whose gateway holds its responses until the test sends them. `arrived(1)` resolves to the first request. */
function createLiveStore(
  options: Options | (() => Options) = { model },
  clientOptions: Partial<ClientOptions> = {},
) {
  const calls = [1, 2, 3].map(() => ({
    arrival: createDeferred<void>(),
    createResponse: createDeferred<Response>(),
  }));
  const call = (nth: number) => calls[nth - 1] as (typeof calls)[number];
  const { client, requests } = createTestClient((_, nth) => {
    call(nth).arrival.fulfil();
    return call(nth).createResponse.promise;
  }, clientOptions);
  const store = createImageStore(client, options);
  const statuses: string[] = [];
  store.subscribe(() => statuses.push(store.getSnapshot().status));
  return {
    store,
    requests,
    statuses,
    state: store.getSnapshot,
    bodies: () => Promise.all(requests.map((request) => request.json())),
    arrived: (nth: number) => call(nth).arrival.promise,
    async respond(nth: number, response: Response) {
      await call(nth).arrival.promise;
      call(nth).createResponse.fulfil(response);
      await settled();
    },
  };
}

/** Creates callbacks that record their calls. */
function createWitness() {
  const reported: string[] = [];
  return {
    reported,
    onSuccess: (_: unknown, { status }: { readonly status: string }) => reported.push(status),
    onError: (error: Error & { readonly billing?: Billing }) =>
      reported.push(`${error.name}, ${error.billing}`),
  };
}

describe("an image store", () => {
  test("sends nothing before generate, then the request with the model and its parameters", async () => {
    const params = { size: "2048x2048", watermark: false } as const;
    const { store, requests, state, bodies, respond } = createLiveStore({ model, params });
    expect(state()).toEqual({ status: "idle", failedCount: 0 });
    const before = Date.now();
    const generated = store.generate({ ...reef, watermark: true });
    const variables = { model, prompt: "A reef", size: "2048x2048", watermark: true };
    expect(state()).toMatchObject({ status: "pending", variables });
    expect(state().submittedAt).toBeGreaterThanOrEqual(before);
    expect(state().submittedAt).toBeLessThanOrEqual(Date.now());
    await respond(1, createResponse(first));
    expect(await generated).toMatchObject({ status: "success", data: { images: [first], model }, variables });
    const { submittedAt } = state();
    expect(state()).toMatchObject({
      status: "success",
      data: { images: [first] },
      failedCount: 0,
      variables,
    });
    expect(submittedAt).toBeGreaterThanOrEqual(before);
    expect(await bodies()).toEqual([variables]);
    expect(requests).toHaveLength(1);
  });

  test("changes twice for a request, and keeps its state object in between", async () => {
    const { store, state, statuses, arrived, respond } = createLiveStore();
    const generated = store.generate(reef);
    const pending = state();
    await arrived(1);
    expect(state()).toBe(pending);
    await respond(1, createResponse(first));
    await generated;
    expect(statuses).toEqual(["pending", "success"]);
  });

  test("keeps the images of a sequence in order, including failed images, and counts the failed ones", async () => {
    const { store, state, respond } = createLiveStore();
    const generated = store.generate({ ...reef, sequential_image_generation: "auto" });
    await respond(1, createResponse(first, withheld, second));
    await generated;
    expect(state()).toMatchObject({
      status: "success",
      data: { images: [first, withheld, second] },
      failedCount: 1,
    });
  });

  test("sends a double click once, and rejects the second request", async () => {
    const { reported, ...callbacks } = createWitness();
    const { store, state, requests, respond } = createLiveStore({ model, ...callbacks });
    const generated = store.generate(reef);
    const pending = state();
    expect(await store.generate(wreck)).toMatchObject({
      status: "error",
      error: { name: "ConfigurationError", message: expect.stringContaining("whenBusy"), billing: "none" },
      variables: { model, ...wreck },
    });
    expect(state()).toBe(pending);
    await respond(1, createResponse(first));
    expect(await generated).toMatchObject({ status: "success" });
    expect([requests.length, reported]).toEqual([1, ["success"]]);
  });

  test("checks before it sends, and returns the issues", async () => {
    const { reported, ...callbacks } = createWitness();
    const { store, state, statuses, requests } = createLiveStore({ model, ...callbacks });
    // @ts-expect-error a size of the other model
    const refused = await store.generate({ ...reef, size: "1024x1024" });
    const expected = {
      status: "error",
      error: { name: "ValidationError", issues: [{ path: "size", rule: "image.5-0.size" }], billing: "none" },
      variables: { size: "1024x1024" },
    };
    expect(refused).toMatchObject(expected);
    expect(state()).toMatchObject(expected);
    expect(state().submittedAt).toBeTypeOf("number");
    expect([requests.length, statuses, reported]).toEqual([0, ["error"], ["ValidationError, none"]]);
  });

  test("sends a request unchanged with checks: false, even to an unknown model", async () => {
    const { client, requests } = createTestClient(() => createResponse(first));
    const request = { ...reef, size: "8192x8192" };
    await createImageStore<string>(client, { model, checks: false }).generate(request);
    const next = { model: "gamma-image-9" } as const;
    // @ts-expect-error the sizes of this model are unknown
    const refused = createImageStore(client, next);
    expect(await refused.generate(request)).toMatchObject({ error: { name: "ValidationError" } });
    await createImageStore(client, { ...next, checks: false }).generate(request);
    expect(await Promise.all(requests.map((sent) => sent.json()))).toEqual([
      { model, ...request },
      { model: "gamma-image-9", ...request },
    ]);
  });

  test("warns once about parts that the gateway would ignore", async () => {
    const rules: string[] = [];
    const onEvent: ClientOptions["onEvent"] = (event) =>
      event.type === "warning" && rules.push(event.issue.rule);
    const { client } = createTestClient(() => createResponse(first), { onEvent });
    await createImageStore(client, { model }).generate({ prompt: " " });
    expect(rules).toEqual(["image.5-0.prompt-empty"]);
  });

  test("reads its options at each use", async () => {
    const reported: string[] = [];
    let options: ImageStoreOptions = { model: "gamma-image-4-0-250828" };
    const { client, requests } = createTestClient(() => createResponse(first));
    const store = createImageStore(client, () => options);
    options = {
      model,
      params: { size: "2048x2048" },
      headers: { "x-team": "reef" },
      onSuccess: () => reported.push("too early"),
    };
    const generated = store.generate(reef);
    options = { ...options, onSuccess: ({ images }) => reported.push(`${images.length} for ${model}`) };
    await generated;
    await settled();
    expect(await requests[0]?.json()).toEqual({ model, ...reef, size: "2048x2048" });
    expect([requests[0]?.headers.get("x-team"), reported]).toEqual(["reef", [`1 for ${model}`]]);
  });

  test("types its request by its model", () => {
    const { client } = createTestClient(() => createResponse());
    const store = createImageStore(client, { model });
    type ImageRequest = Parameters<typeof store.generate>[0];
    expectTypeOf({ ...reef, size: "2048x2048" } as const).toExtend<ImageRequest>();
    expectTypeOf({ ...reef, size: "1024x1024" } as const).not.toExtend<ImageRequest>();
    expectTypeOf({ size: "2048x2048" } as const).not.toExtend<ImageRequest>();
    // a request that is shown can be sent again
    expectTypeOf<NonNullable<ReturnType<typeof store.getSnapshot>["variables"]>>().toExtend<ImageRequest>();
    expectTypeOf({ ...reef, model } as const).toExtend<ImageRequest>();
    expectTypeOf({ ...reef, model: "gamma-image-4-0-250828" } as const).not.toExtend<ImageRequest>();
    // @ts-expect-error a size of the other model
    createImageStore(client, { model, params: { size: "1024x1024" } });
    // with either model, the sizes of both
    const either = createImageStore(client, { model } as ImageStoreOptions);
    type OfEither = Parameters<typeof either.generate>[0];
    expectTypeOf({ ...reef, size: "1024x1024" } as const).toExtend<OfEither>();
    expectTypeOf({
      ...reef,
      model: "gamma-image-4-0-250828",
      size: "1024x1024",
    } as const).toExtend<OfEither>();
    expectTypeOf({ ...reef, model, size: "1024x1024" } as const).not.toExtend<OfEither>();
  });
});

describe("images that failed", () => {
  test.each([
    [500, "maybe"],
    [400, "none"],
  ])(
    "after HTTP %i have the billing %s; the request is sent once, and the last images stay",
    async (status, billing) => {
      const { reported, ...callbacks } = createWitness();
      const { store, state, requests, statuses, respond } = createLiveStore({ model, ...callbacks });
      const made = store.generate(reef);
      await respond(1, createResponse(first, withheld));
      const { data } = await made;
      const generated = store.generate(wreck);
      expect(state()).toMatchObject({ status: "pending", failedCount: 1 });
      expect(state().data).toBe(data);
      await respond(2, createRefusal(status));
      const expected = { status: "error", error: { name: "APIError", status, billing } };
      expect(await generated).toMatchObject(expected);
      expect((await generated).data).toBeUndefined();
      await settled();
      expect(state()).toMatchObject({ ...expected, failedCount: 1, variables: wreck });
      expect(state().data).toBe(data);
      expect(requests).toHaveLength(2);
      expect(reported).toEqual(["success", `APIError, ${billing}`]);

      const again = store.generate(reef);
      expect(state()).toMatchObject({ status: "pending", error: undefined });
      await respond(3, createResponse(second));
      await again;
      expect(state()).toMatchObject({ status: "success", data: { images: [second] }, failedCount: 0 });
      expect(state().error).toBeUndefined();
      expect(statuses).toEqual(["pending", "success", "pending", "error", "pending", "success"]);
    },
  );

  test("are requested again by generate(variables)", async () => {
    const { store, state, bodies, respond } = createLiveStore({ model, params: { seed: 7 } });
    const generated = store.generate(reef);
    await respond(1, createRefusal(500));
    await generated;
    const again = store.generate(state().variables ?? wreck);
    await respond(2, createResponse(first));
    await again;
    expect(await bodies()).toEqual([
      { model, ...reef, seed: 7 },
      { model, ...reef, seed: 7 },
    ]);
  });

  test("are requested again from their own model, without the parameters of another", async () => {
    let options: ImageStoreOptions = { model, params: { size: "2048x2048" } };
    const { client, requests } = createTestClient(() => createRefusal(500));
    const store = createImageStore(client, () => options);
    await store.generate(reef);
    const { variables = wreck } = store.getSnapshot();
    options = { model: "gamma-image-4-0-250828", params: { seed: 7 } };
    await store.generate(variables);
    expect(store.getSnapshot().variables).toEqual(variables);
    await store.generate({ ...reef, model: undefined });
    await store.generate({ ...wreck, model: options.model });
    expect(await Promise.all(requests.map((sent) => sent.json()))).toEqual([
      { model, ...reef, size: "2048x2048" },
      { model, ...reef, size: "2048x2048" },
      { model: options.model, ...reef, seed: 7 },
      { model: options.model, ...wreck, seed: 7 },
    ]);
  });

  test("were not sent if the headers function fails, and the thrown value is the cause of the error", async () => {
    const headers = () => Promise.reject("signed out");
    const { store, requests } = createLiveStore({ model }, { headers });
    const { error } = await store.generate(reef);
    expect(error).toMatchObject({ name: "ConfigurationError", cause: "signed out" });
    expect(error?.message).toContain("signed out");
    expect([error instanceof Error, error?.billing, requests.length]).toEqual([true, "none", 0]);
  });
});

describe("stop", () => {
  test("ends the request at once as an error that may be billed, and ignores a late response", async () => {
    const { reported, ...callbacks } = createWitness();
    const { store, state, statuses, respond, arrived } = createLiveStore({ model, ...callbacks });
    const generated = store.generate(reef);
    await arrived(1);
    store.stop();
    const expected = {
      status: "error",
      error: { name: "AbortError", message: expect.stringContaining("may bill"), billing: "maybe" },
      variables: { model, ...reef },
    };
    const stopped = state();
    expect(stopped).toMatchObject(expected);
    expect(await generated).toMatchObject(expected);
    await respond(1, createResponse(first));
    store.stop();
    await settled();
    expect(state()).toBe(stopped);
    expect([statuses, reported]).toEqual([["pending", "error"], ["AbortError, maybe"]]);
    void store.generate(wreck);
    expect(state().status).toBe("pending");
    store.stop();
  });

  test("aborts the request", async () => {
    const sent = createDeferred<Request>();
    const { client } = createTestClient((request) => {
      sent.fulfil(request);
      return new Promise(() => {});
    });
    const store = createImageStore(client, { model });
    void store.generate(reef);
    const { signal } = await sent.promise;
    expect(signal.aborted).toBe(false);
    store.stop();
    expect(signal.aborted).toBe(true);
  });

  test("reports that nothing is billed before the request is sent, and after a rejection", async () => {
    const early = createLiveStore();
    void early.store.generate(reef);
    early.store.stop();
    await settled();
    const nothing = {
      name: "AbortError",
      message: expect.stringContaining("did not take it up"),
      billing: "none",
    };
    expect(early.state()).toMatchObject({ error: nothing });
    expect(early.requests).toHaveLength(0);

    const retried = createDeferred<void>();
    const onEvent: ClientOptions["onEvent"] = ({ type }) => type === "retry" && retried.fulfil();
    const limited = createLiveStore({ model }, { clock: stoppedClock(), onEvent });
    void limited.store.generate(reef);
    await limited.respond(1, createRefusal(429));
    await retried.promise;
    expect(limited.state().status).toBe("pending");
    limited.store.stop();
    await settled();
    expect(limited.state()).toMatchObject({ error: nothing });
    expect(limited.requests).toHaveLength(1);
  });

  test.each([
    [401, "none", "did not take it up"],
    [429, "none", "did not take it up"],
    [408, "maybe", "may bill"],
    [502, "maybe", "may bill"],
  ])("knows the billing of a %i before its body has arrived: %s", async (status, billing, message) => {
    const words = openBody();
    const { store, state, respond } = createLiveStore({ model });
    void store.generate(reef);
    await respond(1, new Response(words.body, { status }));
    await settled();
    store.stop();
    expect(state()).toMatchObject({ error: { message: expect.stringContaining(message), billing } });
  });

  test("The state and the promise agree if a stop comes at any moment of the response", async () => {
    const ends = new Set<string>();
    for (let steps = 0; steps < 100; steps += 1) {
      const { client } = createTestClient(() => createResponse(first));
      const store = createImageStore(client, { model });
      const generated = store.generate(reef);
      for (let step = 0; step < steps; step += 1) await Promise.resolve();
      store.stop();
      const { status } = store.getSnapshot();
      expect([steps, (await generated).status, store.getSnapshot().status]).toEqual([steps, status, status]);
      ends.add(status);
    }
    expect(ends).toContain("error");
  });

  test("does nothing without a request in flight", async () => {
    const { reported, ...callbacks } = createWitness();
    const { store, state, statuses } = createLiveStore({ model, ...callbacks });
    store.stop();
    await settled();
    expect([state().status, statuses, reported]).toEqual(["idle", [], []]);
  });
});

describe("reset", () => {
  test("deletes the state", async () => {
    const { store, state, respond } = createLiveStore();
    const generated = store.generate(reef);
    await respond(1, createResponse(first, withheld));
    await generated;
    store.reset();
    expect(state()).toEqual({ status: "idle", failedCount: 0 });
  });

  test("ends the request in flight, and reports it only to its caller", async () => {
    const { reported, ...callbacks } = createWitness();
    const { store, state, respond, arrived } = createLiveStore({ model, ...callbacks });
    const generated = store.generate(reef);
    await arrived(1);
    store.reset();
    expect(state().status).toBe("idle");
    expect(await generated).toMatchObject({
      status: "error",
      error: { name: "AbortError", billing: "maybe" },
    });
    await respond(1, createResponse(first));
    expect([state().status, reported]).toEqual(["idle", []]);
  });
});

describe('whenBusy: "replace"', () => {
  test("ends the request in flight, and its late response does not change the new request", async () => {
    const { reported, ...callbacks } = createWitness();
    const { store, state, requests, statuses, respond, arrived } = createLiveStore({
      model,
      whenBusy: "replace",
      ...callbacks,
    });
    const older = store.generate(reef);
    await arrived(1);
    const newer = store.generate(wreck);
    expect(state()).toMatchObject({ status: "pending", variables: wreck });
    expect(await older).toMatchObject({
      status: "error",
      error: { name: "AbortError", message: expect.stringContaining("newer"), billing: "maybe" },
      variables: reef,
    });
    await respond(1, createResponse(first));
    expect(state()).toMatchObject({ status: "pending", data: undefined, variables: wreck });
    await respond(2, createResponse(second));
    expect(await newer).toMatchObject({ data: { images: [second] } });
    expect(state()).toMatchObject({ status: "success", data: { images: [second] }, variables: wreck });
    expect([requests.length, statuses, reported]).toEqual([
      2,
      ["pending", "pending", "success"],
      ["success"],
    ]);
  });

  test("keeps the request in flight if the new one breaks a rule", async () => {
    const { reported, ...callbacks } = createWitness();
    const { store, state, respond } = createLiveStore({ model, whenBusy: "replace", ...callbacks });
    const generated = store.generate(reef);
    const pending = state();
    expect(await store.generate({ ...wreck, seed: 0.5 })).toMatchObject({
      error: { name: "ValidationError", billing: "none" },
    });
    expect(state()).toBe(pending);
    await respond(1, createResponse(first));
    expect(await generated).toMatchObject({ status: "success" });
    expect(reported).toEqual(["success"]);
  });
});
