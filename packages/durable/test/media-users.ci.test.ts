import { describe, expect, onTestFinished, test } from "vitest";
import { fileOf, PART, shareWorkerd, startMediaProxy, starts, statusOf } from "./support/media.js";
import { film, sends, startArchive } from "./support/media-gateway.js";

shareWorkerd(8);

/* What is stored for a user: listed, exported and erased. */

const MINUTE_MS = 60_000;
const png = fileOf(starts.png, 1000);
const mp4 = fileOf(starts.mp4, PART + 1000);

interface Listed {
  readonly id: string;
  readonly bytes: number;
  readonly offset: number;
  readonly received: number;
  readonly type: string;
  readonly url?: string;
  readonly taskId?: string;
  readonly isCopy?: boolean;
}

interface Page {
  readonly files: readonly Listed[];
  readonly next?: string;
}

async function openProxy(...options: Parameters<typeof startMediaProxy>) {
  const proxy = await startMediaProxy(...options);
  onTestFinished(() => proxy.close());
  return proxy;
}

async function openArchive(...options: Parameters<typeof startArchive>) {
  const proxy = await startArchive(...options);
  onTestFinished(() => proxy.close());
  return proxy;
}

type Proxy = Awaited<ReturnType<typeof startMediaProxy>>;

const listed = async (proxy: Proxy, user = "user-1", cursor = "") =>
  (await (await proxy.ask(`/v1/uploads${cursor && `?cursor=${cursor}`}`, { user })).json()) as Page;

const begin = async (proxy: Proxy, user = "user-1") => {
  const headers = { "upload-length": String(mp4.length) };
  return (await (await proxy.upload(mp4.slice(0, PART), { user, headers })).json()) as { id: string };
};

/** Begins to send a file, whose last byte is sent when that is said. */
function held(proxy: Proxy, file: Uint8Array<ArrayBuffer>, sent: object = {}) {
  let finish = () => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(file.slice(0, -1));
      finish = () => {
        controller.enqueue(file.slice(-1));
        controller.close();
      };
    },
  });
  const headers = { "content-type": "application/octet-stream", "content-length": String(file.length) };
  const answer = proxy.ask("/v1/uploads", {
    method: "POST",
    body,
    duplex: "half",
    headers: { ...headers, ...sent },
  } as object);
  return { answer, finish: () => finish() };
}

describe("case 123: a list of files", () => {
  test("has those of its user alone: whole ones with a link, others with their offset, copies with their task", async () => {
    const proxy = await openArchive();
    expect(await listed(proxy)).toEqual({ files: [] });
    const { id, url } = (await (await proxy.upload(png)).json()) as { id: string; url: string };
    const begun = await begin(proxy);
    await proxy.upload(png, { user: "user-2" });
    const task = await proxy.create();
    await proxy.poll(task);
    await expect.poll(() => proxy.archived({ tasks: [task] })).toHaveLength(1);
    const { files } = await listed(proxy);
    const byId = new Map(files.map((file) => [file.id, file]));
    expect(files).toHaveLength(3);
    expect(byId.get(id)).toMatchObject({ bytes: 1000, offset: 1000, type: "image/png", url });
    expect(byId.get(begun.id)).toMatchObject({ bytes: mp4.length, offset: PART });
    expect(byId.get(begun.id)?.url).toBeUndefined();
    const copy = files.find(({ taskId }) => taskId !== undefined);
    // the id of the task is the one that its user knows
    expect(copy).toMatchObject({ taskId: task, bytes: film.length, type: "video/mp4" });
    expect(await statusOf(copy?.url ?? "")).toBe(200);
    expect((await listed(proxy, "user-2")).files).toHaveLength(1);
    expect(await statusOf(new URL("/v1/uploads", proxy.url))).toBe(401);
  });

  test("has each of 230 files once, over its pages, and takes no other query than its cursor", async () => {
    const proxy = await openProxy();
    const ids = new Set<string>();
    for (let nth = 0; nth < 230; nth += 10) {
      const answers = await Promise.all(Array.from({ length: 10 }, () => proxy.upload(png)));
      for (const answer of answers) ids.add(((await answer.json()) as { id: string }).id);
    }
    const found: string[] = [];
    let cursor: string | undefined = "";
    let pages = 0;
    for (; cursor !== undefined; pages += 1) {
      const page: Page = await listed(proxy, "user-1", cursor);
      found.push(...page.files.map(({ id }) => id));
      cursor = page.next;
    }
    expect([pages, found.length, new Set(found)]).toEqual([3, 230, ids]);
    for (const query of [
      "?",
      "?cursor=",
      "?cursor=a&b=c",
      "?limit=5",
      `?cursor=${"a".repeat(100)}`,
      "?cursor=a%00",
    ])
      expect((await proxy.ask(`/v1/uploads${query}`)).status).toBe(400);
    const path = `/v1/uploads/${found[0]}`;
    for (const method of ["GET", "DELETE"])
      expect((await proxy.ask(`${path}?cursor=a`, { method })).status).toBe(400);
  });

  test("is read by an operator for any user, who can delete one of its files", async () => {
    const proxy = await openArchive();
    const { id, url } = (await (await proxy.upload(png)).json()) as { id: string; url: string };
    const task = await proxy.create();
    await proxy.poll(task);
    await expect.poll(() => proxy.archived({ tasks: [task] })).toHaveLength(1);
    const { files, next } = await proxy.operate<Page>("list");
    expect([files.length, next]).toEqual([2, undefined]);
    expect(files.find(({ isCopy }) => isCopy)).toMatchObject({ taskId: "film", received: film.length });
    expect(await proxy.operate("remove", id, "user-2")).toBe(false);
    expect(await proxy.operate("remove", id)).toBe(true);
    expect([await statusOf(url), await proxy.operate("remove", id)]).toEqual([404, false]);
    expect(await proxy.keys()).toHaveLength(1);
  });
});

describe("case 123: a user who is erased", () => {
  test("has no file, no upload, no copy and no job left, in the bucket neither, and others have theirs", async () => {
    const proxy = await openArchive({ retryMs: 60 * MINUTE_MS });
    const task = await proxy.create();
    await proxy.poll(task);
    await expect.poll(() => proxy.archived({ tasks: [task] })).toHaveLength(1);
    await proxy.poll(await proxy.create("absent"));
    await expect.poll(() => proxy.events().map(({ outcome }) => outcome)).toEqual(["complete", "waiting"]);
    const { url } = (await (await proxy.upload(png)).json()) as { url: string };
    const { id: begun } = await begin(proxy);
    const { url: other } = (await (await proxy.upload(png, { user: "user-2" })).json()) as { url: string };
    const exported = await proxy.operate<{ files: Listed[]; copies: object[] }>("export");
    expect([exported.files.length, exported.copies.length]).toEqual([3, 2]);
    expect(exported.copies).toContainEqual(
      expect.objectContaining({ taskId: "absent", isOver: false, attempts: 1 }),
    );
    expect(JSON.stringify(exported)).not.toMatch(/http|user-2/);
    expect(await proxy.operate("erase")).toEqual({});
    expect(await proxy.operate("export")).toEqual({ files: [], copies: [] });
    expect([await statusOf(url), await statusOf(other)]).toEqual([404, 200]);
    expect([await proxy.keys(), (await proxy.uploads()).open]).toEqual([[expect.any(String)], 0]);
    const headers = { "upload-offset": String(PART) };
    const path = `/v1/uploads/${begun}`;
    expect((await proxy.upload(mp4.slice(PART), { path, method: "PATCH", headers })).status).toBe(404);
    // the space of all has it back, and the user may begin anew
    expect((await proxy.upload(png)).status).toBe(201);
    expect((await listed(proxy)).files).toHaveLength(1);
  });

  test("keeps nothing of an upload that runs meanwhile, wherever it stands", async () => {
    const proxy = await openProxy();
    const starts = [held(proxy, png.slice(0, 400)), held(proxy, fileOf(png.slice(0, 8) as never, 200_000))];
    const first = held(proxy, mp4.slice(0, PART), { "upload-length": String(mp4.length) });
    // those that have been seen by their first bytes have a row
    await expect.poll(async () => (await listed(proxy)).files.length).toBe(2);
    expect(await proxy.operate("erase")).toEqual({});
    expect(await listed(proxy)).toEqual({ files: [] });
    for (const { finish, answer } of [...starts, first]) {
      finish();
      expect((await answer).status).toBe(404);
    }
    expect([await listed(proxy), await proxy.keys()]).toEqual([{ files: [] }, []]);
    expect((await proxy.uploads()).open).toBe(0);
    expect((await proxy.upload(png)).status).toBe(201);
  });

  test("keeps nothing of a file whose parts are put together meanwhile", async () => {
    const proxy = await openProxy();
    const { id } = await begin(proxy);
    await proxy.fail("complete");
    const headers = { "upload-offset": String(PART) };
    const last = proxy.upload(mp4.slice(PART), { path: `/v1/uploads/${id}`, method: "PATCH", headers });
    await expect.poll(async () => (await proxy.uploads()).waiting).toBe(1);
    expect(await proxy.operate("erase")).toEqual({});
    await proxy.fail();
    expect([(await last).status, await proxy.keys(), await listed(proxy)]).toEqual([404, [], { files: [] }]);
    expect(proxy.logs.filter((line) => line.includes("sluice proxy"))).toEqual([]);
  });

  test("keeps nothing of a copy that is made meanwhile", async () => {
    const proxy = await openArchive();
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const asked = new Promise<void>((resolve) => {
      proxy.files.serves("/slow.mp4", async (response) => {
        resolve();
        await released;
        sends(film)(response);
      });
    });
    await proxy.poll(await proxy.create("slow"));
    await asked;
    expect(await proxy.operate("erase")).toEqual({});
    release();
    await expect.poll(() => proxy.events().map(({ outcome }) => outcome)).toEqual(["stopped"]);
    expect([await proxy.keys(), await proxy.operate("export")]).toEqual([[], { files: [], copies: [] }]);
  });

  test("loses the rest at the next call where the bucket fails in the middle", async () => {
    const proxy = await openProxy();
    for (let nth = 0; nth < 3; nth += 1) await proxy.upload(png);
    await proxy.fail("delete");
    expect(await proxy.operate("erase")).toContain("Refusal");
    expect(await listed(proxy)).toEqual({ files: [] });
    expect(await proxy.keys()).toHaveLength(3);
    await proxy.fail();
    expect(await proxy.operate("erase")).toEqual({});
    expect(await proxy.keys()).toEqual([]);
  });
});
