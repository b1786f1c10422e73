import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { hashText } from "@sluice/worker-proxy/plugin";
import { expect, test } from "vitest";
import proxy from "./fixture/host-worker.js";
import type { Rows } from "./support/rows.js";

const { SLUICE } = env as unknown as { readonly SLUICE: TestNamespace };
const png = new Uint8Array(1000);
png.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

async function request(user: string, path: string, method: string, body?: Uint8Array<ArrayBuffer>) {
  const headers = {
    authorization: user,
    ...(body && { "content-type": "application/octet-stream", "content-length": String(body.length) }),
  };
  const init = { method, headers, ...(body && { body }) };
  const response = await proxy.fetch(new Request(`https://app.example${path}`, init), env as never, {
    waitUntil: () => {},
  });
  return { status: response.status, text: await response.text() };
}

/** Opens the object of a user with space for a number of rows. */
async function openObject(user: string) {
  const key = `user:${await hashText(user)}`;
  const object = SLUICE.get(SLUICE.idFromName(key));
  return {
    add: (count: number) =>
      runInDurableObject(object, (_, { storage }) => {
        const dueAt = Date.now() + 86_400_000;
        for (let nth = 0; nth < count; nth += 1)
          storage.sql.exec(
            `INSERT INTO files VALUES (?, ?, 'whole', 1, 1, 'image/png', 1, ?, NULL, NULL, 0, 0, 0, NULL, '', 0, ?, 0)`,
            ...[key, `f${nth}`, `s${nth}`, dueAt + nth],
          );
      }),
    async measure(work: () => Promise<unknown>): Promise<Rows> {
      const read = () =>
        runInDurableObject(object, (instance) => ({
          ...(instance as unknown as { readonly rows: Rows }).rows,
        }));
      const before = await read();
      await work();
      const after = await read();
      return { read: after.read - before.read, written: after.written - before.written };
    },
  };
}

/** Measures an upload, a look at it, and its deletion. */
async function measureFile(user: string, others: number) {
  const { add, measure } = await openObject(user);
  await request(user, "/v1/uploads", "POST", png);
  await add(others);
  let id = "";
  const upload = await measure(async () => {
    const { status, text } = await request(user, "/v1/uploads", "POST", png);
    expect(status).toBe(201);
    ({ id } = JSON.parse(text) as { id: string });
  });
  const page = await measure(() => request(user, "/v1/uploads", "GET"));
  const deletion = await measure(async () => {
    expect((await request(user, `/v1/uploads/${id}`, "DELETE")).status).toBe(204);
  });
  return { upload, page, deletion };
}

test("an upload, a deletion and a page read and write as many rows beside 100,000 files as beside one (cases 110, 123)", async () => {
  const few = await measureFile("few", 0);
  const many = await measureFile("many", 100_000);
  expect([many.upload, many.deletion]).toEqual([few.upload, few.deletion]);
  expect(few.upload.written).toBeGreaterThan(5);
  expect(few.upload.read).toBeLessThanOrEqual(40);
  expect(few.upload.written).toBeLessThanOrEqual(40);
  expect(many.page.read).toBeLessThanOrEqual(110);
  expect(many.page.written).toBe(0);
});
