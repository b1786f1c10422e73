import { describe, expect, test } from "vitest";
import { asked, openProxy } from "./support/in-process.js";
import { KEY } from "./support/key.js";
import { SECRET, signed } from "./support/sign.js";

const path = "/gamma/asset/CreateAsset";
const fields = { model: "gamma-asset", GroupId: "g-1", Name: "na\u00efve \u{1f600}", AssetType: "Image" };

/** Each letter of an alphabet of bytes, in no order that a text would have. */
const picture = Uint8Array.from({ length: 70_000 }, (_, at) => (at * 167 + (at >> 8)) % 256);

function formOf(parts: Record<string, string | Blob>, ...more: [name: string, value: string][]): FormData {
  const form = new FormData();
  for (const [name, value] of [...Object.entries(parts), ...more]) form.append(name, value);
  return form;
}
const file = new File([picture], "a bird.png", { type: "image/png" });

function openAssets(options: Parameters<typeof openProxy>[0] = {}) {
  const opened = openProxy(
    { routes: ["chat", "assets"], secret: () => SECRET, multipart: true, ...options },
    () => Response.json({ Id: "a-1" }),
  );
  return { ...opened, create: (body: unknown, to = path) => opened.ask(asked({ path: to, body })) };
}

test("case 31: a form is refused unless it is allowed, as text and as a file", async () => {
  const { create, reached } = openAssets({ multipart: false });
  for (const form of [formOf(fields), formOf({ ...fields, URL: file })])
    expect((await create(form)).status).toBe(415);
  expect(reached).toEqual([]);
});

test("case 31: a form is refused where the gateway takes none", async () => {
  const { create, reached } = openAssets();
  expect((await create(formOf({ model: "delta-5.3" }), "/v1/chat/completions")).status).toBe(415);
  expect(reached).toEqual([]);
});

test("a file arrives byte for byte, among the fields that were sent, behind a boundary of the proxy's", async () => {
  const { create, reached } = openAssets();
  const { status, text } = await create(formOf({ ...fields, URL: file }));
  expect([status, JSON.parse(text)]).toEqual([200, { Id: signed("a-1", "asset") }]);
  const [request] = reached as [Request];
  expect(request.headers.get("authorization")).toBe(`Bearer ${KEY}`);
  expect(request.headers.get("content-type")).toMatch(/^multipart\/form-data; ?boundary=/);
  const form = await request.formData();
  const { URL: sent, ...others } = Object.fromEntries(form) as Record<string, string> & { URL: File };
  expect(others).toEqual(fields);
  expect([...form.keys()]).toHaveLength(5);
  expect([sent.name, sent.type]).toEqual(["a_bird.png", "image/png"]);
  expect(new Uint8Array(await sent.arrayBuffer())).toEqual(picture);
});

test.each([
  ["quotes in its name", 'filename="a\\"; name=\\"model"', "image/png"],
  ["quotes in its name that are encoded", 'filename="a%22; name=%22model%0d%0a"', "image/png"],
  ["more of a type", 'filename="a.png"', 'image/png; name="model"'],
  ["a line break in its type", 'filename="a.png"', "image/png\rX-More: 1"],
  ["letters beyond ASCII in its name", 'filename="\u00fc\u2028.png"', "image/png"],
])("nothing but a plain name and type is said of a file: %s", async (_, name, type) => {
  const { ask, reached } = openAssets();
  const body = [
    '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\ngamma-asset\r\n',
    `--b\r\nContent-Disposition: form-data; name="URL"; ${name}\r\nContent-Type: ${type}\r\n\r\nabc\r\n--b--\r\n`,
  ].join("");
  await ask(asked({ path, body, headers: { "content-type": "multipart/form-data; boundary=b" } }));
  for (const request of reached) {
    const sent = new TextDecoder().decode(await request.arrayBuffer());
    expect(sent.match(/name="[^"]*"/g)?.filter((field) => field === 'name="model"')).toHaveLength(1);
    for (const line of sent.split("\r\n").filter((text) => /^content-/i.test(text)))
      expect(line).toMatch(
        /^content-(disposition: form-data; name="\w+"(; filename="[\w.-]+")?|type: [\w/+.-]+)$/i,
      );
  }
});

test("a form without a file leaves as JSON, which means the same", async () => {
  const { create, sent, reached } = openAssets();
  await create(formOf({ ...fields, URL: "https://cdn.example/a.png" }));
  expect(reached[0]?.headers.get("content-type")).toBe("application/json");
  expect(await sent()).toEqual({ ...fields, URL: "https://cdn.example/a.png" });
});

describe("a form is refused", () => {
  test.each([
    ["with a field that is not known", formOf(fields, ["user", "1"]), 400],
    ["with a known field in other letters", formOf(fields, ["groupid", "g-2"]), 400],
    ["with a field twice", formOf(fields, ["GroupId", "g-2"]), 400],
    ["with a model twice", formOf(fields, ["model", "gamma-asset"]), 400],
    ["with __proto__", formOf(fields, ["__proto__", "1"]), 400],
    ["with a field without a name", formOf(fields, ["", "1"]), 400],
    ["with no model", formOf({ Name: "a" }), 403],
    ["with another model", formOf({ ...fields, model: "delta-5.3" }), 403],
    ["with a model that is a file", formOf({ ...fields, model: new File(["gamma-asset"], "m") }), 403],
    ["with an address of a private network", formOf({ ...fields, URL: "http://10.0.0.1/a" }), 400],
    ["with another user's asset", formOf({ ...fields, URL: "asset://a-1" }), 404],
  ] as [string, FormData, number][])("%s", async (_, form, status) => {
    const { create, reached } = openAssets();
    expect([(await create(form)).status, reached.length]).toEqual([status, 0]);
  });

  test.each([
    ["that breaks off", '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\ngamma', "b"],
    ["of no parts at all", "nothing", "b"],
    [
      "with another boundary",
      '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\ngamma-asset\r\n--b--\r\n',
      "c",
    ],
    [
      "without a boundary",
      '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\ngamma-asset\r\n--b--\r\n',
      undefined,
    ],
  ])("%s", async (_, body, boundary) => {
    const { ask, reached } = openAssets();
    const type = `multipart/form-data;${boundary ? ` boundary=${boundary}` : ""}`;
    const { status } = await ask(asked({ path, body, headers: { "content-type": type } }));
    expect([status, reached.length]).toEqual([400, 0]);
  });

  test("that is larger than a body may be, the file counted", async () => {
    const { create, reached } = openAssets({ limits: { bodyBytes: 60_000 } });
    expect((await create(formOf({ ...fields, URL: file }))).status).toBe(413);
    expect(reached).toEqual([]);
  });

  test("case 31: for a group that is not listed, and passes for one that is", async () => {
    const { create, reached } = openAssets({ models: { "gamma-asset": { GroupId: ["g-1"] } } });
    const { status, error } = await create(formOf({ ...fields, GroupId: "g-2", URL: file }));
    expect([status, error?.["code"], error?.["param"]]).toEqual([403, "limit_exceeded", "GroupId"]);
    expect((await create(formOf({ ...fields, GroupId: new File(["g-1"], "g") as never }))).status).toBe(403);
    expect(reached).toEqual([]);
    expect((await create(formOf({ ...fields, URL: file }))).status).toBe(200);
  });

  test("from a page that is not allowed, though it needs no preflight for a form", async () => {
    const { ask, reached } = openAssets();
    const headers = { origin: "https://evil.example" };
    expect((await ask(asked({ path, body: formOf(fields), headers }))).status).toBe(403);
    expect(reached).toEqual([]);
  });
});

test("JSON is taken beside forms", async () => {
  const { create, sent } = openAssets();
  const body = { ...fields, URL: "data:image/png;base64,AAAA" };
  expect((await create(body)).status).toBe(200);
  expect(await sent()).toEqual(body);
});
