import { type AssetHandle, type ClientOptions, createAsset, getAsset, watchAsset } from "@sluice/core";
import { checkRequest } from "@sluice/core/schemas";
import { describe, expect, test } from "vitest";
import type { AssetLookup } from "../src/types/asset.js";
import { catchError, createTestClient } from "./support/gateway.js";
import { type Step, startPolling } from "./support/polling.js";

const request = {
  model: "gamma-asset",
  GroupId: "group-1",
  Name: "hero",
  AssetType: "Image",
  URL: "https://a.test/hero.png",
} as const;
const handle: AssetHandle = { id: "a-1", uri: "asset://a-1" };
const bytes = Uint8Array.from({ length: 20_000 }, (_, index) => index % 251);
const lookup: AssetLookup = "/gamma/asset/GetAsset";
const found = (Status: string, URL?: string) => () => Response.json({ Id: "a-1", Status, URL });
const createRefusal = (status: number) => () =>
  Response.json({ error: { message: `refused with ${status}` } }, { status });

describe("the rules of assets (spec, POST /gamma/asset/CreateAsset)", () => {
  test.each([
    ["an address", request.URL],
    ["a data URI", "data:image/png;base64,iVBORw0KGgo="],
    ["plain Base64", "iVBORw0KGgo="],
    ["a file", new File([bytes], "hero.png", { type: "image/png" })],
    ["a blob that does not know its type", new Blob([bytes])],
  ])("accept %s", (_, URL) => {
    expect(checkRequest({ ...request, URL }).issues).toEqual([]);
  });

  test.each([
    ["another model", { model: "gamma-image" }, "model", "model"],
    ["no group", { GroupId: undefined }, "GroupId", "asset.group-id"],
    ["an empty group", { GroupId: "" }, "GroupId", "asset.group-id"],
    ["an empty name", { Name: "" }, "Name", "asset.name"],
    ["another type", { AssetType: "Video" }, "AssetType", "asset.asset-type"],
    ["no address", { URL: "" }, "URL", "asset.url"],
    ["an address nobody can fetch", { URL: "blob:x" }, "URL", "asset.url"],
    ["half a Base64 text", { URL: "abc" }, "URL", "asset.url"],
    ["an empty file", { URL: new Blob([]) }, "URL", "asset.url"],
    ["a video", { URL: new Blob(["x"], { type: "video/mp4" }) }, "URL", "asset.url"],
  ])("refuse %s", (_, fields, path, rule) => {
    expect(
      checkRequest({ ...request, ...fields }).issues.map((issue) => [issue.path, issue.rule]),
    ).toContainEqual([path, rule]);
  });
});

describe("createAsset", () => {
  test("sends JSON, and returns the uri for video requests", async () => {
    const { client, requests } = createTestClient(() => Response.json({ Id: "a-1" }));
    expect(await createAsset(client, request)).toEqual(handle);
    expect(requests[0]?.url).toBe("https://gateway.test/gamma/asset/CreateAsset");
    expect(await requests[0]?.json()).toEqual(request);
  });

  test("sends a file as a data URI, and a file without a type as Base64", async () => {
    const { client, requests } = createTestClient(() => Response.json({ Id: "a-1" }));
    await createAsset(client, { ...request, URL: new File([bytes], "hero.png", { type: "image/png" }) });
    await createAsset(client, { ...request, URL: new Blob([bytes]) });
    const [typed, plain] = (await Promise.all(requests.map((sent) => sent.json()))) as { URL: string }[];
    expect(typed?.URL).toBe(`data:image/png;base64,${plain?.URL}`);
    expect(Uint8Array.from(atob(plain?.URL ?? ""), (char) => char.charCodeAt(0))).toEqual(bytes);
  });

  test("sends a file as a form on request, and again after a 429", async () => {
    const { client, requests } = createTestClient((_, nth) =>
      nth === 1
        ? Response.json({ error: { message: "later" } }, { status: 429, headers: { "retry-after": "0" } })
        : Response.json({ Id: "a-1" }),
    );
    const image = new File([bytes], "hero.png", { type: "image/png" });
    await createAsset(client, { ...request, URL: image }, { encoding: "multipart" });
    expect(requests).toHaveLength(2);
    for (const sent of requests) {
      expect(sent.headers.get("content-type")).toMatch(/^multipart\/form-data; ?boundary=/);
      const form = await sent.formData();
      const { URL: _, ...fields } = request;
      for (const [name, value] of Object.entries(fields)) expect(form.get(name)).toBe(value);
      const file = form.get("URL") as File;
      expect([file.name, file.type]).toEqual(["hero.png", "image/png"]);
      expect(new Uint8Array(await file.arrayBuffer())).toEqual(bytes);
    }
  });

  test("names the invalid field of a response, and sends a request without checks", async () => {
    const { client, requests } = createTestClient(() => Response.json({ Id: {} }));
    const other = { ...request, AssetType: "Video" };
    expect(await catchError(createAsset(client, other, { checks: false }))).toMatchObject({
      name: "ResponseError",
      path: "Id",
      billing: "maybe",
    });
    expect(await requests[0]?.json()).toMatchObject({ AssetType: "Video" });
  });
});

describe("getAsset", () => {
  test("A look-up without an assetLookup names the missing option, and keeps the id", async () => {
    const { client } = createTestClient(found("Active"));
    for (const waiting of [getAsset(client, handle), watchAsset(client, "a-1").result()]) {
      const error = await catchError(waiting);
      expect(error).toMatchObject({ name: "ConfigurationError", handle });
      expect((error as Error).message).toMatch(/a-1.*assetLookup/);
    }
  });

  test.each([
    ["Active", "active"],
    ["Failed", "failed"],
    ["Processing", "pending"],
    ["", "pending"],
  ])("an asset that is %j is %s", async (status, state) => {
    const { client, requests } = createTestClient(found(status), { gateway: { assetLookup: lookup } });
    expect(await getAsset(client, "a-1")).toMatchObject({ ...handle, state, rawStatus: status });
    expect(`${requests[0]?.method} ${requests[0]?.url}`).toBe(
      "POST https://gateway.test/gamma/asset/GetAsset",
    );
    expect(await requests[0]?.json()).toEqual({ Id: "a-1" });
  });

  test("accepts a lookup that uses GET and returns its own record", async () => {
    const { client, requests } = createTestClient(() => Response.json({ Result: { State: "Active" } }), {
      gateway: {
        assetLookup: async (id, request) => {
          const { Result } = (await request(`/gamma/asset/${id}`)) as { Result: { State: string } };
          return { Status: Result.State };
        },
      },
    });
    expect((await getAsset(client, handle)).state).toBe("active");
    expect(requests[0]?.method).toBe("GET");
  });

  test("returns a temporary address that is not a string, and that video requests refuse", async () => {
    const { client } = createTestClient(found("Active", "https://tmp.test/a?sig=1"), {
      gateway: { assetLookup: lookup },
    });
    const { temporaryURL } = await getAsset(client, handle);
    expect(temporaryURL).toEqual({ forDisplayOnly: "https://tmp.test/a?sig=1" });
    const content = [{ type: "image_url", image_url: { url: temporaryURL } }];
    const { issues } = checkRequest({ model: "gamma-video-2.0", content });
    expect(issues).toMatchObject([{ path: "content.0.image_url.url" }]);
    expect(issues[0]?.message).toMatch(/asset:\/\/<id>/);
  });

  test.each([
    ["Status", { Id: "a-1" }],
    ["Status", null],
    ["URL", { Status: "Active", URL: 7 }],
  ])("reports a response without a readable %s, with the handle", async (path, body) => {
    const { client } = createTestClient(() => Response.json(body), { gateway: { assetLookup: lookup } });
    expect(await catchError(getAsset(client, handle))).toMatchObject({
      name: "ResponseError",
      path,
      handle,
    });
  });

  test.each(["", " ", "a b", 7])("refuses %j as an id", async (id) => {
    const { client, requests } = createTestClient(found("Active"), { gateway: { assetLookup: lookup } });
    expect(await catchError(getAsset(client, id as string))).toMatchObject({
      issues: [{ path: "id", rule: "asset.id" }],
    });
    expect(requests).toHaveLength(0);
  });
});

describe("watchAsset", () => {
  const waiting = (steps: readonly Step[], options: Partial<ClientOptions> = {}) =>
    startPolling(steps, 300_000, { gateway: { assetLookup: lookup }, ...options });

  test("polls every 3 seconds until the asset is active, through temporary failures", async () => {
    const { client, advance, track, polledAt } = waiting([
      createRefusal(404),
      found("Processing"),
      createRefusal(503),
      found("Processing"),
      found("Active"),
    ]);
    const done = track(watchAsset(client, handle).result());
    await advance(60_000);
    expect(await done).toMatchObject({ ...handle, state: "active" });
    expect(polledAt).toEqual([0, 3, 6, 9, 12]);
  });

  test("throws the failure with the asset and its handle", async () => {
    const { client } = waiting([found("Failed")]);
    expect(await catchError(watchAsset(client, "a-1").result())).toMatchObject({
      name: "TaskError",
      reason: "failed",
      task: { state: "failed", rawStatus: "Failed" },
      handle,
    });
  });

  test.each([
    { Error: { Code: "Sensitive", Message: "the image shows a person" } },
    { error: { message: "the image shows a person" } },
    { FailReason: "the image shows a person" },
    { fail_reason: "the image shows a person" },
    { StatusMessage: "the image shows a person" },
    { Reason: "the image shows a person", Message: "success" },
    { Message: "the image shows a person" },
  ])("says why an asset failed, in whatever field the lookup has it: %j", async (fields) => {
    const { client } = waiting([() => Response.json({ Status: "Failed", ...fields })]);
    expect(await catchError(watchAsset(client, "a-1").result())).toMatchObject({
      message: "the asset a-1 failed (Failed, the image shows a person): register another image",
      task: { state: "failed", reason: "the image shows a person" },
    });
  });

  test("ends after 5 minutes with an error that has the handle", async () => {
    const { client, advance, track } = waiting([found("Processing")]);
    const failed = track(catchError(watchAsset(client, handle).result()));
    await advance(301_000);
    expect(await failed).toMatchObject({ name: "TimeoutError", phase: "deadline", handle });
  });

  test("ends a lookup that ignores its signal, at the deadline and at the caller's abort", async () => {
    const never = { gateway: { assetLookup: () => new Promise<never>(() => {}) } };
    const late = waiting([], never);
    const failed = catchError(watchAsset(late.client, handle).result());
    await late.gateway.advance(300_000);
    expect(await failed).toMatchObject({ name: "TimeoutError", phase: "deadline", handle });

    const controller = new AbortController();
    const aborted = catchError(getAsset(waiting([], never).client, handle, { signal: controller.signal }));
    controller.abort();
    expect(await aborted).toBe(controller.signal.reason);
  });

  test("ends at once when the caller aborts, and when the lookup is broken", async () => {
    const controller = new AbortController();
    const { client, advance, track } = waiting([found("Processing")]);
    const failed = track(catchError(watchAsset(client, handle, { signal: controller.signal }).result()));
    await advance(1000);
    controller.abort();
    expect(await failed).toBe(controller.signal.reason);

    const bug = new TypeError("a bug");
    const broken = waiting([found("Active")], { gateway: { assetLookup: () => Promise.reject(bug) } });
    expect(await catchError(watchAsset(broken.client, handle).result())).toBe(bug);
  });
});
