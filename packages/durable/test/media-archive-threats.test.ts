import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { fileOf, shareWorkerd, starts, statusOf } from "./support/media.js";
import { film, leadsTo, picture, sends, startArchive, startFileHost } from "./support/media-gateway.js";

shareWorkerd(10);

type Archive = Awaited<ReturnType<typeof startArchive>>;

let inside: Awaited<ReturnType<typeof startFileHost>>;
let proxy: Archive;

beforeAll(async () => {
  inside = await startFileHost();
  inside.serves("/film.mp4", sends(film));
  proxy = await startArchive();
});
afterAll(async () => {
  await proxy.close();
  inside.close();
});

async function ownArchive(...options: Parameters<typeof startArchive>): Promise<Archive> {
  const own = await startArchive(...options);
  onTestFinished(() => own.close());
  return own;
}

/** Ends a task of its own for each prompt, and waits for the lines in the log that say why its film was not copied. */
async function refusalsOf(at: Archive, prompts: readonly string[]): Promise<readonly string[]> {
  const before = at.failures().length;
  await Promise.all(prompts.map(async (prompt) => at.poll(await at.create(prompt))));
  await expect.poll(() => at.failures().length).toBe(before + prompts.length);
  return at.failures().slice(before);
}

async function refusalOf(at: Archive, prompt: string): Promise<string> {
  return (await refusalsOf(at, [prompt]))[0] ?? "";
}

/** Addresses that lead to a host on this machine, or would in another network. */
const addressesOf = (port: string) => [
  `http://127.0.0.1:${port}/film.mp4`,
  `https://127.0.0.1:${port}/film.mp4`,
  `http://localhost:${port}/film.mp4`,
  `http://a.localhost:${port}/film.mp4`,
  `http://2130706433:${port}/film.mp4`,
  `http://0x7f.1:${port}/film.mp4`,
  `http://0:${port}/film.mp4`,
  `http://[::1]:${port}/film.mp4`,
  `http://[::ffff:127.0.0.1]:${port}/film.mp4`,
  "http://10.0.0.1/film.mp4",
  "https://172.16.0.1/film.mp4",
  "https://192.168.0.1/film.mp4",
  "https://100.64.0.1/film.mp4",
  "http://169.254.169.254/latest/meta-data",
  "https://[fe80::1]/film.mp4",
  "https://[fd00::1]/film.mp4",
  "https://metadata.google.internal/film.mp4",
  "https://printer.local/film.mp4",
  "https://redis/film.mp4",
  "https://93.184.216.34/film.mp4",
  "https://cdn.example:8443/film.mp4",
  "http://cdn.example/film.mp4",
  "https://user:secret@cdn.example/film.mp4",
  "https://user@cdn.example/film.mp4",
  "https://:secret@cdn.example/film.mp4",
];

describe("case 76: nothing is sent", () => {
  const refused = "files may not be copied from";

  test("Nothing is sent to an address of a private network, of this machine, of another port or without TLS", async () => {
    const open = await ownArchive({ hosts: undefined });
    const addresses = addressesOf(new URL(inside.url).port);
    open.points((id) => addresses[Number(id)] ?? "");
    for (const refusal of await refusalsOf(open, Object.keys(addresses))) expect(refusal).toContain(refused);
    expect([inside.requests, await open.keys()]).toEqual([[], []]);
  });

  test("Nothing is sent to such an address behind a redirect", async () => {
    const addresses = [...addressesOf(new URL(inside.url).port), "ftp://cdn.example/", "file:///etc/passwd"];
    for (const [at, address] of addresses.entries()) proxy.files.serves(`/to-${at}.mp4`, leadsTo(address));
    const prompts = addresses.map((_, at) => `to-${at}`);
    for (const refusal of await refusalsOf(proxy, prompts)) expect(refusal).toContain(refused);
    expect(inside.requests).toEqual([]);
  });

  test("A host that is not listed gets nothing, and a listed one no credentials", async () => {
    const listed = await ownArchive({ hosts: ["*.cdn.example"] });
    const unlisted: Record<string, string> = {
      a: "https://cdn.example.attacker.example/a",
      b: "https://attackercdn.example/b",
    };
    listed.points((id) => unlisted[id] ?? `${listed.files.url}/film.mp4`);
    for (const refusal of await refusalsOf(listed, ["a", "b", "c"])) expect(refusal).toContain(refused);
    expect(listed.files.requests).toEqual([]);
    const id = await proxy.create();
    await proxy.poll(id);
    await expect.poll(() => proxy.archived({ tasks: [id] })).toHaveLength(1);
    const headers = proxy.files.requests.flatMap(({ headers }) => headers).join("\n");
    expect(headers).not.toMatch(/authorization|cookie|bearer|user-1/i);
  });

  test("Redirects end after three, those within the list, too", async () => {
    proxy.files.serves("/round.mp4", leadsTo(`${proxy.files.url}/round.mp4`));
    expect(await refusalOf(proxy, "round")).toContain("leads on too often");
    expect(proxy.files.requests.filter(({ url }) => url === "/round.mp4")).toHaveLength(4);
    for (const [from, to] of [
      ["one", "two"],
      ["two", "three"],
      ["three", "film"],
    ] as const)
      proxy.files.serves(`/${from}.mp4`, leadsTo(`/${to}.mp4`));
    const id = await proxy.create("one");
    await proxy.poll(id);
    await expect.poll(() => proxy.archived({ tasks: [id] })).toHaveLength(1);
  });
});

test.each([
  ["a page", "<!doctype html><script>1</script>"],
  ["a drawing that can run scripts", '<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>'],
  ["a program", "MZ\0\x01\x02"],
  ["a text", "a line of text"],
  ["a document", "%PDF-1.7"],
])("case 77: %s that calls itself a film is not kept", async (name, text) => {
  const before = await proxy.keys();
  const path = name.replaceAll(" ", "-");
  proxy.files.serves(`/${path}.mp4`, sends(new TextEncoder().encode(text)));
  expect(await refusalOf(proxy, path)).toContain("files of this type are not taken");
  expect(await proxy.keys()).toEqual(before);
});

describe("case 78: a file", () => {
  test("A file that is larger than allowed is not kept, whether its host says so or sends without an end", async () => {
    const small = await ownArchive({ maxBytes: 100_000 });
    expect(await refusalOf(small, "film")).toContain("larger than 100000 bytes");
    const piece = Buffer.from(fileOf(starts.mp4, 60_000));
    small.files.serves("/endless.mp4", (response) => {
      const more = () => void (response.destroyed || response.write(piece, more));
      response.writeHead(200);
      more();
    });
    expect(await refusalOf(small, "endless")).toContain("larger than 100000 bytes");
    expect(await small.keys()).toEqual([]);
  });

  test("A file of just the largest size is kept, whether its host says the size or not", async () => {
    const exact = await ownArchive({ maxBytes: film.length });
    exact.files.serves("/unsaid.mp4", (response) => void response.writeHead(200).end(film));
    for (const prompt of ["film", "unsaid"]) {
      const id = await exact.create(prompt);
      await exact.poll(id);
      await expect.poll(() => exact.archived({ tasks: [id] })).toHaveLength(1);
    }
  });

  test("A file that does not arrive in time has five attempts, and holds no space", async () => {
    const short = await ownArchive({ copyMs: 150 }, { userFiles: 1 });
    short.files.serves("/slow.mp4", (response) => {
      response.writeHead(200, { "content-length": film.length });
      response.write(film.subarray(0, 1000));
    });
    await short.poll(await short.create("slow"));
    await expect.poll(() => short.failures()).toHaveLength(5);
    expect(short.failures().map((line) => line.includes("another attempt follows"))).toEqual([
      true,
      true,
      true,
      true,
      false,
    ]);
    expect(await short.keys()).toEqual([]);
    expect((await short.upload(picture)).status).toBe(201);
  });
});

describe("case 78: tasks", () => {
  test("fill no more than their user's space, and leave that of others", async () => {
    const small = await ownArchive({}, { userBytes: 2.5 * film.length });
    for (const prompt of ["a", "b", "c", "d"]) small.files.serves(`/${prompt}.mp4`, sends(film));
    const ids = await Promise.all(["a", "b", "c", "d"].map((prompt) => small.create(prompt)));
    await Promise.all(ids.map((id) => small.poll(id)));
    await expect.poll(() => small.archived({ tasks: ids })).toHaveLength(2);
    // the others wait for space, which their user has to make
    await expect.poll(() => small.failures().length).toBeGreaterThan(4);
    for (const line of small.failures()) expect(line).toMatch(/your files fill your space .*the copy waits/);
    expect(await small.archived({ tasks: ids })).toHaveLength(2);
    const other = await small.create("a", "user-2");
    await small.poll(other, "user-2");
    await expect.poll(() => small.archived({ tasks: [other] }, "user-2")).toHaveLength(1);
    expect(await small.keys()).toHaveLength(3);
  });

  test("fill no more than the space of all users, nor more than a budget pays", async () => {
    const paid = await ownArchive({}, { allBytes: 1.5 * film.length, budgetBytes: 1.2 * film.length });
    const lines = (text: string) => paid.failures().filter((line) => line.includes(text)).length;
    const id = await paid.create();
    await paid.poll(id);
    await expect.poll(() => paid.archived({ tasks: [id] })).toHaveLength(1);
    await paid.poll(await paid.create("film", "user-2"), "user-2");
    await expect.poll(() => lines("allBytes is used up")).toBeGreaterThan(5);
    paid.files.serves("/more.mp4", sends(film));
    await paid.poll(await paid.create("more"));
    await expect.poll(() => lines("budget")).toBe(5);
    expect(await paid.keys()).toHaveLength(1);
  });
});

describe("case 79: the copy of one user", () => {
  test("is found by no other, by its task, its address or its link, and serves in no task of another", async () => {
    const id = await proxy.create("film", "user-3");
    await proxy.poll(id, "user-3");
    await expect.poll(() => proxy.archived({ tasks: [id] }, "user-3")).toHaveLength(1);
    const [copy] = await proxy.archived({ tasks: [id] }, "user-3");
    const urls = [copy?.url ?? "", `${proxy.files.url}/film.mp4`];
    const plain = id.slice(0, id.lastIndexOf("_"));
    expect(await proxy.archived({ tasks: [id, plain], urls }, "user-4")).toEqual([]);
    expect((await proxy.ask(`/v1/uploads/${copy?.id}`, { user: "user-4", method: "DELETE" })).status).toBe(
      404,
    );
    const input = { media: [{ type: "first_frame", url: copy?.url }] };
    const body = { model: "beta3.0-video", input };
    const { error } = await proxy.post<{ error: { code: string } }>("/v1/video/generations", body, "user-4");
    expect(error.code).toBe("media_not_allowed");
  });

  test("is asked for with a sign-in, in JSON, and by no more than 100 names", async () => {
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", body: '{"tasks":["t"]}' };
    expect(await statusOf(new URL("/v1/archive", proxy.url), { ...init, headers })).toBe(401);
    const text = { "content-type": "text/plain" };
    expect((await proxy.ask("/v1/archive", { ...init, headers: text })).status).toBe(400);
    for (const body of [{ tasks: Array(101).fill("t") }, { tasks: [1] }, { urls: "https://a" }]) {
      const answer = await proxy.post<{ error?: { code: string } }>("/v1/archive", body);
      expect(answer.error?.code).toBe("invalid_request");
    }
  });
});

test("case 79: a list of copies is asked for with at most 100 names and 256 KiB, and says its length", async () => {
  // for a stream; the types do not know it
  const duplex = { duplex: "half" };
  const post = (body: BodyInit, type = "application/json") =>
    proxy.ask("/v1/archive", { method: "POST", headers: { "content-type": type }, body, ...duplex });
  const padded = (bytes: number) => '{"tasks":["t"]}'.padEnd(bytes);
  const names = JSON.stringify({ tasks: Array(40).fill("t"), urls: Array(60).fill("https://a") });
  for (const answer of [
    await post(names),
    await post(padded(262_144)),
    await post('{"tasks":["t"]}', "application/json; charset=utf-8"),
  ])
    expect([answer.status, await answer.json()]).toEqual([200, { files: [] }]);
  expect((await post(padded(262_145))).status).toBe(400);
  expect((await post(new Blob(['{"tasks":["t"]}']).stream())).status).toBe(411);
});

test("case 79: a list of names that does not arrive is refused as late after the time for a body", async () => {
  const own = await ownArchive({}, { bodyMs: 200 });
  const held = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode('{"tasks":')),
  });
  const headers = { "content-type": "application/json", "content-length": "20" };
  const init = { method: "POST", headers, body: held, duplex: "half" };
  const answer = await own.ask("/v1/archive", init);
  expect(answer.status).toBe(408);
});

test.each(["", "{", "null", "[]", '"tasks"', "{}", '{"task":["t"]}', '{"tasks":[],"urls":[]}'])(
  "case 79: a list of copies that names no file is refused with a text that says how to ask: %s",
  async (body) => {
    const headers = { "content-type": "application/json" };
    const answer = await proxy.ask("/v1/archive", { method: "POST", headers, body });
    expect([answer.status, await answer.json()]).toEqual([
      400,
      {
        error: {
          message:
            "send application/json with tasks or urls, lists of texts: 1 to 100 in all, in at most 256 KiB",
          type: "invalid_request_error",
          code: "invalid_request",
        },
      },
    ]);
  },
);

test("case 79: a copy that its owner deleted does not come back, however often its task is polled", async () => {
  const own = await ownArchive();
  const id = await own.create();
  await own.poll(id);
  await expect.poll(() => own.archived({ tasks: [id] })).toHaveLength(1);
  const [copy] = await own.archived({ tasks: [id] });
  expect((await own.ask(`/v1/uploads/${copy?.id}`, { method: "DELETE" })).status).toBe(204);
  expect(await statusOf(copy?.url ?? "")).toBe(404);
  await Promise.all([1, 2, 3].map(() => own.poll(id)));
  // jobs are done in their order: this one is the last
  own.files.serves("/last.mp4", sends(film));
  const last = await own.create("last");
  await own.poll(last);
  await expect.poll(() => own.archived({ tasks: [last] })).toHaveLength(1);
  expect(await own.archived({ tasks: [id], urls: [copy?.url ?? ""] })).toEqual([]);
  expect(own.files.requests.map(({ url }) => url)).toEqual(["/film.mp4", "/last.mp4"]);
});
