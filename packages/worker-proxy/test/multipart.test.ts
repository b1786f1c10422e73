import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { startProxy } from "./support/harness.js";
import { KEY } from "./support/key.js";
import { says } from "./support/upstream.js";

let proxy: Awaited<ReturnType<typeof startProxy>>;
beforeAll(async () => {
  proxy = await startProxy({ options: { routes: ["assets"], multipart: true } });
});
afterAll(() => proxy.close());
afterEach(() => proxy.forget());

const path = "/gamma/asset/CreateAsset";
/** Letters that a careless reader of lines would cut at, or take for a boundary. */
const content = "\x89PNG\r\n\x1a\n--b\r\n--b--\r\n\x00\r\n";
const formOf = (boundary: string, type = "image/png") =>
  `--${boundary}\r\nContent-Disposition: form-data; name="model"\r\n\r\ngamma-asset\r\n` +
  `--${boundary}\r\nContent-Disposition: form-data; name="URL"; filename="a b.png"\r\nContent-Type: ${type}\r\n\r\n` +
  `${content}\r\n--${boundary}--\r\n`;

const post = (body: string, boundary: string, more = "") => {
  const headers =
    `POST ${path} HTTP/1.1\r\nHost: ${proxy.url.host}\r\nConnection: close\r\nAuthorization: Bearer user-token\r\n` +
    `Content-Type: multipart/form-data; boundary=${boundary}\r\n${more}`;
  return proxy.raw(`${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
};

test("over a socket a file's bytes pass as they are, and the form is the proxy's own", async () => {
  proxy.upstream.answers(says(200, { "content-type": "application/json" }, '{"Id":"a-1"}'));
  expect((await post(formOf("boundary-of-the-client"), "boundary-of-the-client")).status).toBe(200);
  const [request] = proxy.upstream.requests;
  const headers = request?.rawHeaders ?? [];
  const type = headers[headers.findIndex((name) => /^content-type$/i.test(name)) + 1] ?? "";
  expect(type).toMatch(/^multipart\/form-data; ?boundary=/);
  expect(headers.filter((value) => value.startsWith("Bearer "))).toEqual([`Bearer ${KEY}`]);
  expect(`${headers.join()}${request?.body}`).not.toContain("boundary-of-the-client");
  const body = request?.body ?? "";
  expect(body).toContain(`\r\n\r\n${content}\r\n--`);
  expect(body.match(/name="[^"]*"/g)).toEqual(['name="model"', 'name="URL"', 'name="a_b.png"']);
});

test.each([
  ["that breaks off", (form: string) => form.slice(0, -6)],
  [
    "with a field twice",
    (form: string) =>
      form.replace("--b2\r\n", '--b2\r\nContent-Disposition: form-data; name="model"\r\n\r\nx\r\n--b2\r\n'),
  ],
  ["with a field that is not known", (form: string) => form.replace('"URL"', '"url"')],
])("case 31: a form %s reaches nobody", async (_, change) => {
  expect((await post(change(formOf("b2")), "b2")).status).toBe(400);
  expect(proxy.upstream.requests).toEqual([]);
});

test("case 31: a form that is compressed reaches nobody", async () => {
  expect((await post(formOf("b2"), "b2", "Content-Encoding: gzip\r\n")).status).toBe(415);
  expect(proxy.upstream.requests).toEqual([]);
});
