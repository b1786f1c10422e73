import { expect, onTestFinished, test } from "vitest";
import { shareWorkerd } from "./support/media.js";
import { film, picture, sends, startArchive } from "./support/media-gateway.js";

shareWorkerd(5);

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

type Archive = Awaited<ReturnType<typeof startArchive>>;

async function openArchive(...options: Parameters<typeof startArchive>): Promise<Archive> {
  const proxy = await startArchive(...options);
  onTestFinished(() => proxy.close());
  return proxy;
}

/** Copies another film. Jobs are done in their order, so that all that were due before are done then. */
async function doAllDue(proxy: Archive, prompt: string): Promise<void> {
  proxy.files.serves(`/${prompt}.mp4`, sends(film));
  const id = await proxy.create(prompt);
  await proxy.poll(id);
  await expect.poll(() => proxy.archived({ tasks: [id] })).toHaveLength(1);
}

test("each pause between two attempts is four times as long as the one before", async () => {
  const proxy = await openArchive({ retryMs: 10 * MINUTE_MS });
  const id = await proxy.create("absent");
  await proxy.poll(id);
  await expect.poll(() => proxy.failures()).toHaveLength(1);
  for (const [nth, minutes] of [10, 40, 160].entries()) {
    await proxy.pass((minutes - 1) * MINUTE_MS);
    await doAllDue(proxy, `film-${nth}`);
    expect(proxy.failures()).toHaveLength(nth + 1);
    await proxy.pass(MINUTE_MS + 1);
    await proxy.poll(id);
    await expect.poll(() => proxy.failures()).toHaveLength(nth + 2);
  }
});

test("a file that can't be copied is tried again after a day, and one that was copied after its time", async () => {
  const proxy = await openArchive();
  proxy.files.serves("/page.mp4", sends(new TextEncoder().encode("<!doctype html>")));
  const id = await proxy.create("page");
  await proxy.poll(id);
  await expect.poll(() => proxy.failures()).toHaveLength(1);
  await proxy.pass(DAY_MS - MINUTE_MS);
  await proxy.poll(id);
  await doAllDue(proxy, "one");
  expect(proxy.failures()).toHaveLength(1);
  proxy.files.serves("/page.mp4", sends(film));
  /** Polls until its film is copied: the first poll after the time has the job forgotten. */
  const isCopied = async () => {
    await proxy.poll(id);
    return (await proxy.archived({ tasks: [id] })).length === 1;
  };
  const requests = () => proxy.files.requests.filter(({ url }) => url === "/page.mp4").length;
  await proxy.pass(MINUTE_MS + 1);
  await expect.poll(isCopied).toBe(true);
  expect(requests()).toBe(2);
  await proxy.pass(30 * DAY_MS);
  expect(await proxy.archived({ tasks: [id] })).toEqual([]);
  await expect.poll(isCopied).toBe(true);
  expect(requests()).toBe(3);
});

test("an empty file is no copy, whether its host says its length or not", async () => {
  const proxy = await openArchive({ retryMs: 10 * MINUTE_MS });
  proxy.files.serves("/said.mp4", (response) => void response.writeHead(200, { "content-length": 0 }).end());
  proxy.files.serves("/unsaid.mp4", (response) => {
    response.writeHead(200, { "transfer-encoding": "chunked" }).end();
  });
  for (const [nth, prompt] of ["said", "unsaid"].entries()) {
    await proxy.poll(await proxy.create(prompt));
    await expect.poll(() => proxy.failures()).toHaveLength(nth + 1);
    expect(proxy.failures()[nth]).toContain("the file can't be fetched: it is empty");
  }
  expect(await proxy.keys()).toEqual([]);
});

test("no more films of a user are noted than a user may have files", async () => {
  const proxy = await openArchive({}, { userFiles: 2 });
  for (const id of ["one", "two", "three"]) {
    const answer = { data: { task_id: id, status: "SUCCESS", result_url: `${proxy.files.url}/${id}.mp4` } };
    await proxy.post("/tests/ended", { user: "user-1", id, answer });
  }
  expect(await proxy.copies()).toHaveLength(2);
});

test("The images of an answer that have an address are copied", async () => {
  const proxy = await openArchive();
  proxy.files.serves("/dawn.png", sends(picture, "image/png"));
  const url = `${proxy.files.url}/dawn.png`;
  const odd = [
    null,
    {},
    { url: 5 },
    { url: "data:image/png;base64,AAAA" },
    { error: { message: "withheld" } },
  ];
  const request = { model: "gamma-image-5-0-260128", prompt: "dawn" };
  for (const answer of [null, { data: [...odd, { url }] }]) {
    proxy.upstream.answers((response) => {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
    });
    expect(await proxy.post("/v1/images/generations", request)).toEqual(answer);
  }
  await expect.poll(() => proxy.archived({ urls: [url] })).toHaveLength(1);
  expect([(await proxy.copies()).length, proxy.failures()]).toEqual([1, []]);
});
