import { hashText } from "@sluice/worker-proxy/plugin";
import { describe, expect, test } from "vitest";
import { CDN, openArchive, redirectTo, serveFile, video } from "./support/file-archive.js";
import { createFile, DAY_MS } from "./support/file-store.js";

/** Addresses of private networks, of this machine, of other ports, with credentials, or without TLS. */
const PRIVATE = [
  "http://127.0.0.1/video.mp4",
  "https://127.0.0.1/video.mp4",
  "https://localhost/video.mp4",
  "https://[::1]/video.mp4",
  "https://10.0.0.1/video.mp4",
  "https://192.168.1.1/video.mp4",
  "https://169.254.169.254/latest/meta-data/",
  "https://2130706433/video.mp4",
  "https://0x7f.1/video.mp4",
  "https://redis/video.mp4",
  "https://db.internal/video.mp4",
  "https://93.184.216.34/video.mp4",
  "https://cdn.example.com:8443/video.mp4",
  "http://cdn.example.com/video.mp4",
  "https://user:secret@cdn.example.com/video.mp4",
];

describe("nothing is fetched from a forbidden address (case 76)", () => {
  test("addresses of private networks, of this machine, of other ports, with credentials or without TLS are refused", async () => {
    const { files, setFindAddress, create, poll, until, failures, sources } = openArchive();
    setFindAddress((id) => PRIVATE[Number(id)] ?? "");
    for (const nth of PRIVATE.keys()) await poll(await create(String(nth)));
    await until(failures).toHaveLength(PRIVATE.length);
    for (const line of failures()) expect(line).toMatch(/files may not be copied from .*; dropped/);
    expect([sources.fetched(), files.keys()]).toEqual([[], []]);
  });

  test("a redirect to such an address is not followed", async () => {
    const { create, poll, until, failures, sources } = openArchive();
    const addresses = [
      ...PRIVATE,
      "ftp://cdn.example.com/",
      "file:///etc/passwd",
      "data:video/mp4;base64,AAAA",
    ];
    for (const [nth, address] of addresses.entries()) sources.serve(`to-${nth}.mp4`, redirectTo(address));
    for (const nth of addresses.keys()) await poll(await create(`to-${nth}`));
    await until(failures).toHaveLength(addresses.length);
    for (const line of failures()) expect(line).toContain("files may not be copied from");
    expect(sources.fetched()).toEqual(addresses.map((_, nth) => `${CDN}/to-${nth}.mp4`));
  });

  test("a host that is not listed is refused, and a listed host gets no credentials", async () => {
    const hosts = ["*.cdn.example.com"];
    const { create, poll, until, failures, sources, setFindAddress, findCopies } = openArchive({
      archive: { hosts },
    });
    const addresses: Record<string, string> = {
      a: "https://cdn.example.com.attacker.example.org/a.mp4",
      b: "https://attackercdn.example.com/b.mp4",
      c: "https://cdn.example.com/c.mp4",
    };
    setFindAddress((id) => addresses[id] ?? "https://eu.cdn.example.com/video.mp4");
    sources.serve("https://eu.cdn.example.com/video.mp4", serveFile(video));
    for (const id of Object.keys(addresses)) await poll(await create(id));
    await until(failures).toHaveLength(3);
    expect(sources.fetched()).toEqual([]);
    const id = await create();
    await poll(id);
    await until(() => findCopies({ tasks: [id] })).toHaveLength(1);
    expect(sources.requests.flatMap(({ headers }) => [...headers])).toEqual([]);
  });

  test("a fourth redirect is refused, and each of up to three is checked before it is followed", async () => {
    const { create, poll, until, failures, sources, findCopies } = openArchive();
    sources.serve("round.mp4", redirectTo("/round.mp4"));
    await poll(await create("round"));
    await until(failures).toMatchObject([expect.stringContaining("redirects too often")]);
    expect(sources.fetched()).toHaveLength(4);
    expect(sources.requests.every(({ redirect }) => redirect === "manual")).toBe(true);
    for (const [from, to] of Object.entries({ one: "two", two: "three", three: "video" }))
      sources.serve(`${from}.mp4`, redirectTo(`/${to}.mp4`));
    const id = await create("one");
    await poll(id);
    await until(() => findCopies({ tasks: [id] })).toHaveLength(1);
  });
});

test.each([
  ["a page", "<!doctype html><script>1</script>"],
  ["a drawing that can run scripts", '<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>'],
  ["a program", "MZ\u0001\u0002"],
  ["a text", "a line of text"],
  ["a document", "%PDF-1.7"],
])("%s that calls itself a video is not stored (case 77)", async (_, text) => {
  const { create, poll, until, failures, files, sources } = openArchive();
  sources.serve("page.mp4", serveFile(createFile(text, text.length)));
  sources.serve("unsaid.mp4", () => new Response(text));
  for (const name of ["page", "unsaid"]) await poll(await create(name));
  await until(failures).toHaveLength(2);
  for (const line of failures()) expect(line).toContain("files of this type are not accepted");
  expect(files.keys()).toEqual([]);
});

test.each([201, 304, 404, 503])("a response %i is no redirect, whatever address it names", async (status) => {
  const { create, poll, until, failures, sources } = openArchive();
  sources.serve("named.mp4", () => new Response(null, { status, headers: { location: "/video.mp4" } }));
  await poll(await create("named"));
  await until(failures).toMatchObject([expect.stringContaining(`its host responded with ${status}`)]);
  expect(sources.fetched()).toEqual([`${CDN}/named.mp4`]);
});

test.each([
  ["a text instead of a list", "cdn.example.com", "give a list of hosts"],
  ["a number in the list", [5], "give hosts alone"],
  ["an address in the list", ["https://cdn.example.com"], "give hosts alone"],
])("the log names the option that has %s, and nothing is fetched", async (_, hosts, problem) => {
  const { create, poll, until, failures, sources, files } = openArchive({
    archive: { hosts: () => hosts as string[] },
  });
  await poll(await create());
  await until(failures).toMatchObject([expect.stringContaining(`fileStore: archive: hosts: ${problem}`)]);
  expect(sources.fetched()).toEqual([]);
  expect((await files.request("/health")).status).toBe(503);
});

test("the log names a host that can't be reached with the ids of task and copy, and no user or address (case 124)", async () => {
  const { create, poll, until, failures, setFindAddress } = openArchive();
  setFindAddress(() => `${CDN}/away.mp4?token=secret`);
  await poll(await create("away"));
  await until(failures).toHaveLength(1);
  expect(failures()[0]).toMatch(
    /: the file can't be fetched: the host can't be reached; another attempt follows: task away, copy [\w-]{44}, user /,
  );
  expect(failures()[0]).toContain(await hashText("media\nuser-1"));
  expect(failures()[0]).not.toMatch(/setting of the proxy|secret|user-1/);
});

describe("an attempt that fails", () => {
  test("is followed by four more, each pause four times the one before, and then by none for a day (cases 78, 124)", async () => {
    const { create, poll, until, copyEvents, clock, sources, findCopies } = openArchive();
    const id = await create("late");
    await poll(id);
    for (const [nth, seconds] of [30, 120, 480, 1920].entries()) {
      await until(copyEvents).toHaveLength(nth + 1);
      const last = copyEvents().at(-1);
      expect(last).toMatchObject({
        outcome: "retrying",
        code: "source_failed",
        attempts: nth + 1,
        taskId: "late",
      });
      expect(Number(last?.nextAt) - Date.now()).toBeLessThanOrEqual(seconds * 1000);
      await clock.pass((seconds - 5) * 1000);
      expect(sources.fetched()).toHaveLength(nth + 1);
      await clock.pass(5000);
    }
    await until(copyEvents).toHaveLength(5);
    expect(copyEvents().at(-1)).toMatchObject({ outcome: "error", code: "source_failed", attempts: 5 });
    sources.serve("late.mp4", serveFile(video));
    await poll(id);
    await clock.pass(DAY_MS - 60_000);
    expect(sources.fetched()).toHaveLength(5);
    await clock.pass(120_000);
    await until(async () => {
      await poll(id);
      return findCopies({ tasks: [id] });
    }).toHaveLength(1);
  });

  test("reports a file that breaks off, is too slow or is empty, and leaves nothing behind (case 78)", async () => {
    const { create, poll, until, failures, clock, sources, files } = openArchive();
    const cut = (headers?: HeadersInit) => () => {
      const start = (controller: ReadableStreamDefaultController) => {
        controller.enqueue(video.slice(0, 1000));
        setTimeout(() => controller.error(new Error("cut")), 10);
      };
      return new Response(new ReadableStream({ start }), headers && { headers });
    };
    sources.serve("cut.mp4", cut({ "content-length": String(video.length) }));
    sources.serve("cut-unsaid.mp4", cut());
    sources.serve(
      "short.mp4",
      () => new Response(video.slice(0, 999), { headers: { "content-length": "1000" } }),
    );
    sources.serve("empty.mp4", () => new Response(""));
    sources.serve(
      "slow.mp4",
      ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
        }),
    );
    const reasons = {
      cut: "the file ended too early",
      "cut-unsaid": "the file ended too early",
      short: "the file ended too early",
      empty: "it is empty",
      slow: "it took too long",
    };
    for (const [name, reason] of Object.entries(reasons)) {
      await poll(await create(name));
      if (name === "slow") {
        await until(() => sources.fetched().at(-1)).toBe(`${CDN}/slow.mp4`);
        await clock.run(300_000);
      }
      const find = () => failures().find((line) => line.includes(`task ${name},`));
      await until(find).toContain(reason);
    }
    await until(async () => (await files.list()).files).toEqual([]);
    expect([files.keys(), files.countUploads()]).toEqual([[], 0]);
  });
});
