import type { Emulator } from "@sluice/emulator";
import { describe, expect, test } from "vitest";
import {
  createFastEmulator,
  createLeapingClock,
  KEY,
  readBody,
  readBytes,
  readPNG,
  readRefusal,
  send,
} from "./support.js";

interface Asset {
  Id: string;
  Status: string;
  URL: string;
}

const CREATE = "/gamma/asset/CreateAsset";
const LOOK = "/gamma/asset/GetAsset";
const VIDEOS = "/v1/video/generations";
const hero = {
  model: "gamma-asset",
  GroupId: "group-1",
  Name: "hero",
  AssetType: "Image",
  URL: "https://pictures.example/hero.png",
};
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";

function createPacedEmulator(speed = 1) {
  const clock = createLeapingClock();
  return { clock, emulator: createFastEmulator({ clock, speed }) };
}

async function register(emulator: Emulator, fields: object = {}): Promise<string> {
  const created = await readBody<{ Id: string }>(send(emulator, CREATE, { ...hero, ...fields }));
  expect(Object.keys(created)).toEqual(["Id"]);
  return created.Id;
}

function lookUp(emulator: Emulator, Id: string): Promise<Asset> {
  return readBody<Asset>(send(emulator, LOOK, { Id }));
}

function sendForm(emulator: Pick<Emulator, "fetch">, fields: Record<string, string | Blob>) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  return send(emulator, CREATE, undefined, {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}` },
    body: form,
  });
}

test("an asset is processed for 6 to 9 seconds, then Active", async () => {
  for (const Name of ["hero", "villain", "crowd"]) {
    const { clock, emulator } = createPacedEmulator();
    const id = await register(emulator, { Name });
    expect(await lookUp(emulator, id)).toEqual({
      Id: id,
      Status: "Processing",
      URL: expect.stringMatching(/^https:\/\/gateway\.test\/files\//),
    });
    clock.pass(5999);
    expect((await lookUp(emulator, id)).Status).toBe("Processing");
    clock.pass(3001);
    expect((await lookUp(emulator, id)).Status).toBe("Active");
  }
});

test("the lookup returns the URL of an image that works for an hour", async () => {
  const { clock, emulator } = createPacedEmulator();
  const { URL: url } = await lookUp(emulator, await register(emulator));
  expect((await readPNG(await readBytes(await emulator.fetch(url)))).width).toBe(512);
  clock.pass(3_600_000);
  expect((await emulator.fetch(url)).status).toBe(403);
});

test("time is divided by the speed", async () => {
  const { clock, emulator } = createPacedEmulator(10);
  const id = await register(emulator);
  clock.pass(900);
  expect((await lookUp(emulator, id)).Status).toBe("Active");
});

test.each([
  ["[[fail]] becomes Failed", "[[fail]]", 9, "Failed"],
  ["[[slow]] takes a minute", "[[slow]]", 59, "Processing"],
  ["[[slow]] is Active after a minute", "[[slow]]", 60, "Active"],
])("%s", async (_, fault, seconds, status) => {
  const { clock, emulator } = createPacedEmulator();
  const id = await register(emulator, { Name: `hero ${fault}` });
  expect((await lookUp(emulator, id)).Status).toBe("Processing");
  clock.pass(seconds * 1000);
  expect((await lookUp(emulator, id)).Status).toBe(status);
});

test("[[429:1]] and [[500]] in the name refuse", async () => {
  const emulator = createFastEmulator();
  const readStatus = async (Name: string) => (await send(emulator, CREATE, { ...hero, Name })).status;
  expect([await readStatus("[[429:1]]"), await readStatus("[[429:1]]")]).toEqual([429, 200]);
  expect(await readStatus("[[500]]")).toBe(500);
});

test.each([hero.URL, `data:image/png;base64,${PIXEL}`, PIXEL])("the image may be %s", async (url) => {
  const emulator = createFastEmulator();
  expect((await lookUp(emulator, await register(emulator, { URL: url }))).Status).toBe("Active");
});

describe("a form", () => {
  const { URL: _, ...fields } = hero;
  const createFile = () =>
    new File([Uint8Array.from(atob(PIXEL), (sign) => sign.charCodeAt(0))], "hero.png", { type: "image/png" });

  test("registers a file, and is recorded by its fields", async () => {
    const emulator = createFastEmulator();
    const { Id } = await readBody<Asset>(sendForm(emulator, { ...fields, URL: createFile() }));
    expect((await lookUp(emulator, Id)).Status).toBe("Active");
    expect(emulator.requests[0]?.body).toEqual({
      ...fields,
      URL: { name: "hero.png", type: "image/png", size: createFile().size, hash: expect.any(String) },
    });
  });

  test("can have a URL in place of a file, and its boundary does not change the id", async () => {
    const readId = async () => (await readBody<Asset>(sendForm(createFastEmulator(), hero))).Id;
    expect(await readId()).toBe(await readId());
  });

  test.each<[string, Record<string, string | Blob>]>([
    ["Name", { model: "gamma-asset", GroupId: "g", AssetType: "Image", URL: "https://a.example/a.png" }],
    ["URL", { ...hero, URL: new File([], "empty.png", { type: "image/png" }) }],
    ["URL", { ...hero, URL: new File(["hello"], "hello.txt", { type: "text/plain" }) }],
  ])("is refused at %s", async (param, form) => {
    const response = await sendForm(createFastEmulator(), form);
    expect(response.status).toBe(400);
    expect(await readRefusal(response)).toMatchObject({ code: "invalid_parameter", param });
  });

  test("A broken form is refused", async () => {
    const response = await send(createFastEmulator(), CREATE, hero, {
      headers: { authorization: `Bearer ${KEY}`, "content-type": "multipart/form-data; boundary=x" },
    });
    expect(response.status).toBe(400);
    expect(await readRefusal(response)).toMatchObject({ param: "body" });
  });
});

test.each<[string, object]>([
  ["model", { model: "gamma-image-4-0-250828" }],
  ["GroupId", { GroupId: "" }],
  ["Name", { Name: 7 }],
  ["AssetType", { AssetType: "Video" }],
  ["URL", { URL: "not base64!" }],
])("the rules refuse %s in %o", async (param, fields) => {
  const response = await send(createFastEmulator(), CREATE, { ...hero, ...fields });
  expect(response.status).toBe(400);
  expect(await readRefusal(response)).toMatchObject({ param });
});

describe("the lookup", () => {
  test("does not find an unknown asset", async () => {
    const response = await send(createFastEmulator(), LOOK, { Id: "asset-1" });
    expect(response.status).toBe(404);
    expect(await readRefusal(response)).toMatchObject({ code: "asset_not_found" });
  });

  test.each([{}, { Id: "" }, { Id: 7 }, null])("needs an Id: %j is refused", async (body) => {
    const response = await send(createFastEmulator(), LOOK, body);
    expect(response.status).toBe(400);
    expect(await readRefusal(response)).toMatchObject({ param: "Id" });
  });

  test("does not find the oldest of more than 2,000 assets, and no asset after a reset", async () => {
    const emulator = createFastEmulator();
    const first = await register(emulator);
    let last = "";
    for (let nth = 0; nth < 2000; nth++) last = await register(emulator);
    expect((await send(emulator, LOOK, { Id: first })).status).toBe(404);
    expect((await lookUp(emulator, last)).Status).toBe("Active");
    emulator.reset();
    expect((await send(emulator, LOOK, { Id: last })).status).toBe(404);
    expect(await register(emulator)).toBe(first);
  });
});

describe("a video request", () => {
  const withImage = (url: string) => ({
    model: "gamma-video-2.0",
    content: [
      { type: "text", text: "A walk" },
      { type: "image_url", image_url: { url }, role: "reference_image" },
    ],
  });

  test("accepts only an Active asset", async () => {
    const { clock, emulator } = createPacedEmulator();
    const good = await register(emulator);
    const bad = await register(emulator, { Name: "[[fail]]" });
    const readRefusalWith = async (id: string) => {
      const response = await send(emulator, VIDEOS, withImage(`asset://${id}`));
      return response.status === 400 ? await readRefusal(response) : response.status;
    };
    const param = "content.1.image_url.url";
    expect(await readRefusalWith(good)).toMatchObject({ code: "asset_not_active", param });
    expect(await readRefusalWith("asset-unknown")).toMatchObject({ code: "asset_not_found", param });
    clock.pass(9000);
    expect(await readRefusalWith(good)).toBe(200);
    expect(await readRefusalWith(bad)).toMatchObject({ code: "asset_not_active", param });
  });

  test("does not accept the lookup's URL", async () => {
    const emulator = createFastEmulator();
    const { URL: url } = await lookUp(emulator, await register(emulator));
    const frame = { model: "beta3.0-video", input: { media: [{ type: "first_frame", url }] } };
    for (const [body, param] of [
      [withImage(url), "content.1.image_url.url"],
      [frame, "input.media.0.url"],
    ] as const) {
      const response = await send(emulator, VIDEOS, body);
      expect(response.status).toBe(400);
      expect(await readRefusal(response)).toMatchObject({ code: "asset_url_not_accepted", param });
    }
  });
});
