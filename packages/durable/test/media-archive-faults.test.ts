import { expect, onTestFinished, test } from "vitest";
import { shareWorkerd, statusOf } from "./support/media.js";
import { film, picture, sends, startArchive } from "./support/media-gateway.js";

shareWorkerd(13);

/* Hosts, buckets and meters that fail: the log says which, and no file stays that is nobody's. */

const DAY_MS = 86_400_000;

async function openArchive(...options: Parameters<typeof startArchive>) {
  const proxy = await startArchive(...options);
  onTestFinished(() => proxy.close());
  return proxy;
}

test("the log says that a host can't be reached, is too slow or breaks off, and not that the setup is wrong", async () => {
  const proxy = await openArchive({ copyMs: 400, retryMs: DAY_MS });
  proxy.files.serves("/away.mp4", (response) => response.destroy());
  proxy.files.serves("/slow.mp4", () => {});
  proxy.files.serves("/cut.mp4", (response) => {
    response.writeHead(200);
    response.write(film.subarray(0, 1000), () => response.destroy());
  });
  const reasons = [
    ["away", "the file can't be fetched: its host can't be reached"],
    ["slow", "the file can't be fetched: it took too long"],
    ["cut", "the file broke off before its end"],
  ] as const;
  for (const [nth, [prompt, reason]] of reasons.entries()) {
    await proxy.poll(await proxy.create(prompt));
    await expect.poll(() => proxy.failures(), { timeout: 10_000 }).toHaveLength(nth + 1);
    expect(proxy.failures()[nth]).toContain(reason);
  }
});

test.each([201, 304, 404, 503])("an answer %i is no redirect, whatever address it names", async (status) => {
  const proxy = await openArchive({ retryMs: DAY_MS });
  proxy.files.serves("/named.mp4", (response) => response.writeHead(status, { location: "/film.mp4" }).end());
  await proxy.poll(await proxy.create("named"));
  await expect.poll(() => proxy.failures()).toHaveLength(1);
  expect(proxy.failures()[0]).toContain(`its host answered ${status}`);
  expect(proxy.files.requests.map(({ url }) => url)).toEqual(["/named.mp4"]);
});

test.each([
  ["a text in place of a list", "cdn.example.com", "give a list of hosts"],
  ["a number in the list", [5], "give hosts alone"],
])("the log names the option that has %s, and nothing is fetched", async (_, hosts, problem) => {
  const proxy = await openArchive({ hosts, retryMs: DAY_MS });
  await proxy.poll(await proxy.create());
  await expect.poll(() => proxy.failures()).toHaveLength(1);
  expect(proxy.failures()[0]).toContain(`mediaStore: archive: hosts: ${problem}`);
  expect(proxy.files.requests).toEqual([]);
});

test("the hosts may come from the variables of the Worker, and no other host is asked", async () => {
  const proxy = await openArchive({ retryMs: DAY_MS }, { readsHosts: true });
  const id = await proxy.create();
  await proxy.poll(id);
  await expect.poll(() => proxy.archived({ tasks: [id] })).toHaveLength(1);
  proxy.points(() => "https://cdn.example.com/film.mp4");
  await proxy.poll(await proxy.create("elsewhere"));
  await expect.poll(() => proxy.failures()).toHaveLength(1);
  expect(proxy.failures()[0]).toContain("cdn.example.com");
});

test("an answer of another route is not copied, whatever addresses it has", async () => {
  const proxy = await openArchive({ retryMs: DAY_MS });
  proxy.upstream.answers((response, { url }) => {
    const data = [{ url: `${proxy.files.url}/${url.includes("images") ? "film" : "other"}.mp4` }];
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ data }));
  });
  const messages = [{ role: "user", content: "Hello" }];
  await proxy.post("/v1/chat/completions", { model: "delta-5.3", messages });
  await proxy.post("/v1/images/generations", { model: "gamma-image-5-0-260128", prompt: "a reef" });
  await expect.poll(() => proxy.events()).toMatchObject([{ kind: "copy", outcome: "complete" }]);
  expect(proxy.files.requests.map(({ url }) => url)).toEqual(["/film.mp4"]);
});

test("a file whose owner deletes it while the bucket fails is deleted when the bucket is back", async () => {
  const proxy = await openArchive();
  const id = await proxy.create();
  await proxy.poll(id);
  await expect.poll(() => proxy.archived({ tasks: [id] })).toHaveLength(1);
  const [copy] = await proxy.archived({ tasks: [id] });
  await proxy.fail("delete");
  const deletion = await proxy.ask(`/v1/uploads/${copy?.id}`, { method: "DELETE" });
  expect([deletion.status, await proxy.archived({ tasks: [id] })]).toEqual([503, []]);
  await proxy.fail();
  // the alarm that copies it deletes what is over, too
  proxy.files.serves("/next.mp4", sends(film));
  const next = await proxy.create("next");
  await proxy.poll(next);
  await expect.poll(() => proxy.archived({ tasks: [next] })).toHaveLength(1);
  await expect.poll(() => proxy.keys()).toHaveLength(1);
  expect(await statusOf(copy?.url ?? "")).toBe(404);
});

test("a film is copied anew when its time is over, though the bucket can't delete the old copy yet", async () => {
  const proxy = await openArchive({ keepMs: 2 * DAY_MS });
  const id = await proxy.create();
  await proxy.poll(id);
  await expect.poll(() => proxy.archived({ tasks: [id] })).toHaveLength(1);
  await proxy.fail("delete");
  await proxy.pass(2 * DAY_MS + 1000);
  const isCopied = async () => {
    await proxy.poll(id);
    return (await proxy.archived({ tasks: [id] })).length === 1;
  };
  await expect.poll(isCopied, { timeout: 10_000 }).toBe(true);
  expect(proxy.files.requests).toHaveLength(2);
});

test("a copy that the bucket does not take is not paid, and the attempt that stores it pays", async () => {
  const proxy = await openArchive({ retryMs: 600_000 }, { budgetBytes: 1.5 * film.length });
  await proxy.fail("put");
  const id = await proxy.create();
  await proxy.poll(id);
  await expect.poll(() => proxy.failures()).toHaveLength(1);
  await proxy.fail();
  await proxy.pass(601_000);
  await proxy.poll(id);
  await expect.poll(() => proxy.archived({ tasks: [id] })).toHaveLength(1);
  proxy.files.serves("/second.mp4", sends(film));
  await proxy.poll(await proxy.create("second"));
  await expect.poll(() => proxy.failures()).toHaveLength(2);
  expect(proxy.failures()[1]).toMatch(/budget/);
});

test("a file that neither the bucket nor the meter takes holds no space", async () => {
  const proxy = await openArchive({}, { userFiles: 1, budgetBytes: 10 * film.length, failsRelease: true });
  await proxy.fail("put");
  expect((await proxy.upload(picture)).status).toBeGreaterThanOrEqual(500);
  await proxy.fail();
  expect((await proxy.upload(picture)).status).toBe(201);
});
