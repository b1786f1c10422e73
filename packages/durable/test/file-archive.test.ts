import { describe, expect, test } from "vitest";
import { CDN, holdFile, imageBytes, openArchive, serveFile, video } from "./support/file-archive.js";
import {
  createFile,
  DAY_MS,
  firstBytes,
  holdBody,
  MINUTE_MS,
  PART_BYTES,
  png,
  readBytes,
  readCode,
} from "./support/file-store.js";

describe("a result", () => {
  test("is copied after a poll of its task, with its last frame, and found by its task and its address", async () => {
    const { sources, create, poll, findCopies, files, until } = openArchive();
    sources.serve("framed.mp4", serveFile(video));
    sources.serve("framed.png", serveFile(imageBytes));
    const id = await create("framed");
    const { response } = await poll(id);
    expect(response.headers.get("x-sluice-features")).toBe("archive=2592000000");
    await until(() => findCopies({ tasks: [id] })).toHaveLength(1);
    await until(async () => (await findCopies({ tasks: [id] }))[0]?.lastFrame?.bytes).toBe(imageBytes.length);
    const [copy] = await findCopies({ tasks: [id] });
    expect(copy).toMatchObject({ name: id, bytes: video.length, type: "video/mp4" });
    expect(Number(copy?.storedUntil) - Date.now()).toBeGreaterThan(29 * DAY_MS);
    const got = await files.request(copy?.url ?? "", { user: "" });
    expect(Buffer.compare(await readBytes(got), video)).toBe(0);
    expect((await findCopies({ urls: [copy?.url ?? ""] }))[0]?.id).toBe(copy?.id);
    const listed = (await files.list()).files;
    expect(listed.map(({ taskId }) => taskId)).toEqual([id, id]);
    expect(await files.export()).toMatchObject({
      files: [
        { isCopy: true, taskId: "framed" },
        { isCopy: true, taskId: "framed" },
      ],
    });
  });

  test("is copied after an image request, and addresses in other responses are not copied", async () => {
    const { sources, files, findCopies, until } = openArchive();
    sources.serve("dawn.mp4", serveFile(imageBytes));
    const messages = [{ role: "user", content: "Hello" }];
    await files.post("/v1/chat/completions", { model: "delta-5.3", messages });
    await files.post("/v1/images/generations", { model: "gamma-image-5-0-260128", prompt: "dawn" });
    const urls = [`${CDN}/dawn.mp4`, `${CDN}/other.mp4`];
    await until(() => findCopies({ urls })).toMatchObject([{ name: urls[0], type: "image/png" }]);
    expect(sources.fetched()).toEqual([urls[0]]);
  });

  test("is not copied again after its owner deleted it, however often its task is polled (case 79)", async () => {
    const { sources, create, poll, files, findCopies, until } = openArchive();
    const id = await create();
    await poll(id);
    await until(() => findCopies({ tasks: [id] })).toHaveLength(1);
    const [copy] = await findCopies({ tasks: [id] });
    expect((await files.request(`/v1/uploads/${copy?.id}`, { method: "DELETE" })).status).toBe(204);
    expect((await files.request(copy?.url ?? "")).status).toBe(404);
    for (let nth = 0; nth < 3; nth += 1) await poll(id);
    await poll(await create("last"));
    await until(() => sources.fetched()).toEqual([`${CDN}/video.mp4`, `${CDN}/last.mp4`]);
    expect([await findCopies({ tasks: [id], urls: [copy?.url ?? ""] }), files.keys()]).toEqual([[], []]);
  });

  test("is copied again after its copy has expired", async () => {
    const { clock, create, poll, findCopies, files, until } = openArchive();
    const id = await create();
    await poll(id);
    await until(() => findCopies({ tasks: [id] })).toHaveLength(1);
    await clock.pass(30 * DAY_MS + MINUTE_MS);
    await until(() => files.keys()).toEqual([]);
    await poll(id);
    await until(() => findCopies({ tasks: [id] })).toHaveLength(1);
  });
});

describe("a copy", () => {
  test("is stored in parts if the host does not send its length", async () => {
    const { sources, create, poll, findCopies, files, until } = openArchive();
    const long = createFile(firstBytes.mp4, 2 * PART_BYTES + 5);
    const bodies = { short: video, exact: createFile(firstBytes.mp4, PART_BYTES), long };
    for (const [name, bytes] of Object.entries(bodies)) {
      sources.serve(`${name}.mp4`, () => new Response(new Blob([bytes]).stream()));
      const id = await create(name);
      await poll(id);
      await until(() => findCopies({ tasks: [id] })).toHaveLength(1);
      const [copy] = await findCopies({ tasks: [id] });
      expect(copy).toMatchObject({ bytes: bytes.length, type: "video/mp4" });
      expect(Buffer.compare(await readBytes(await files.request(copy?.url ?? "")), bytes)).toBe(0);
    }
    expect(files.countUploads()).toBe(0);
  });

  test("never exceeds `maxBytes`, whether its host announces the size or sends without an end (case 78)", async () => {
    const { sources, create, poll, files, failures, until } = openArchive({
      archive: { maxBytes: 3 * PART_BYTES },
    });
    sources.serve(
      "said.mp4",
      () => new Response(video, { headers: { "content-length": String(3 * PART_BYTES + 1) } }),
    );
    const piece = createFile(firstBytes.mp4, 1_000_000);
    let sent = 0;
    const pull = (controller: ReadableStreamDefaultController) => {
      sent += piece.length;
      controller.enqueue(piece);
    };
    sources.serve("endless.mp4", () => new Response(new ReadableStream({ pull })));
    for (const name of ["said", "endless"]) await poll(await create(name));
    await until(failures).toHaveLength(2);
    for (const line of failures()) expect(line).toContain(`larger than ${3 * PART_BYTES} bytes; dropped`);
    expect(sent).toBeLessThan(5 * PART_BYTES);
    expect([files.keys(), files.countUploads()]).toEqual([[], 0]);
  });

  test("may have exactly `maxBytes`, whether its host announces the size or not (case 78)", async () => {
    const { sources, create, poll, findCopies, until } = openArchive({ archive: { maxBytes: video.length } });
    sources.serve("unsaid.mp4", () => new Response(new Blob([video]).stream()));
    for (const name of ["video", "unsaid"]) {
      const id = await create(name);
      await poll(id);
      await until(() => findCopies({ tasks: [id] })).toHaveLength(1);
    }
  });

  test("is made for a user who has had and deleted as many as a user may have (case 112)", async () => {
    const { sources, create, poll, findCopies, files, until } = openArchive({
      options: { maxFilesPerUser: 1 },
    });
    for (const name of ["one", "two", "three"]) {
      sources.serve(`${name}.mp4`, serveFile(video));
      const id = await create(name);
      await poll(id);
      await until(() => findCopies({ tasks: [id] })).toHaveLength(1);
      const [copy] = await findCopies({ tasks: [id] });
      expect((await files.request(`/v1/uploads/${copy?.id}`, { method: "DELETE" })).status).toBe(204);
    }
  });

  test("waits for space without losing an attempt, and is made from its newest address (case 112)", async () => {
    const bounds = { maxBytesPerUser: video.length + 500 };
    const { clock, create, poll, findCopies, files, until, copyEvents, setFindAddress } = openArchive({
      options: bounds,
    });
    const { id: blockingId } = await files.store(png);
    const id = await create();
    await poll(id);
    for (let nth = 1; nth <= 7; nth += 1) {
      await until(() => copyEvents().length).toBe(nth);
      await clock.pass(8 * MINUTE_MS);
    }
    for (const event of copyEvents())
      expect(event).toMatchObject({ outcome: "retrying", code: "storage_full", attempts: 0 });
    setFindAddress(() => `${CDN}/video.mp4?signed=anew`);
    await poll(id);
    await files.request(`/v1/uploads/${blockingId}`, { method: "DELETE" });
    await clock.pass(8 * MINUTE_MS);
    await until(() => findCopies({ tasks: [id] })).toHaveLength(1);
  });

  test("waits a week for space, and then its end is an event (case 124)", async () => {
    const { clock, create, poll, until, copyEvents } = openArchive({ options: { maxBytesPerUser: 1000 } });
    await poll(await create());
    for (let day = 1; day <= 8; day += 1) {
      await until(() => copyEvents().length).toBe(day);
      await clock.pass(DAY_MS);
    }
    expect(copyEvents().map(({ outcome, code }) => [outcome, code])).toEqual([
      ...Array(7).fill(["retrying", "storage_full"]),
      ["error", "storage_full"],
    ]);
  });

  test("is dropped with an event that names task, copy and user if too many copies wait (case 112)", async () => {
    const { sources, create, poll, copyEvents, failures, until } = openArchive({
      options: { maxFilesPerUser: 1 },
    });
    const { serve, finish } = holdFile(video);
    sources.serve("held.mp4", serve);
    await poll(await create("held"));
    await poll(await create("late"));
    await until(copyEvents).toMatchObject([
      { outcome: "dropped", userId: "user-1", taskId: "late", code: "too_many_copies" },
    ]);
    expect(failures()).toEqual([
      expect.stringMatching(/1 copies are waiting; dropped: task late, copy [\w-]{44}, user [0-9a-f]{64}/),
    ]);
    await until(() => sources.fetched()).toHaveLength(1);
    finish();
    await until(() => copyEvents().at(-1)?.outcome).toBe("complete");
  });

  test("is made one at a time for each user", async () => {
    const { sources, create, poll, files, until } = openArchive();
    const slowFile = holdFile(video);
    sources.serve("a.mp4", slowFile.serve);
    sources.serve("b.mp4", serveFile(video));
    sources.serve("other.mp4", serveFile(video));
    await poll(await create("a"));
    await until(() => sources.fetched()).toHaveLength(1);
    await poll(await create("b"));
    await poll(await create("other", "user-2"), "user-2");
    await until(() => files.keys()).toHaveLength(1);
    expect(sources.fetched()).toEqual([`${CDN}/a.mp4`, `${CDN}/other.mp4`]);
    slowFile.finish();
    await until(() => files.keys()).toHaveLength(3);
  });
});

describe("a list of copies", () => {
  test("lists only the files of its user, and none by another user's task, address or link (case 79)", async () => {
    const { create, poll, findCopies, files, until } = openArchive();
    const id = await create("video", "user-3");
    await poll(id, "user-3");
    await until(() => findCopies({ tasks: [id] }, "user-3")).toHaveLength(1);
    const [copy] = await findCopies({ tasks: [id] }, "user-3");
    const urls = [copy?.url ?? "", `${CDN}/video.mp4`];
    const plain = id.slice(0, id.lastIndexOf("_"));
    expect(await findCopies({ tasks: [id, plain], urls }, "user-4")).toEqual([]);
    const path = `/v1/uploads/${copy?.id}`;
    expect((await files.request(path, { user: "user-4", method: "DELETE" })).status).toBe(404);
  });

  test("takes JSON of a known length, with 1 to 100 names in at most 256 KiB (case 79)", async () => {
    const { files } = openArchive();
    const send = (body: BodyInit, headers: Record<string, string>) =>
      files.request("/v1/archive", { method: "POST", body, headers });
    const json = (text: string) =>
      send(text, { "content-type": "application/json", "content-length": String(text.length) });
    const names = JSON.stringify({ tasks: Array(40).fill("t"), urls: Array(60).fill("https://a") });
    for (const text of [names, '{"tasks":["t"]}'.padEnd(262_144)])
      expect(await (await json(text)).json()).toEqual({ files: [] });
    const wrong = [
      "",
      "{",
      "null",
      "[]",
      "{}",
      '{"tasks":[1]}',
      '{"urls":"https://a"}',
      '{"tasks":[],"urls":[]}',
    ];
    const many = JSON.stringify({ tasks: Array(101).fill("t") });
    for (const text of [...wrong, many, '{"tasks":["t"]}'.padEnd(262_145)])
      expect(await readCode(json(text))).toEqual([400, "invalid_request"]);
    expect(await readCode(send("{}", { "content-type": "application/json" }))).toEqual([
      411,
      "length_required",
    ]);
    expect(await readCode(send('{"tasks":["t"]}', { "content-type": "text/plain" }))).toEqual([
      400,
      "invalid_request",
    ]);
  });

  test("is refused with 408 if its body does not arrive in time (cases 79, 121)", async () => {
    const { files, clock } = openArchive();
    const { body } = holdBody(createFile('{"tasks":', 20));
    const headers = { "content-type": "application/json", "content-length": "20" };
    const late = readCode(
      files.request("/v1/archive", { method: "POST", body, headers, ...{ duplex: "half" } }),
    );
    await clock.run(31_000);
    expect(await late).toEqual([408, "body_timeout"]);
  });

  test("does not exist in a proxy without an archive", async () => {
    const { files } = openArchive({ archive: false });
    expect((await files.post("/v1/archive", { tasks: ["t"] })).status).toBe(404);
  });
});
