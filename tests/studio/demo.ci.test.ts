import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createClient } from "@sluice/core";
import { uploadMedia } from "@sluice/media";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createVideo } from "../../packages/media/test/support/media.ts";
import { findChromium } from "../../scripts/chromium.ts";
import { getSharedBrowser } from "../support/browser.ts";
import { type Demo, isAlive, startDemo } from "../support/demo.ts";
import { openStudio, reopenStudio } from "../support/studio-page.ts";

/* `pnpm demo` starts the built page and its Worker in workerd, in front of the emulator. */

/** The beginning of the demo's key. Nothing that a page can read may contain it. */
const KEY = /sk-demo-[0-9a-f]+/;

const root = join(import.meta.dirname, "../..");
let repository = "";
let demo: Demo;
let printedAtStart = "";
const squatter = createServer();

beforeAll(async () => {
  await new Promise<void>((ready) => squatter.listen(0, "127.0.0.1", ready));
  repository = await linkRepository();
  demo = await startDemo((squatter.address() as { port: number }).port, 10, repository);
  printedAtStart = demo.printed();
}, 60_000);
afterAll(async () => {
  squatter.close();
  // in case the test that interrupts it didn't run
  await demo?.interrupt();
  await rm(repository, { recursive: true, force: true });
});

/** Links the files of the demo into a folder with a space and a non-ASCII letter in its name. */
async function linkRepository(examples = "examples"): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "sluice è qui "));
  await cp(join(root, "scripts"), join(folder, "scripts"), { recursive: true });
  await mkdir(dirname(join(folder, examples)), { recursive: true });
  for (const name of ["package.json", "node_modules", "packages", examples])
    await symlink(join(root, name), join(folder, name));
  return folder;
}

test("The demo starts in a folder whose name has a space and a letter beyond ASCII", async () => {
  expect(repository).toMatch(/ è /);
  expect((await fetch(demo.address)).status).toBe(200);
});

test.skipIf(!existsSync("/proc/self/cmdline"))(
  "The command lines of the demo's processes contain no secret (skipped where the system has no /proc)",
  () => {
    const commands = demo
      .processes()
      .map((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " "));
    expect(commands.join()).toContain("wrangler");
    expect(commands.filter((command) => /sk-demo-|FILES_SECRET/.test(command))).toEqual([]);
  },
);

test("A start of the demo that fails leaves nothing in the folder for temporary files", async () => {
  // all but the built page
  const folder = await linkRepository("examples/studio/demo");
  const temporary = join(folder, "tmp");
  await mkdir(temporary);
  const { status, stderr } = spawnSync(process.execPath, ["scripts/demo.ts", "--no-build"], {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, TMPDIR: temporary },
  });
  expect([status, stderr]).toEqual([1, expect.stringContaining("examples/studio/dist")]);
  expect(await readdir(temporary)).toEqual([]);
  await rm(folder, { recursive: true });
});

describe.skipIf(!findChromium())("the demo in Chromium (skipped where there is none)", () => {
  test("has the API key nowhere: not in traffic, not in storage, not in scripts", async () => {
    const { page, seen, close, problems } = await openStudio(await getSharedBrowser(), demo.address);
    await page.getByRole("button", { name: "Stream a response" }).click();
    await page.getByRole("button", { name: "Calls" }).click();
    const inspector = page.getByRole("complementary", { name: "Inspector" });
    await inspector.getByText("complete", { exact: true }).first().waitFor({ timeout: 20_000 });
    const inPage = await page.evaluate(() =>
      [
        document.documentElement.outerHTML,
        document.cookie,
        ...[localStorage, sessionStorage].map((storage) => JSON.stringify(storage)),
      ].join(),
    );
    const readDatabases = () =>
      page.evaluate(async () => {
        const read = <T>(request: IDBRequest<T>) =>
          new Promise<T>((resolve) => {
            request.onsuccess = () => resolve(request.result);
          });
        const found: unknown[] = [];
        for (const { name } of await indexedDB.databases()) {
          const database = await read(indexedDB.open(name as string));
          for (const store of database.objectStoreNames)
            found.push(await read(database.transaction(store).objectStore(store).getAll()));
          database.close();
        }
        return JSON.stringify(found);
      });
    // nothing waits for a write, the page least of all
    await expect.poll(readDatabases).toContain("Show me what you can do");
    const inDatabases = await readDatabases();
    // Chromium does not always store a body that the page read as a stream: the request is repeated, and read as text
    const streamed = await page.evaluate(async () => {
      const body = { model: "delta-5.3", messages: [{ role: "user", content: "Hello" }], stream: true };
      const headers = { "content-type": "application/json" };
      const response = await fetch("/v1/chat/completions", {
        method: "POST",
        headers,
        body: JSON.stringify(body),
      });
      return JSON.stringify([...response.headers]) + (await response.text());
    });
    expect(streamed).toContain("chat.completion.chunk");
    expect(seen.some((text) => text.includes("<!doctype html>"))).toBe(true);
    for (const text of [inPage, inDatabases, streamed, ...seen]) {
      expect(text).not.toMatch(KEY);
      expect(text).not.toMatch(/"authorization"/i);
    }
    expect(problems).toEqual([]);
    await close();
  });

  test("a response continues after a reload, and the gateway gets one request", async () => {
    const studio = await reopenStudio(await getSharedBrowser(), demo.address);
    const { page } = studio;
    // after its reasoning: a response that is stopped earlier has no text to continue
    const text = () => studio.findReply().getByText("Two days, one river");
    await studio.sendMessage("[[stall]] Plan a quiet weekend in a town by a river");
    await text().waitFor();
    await page.reload();
    await text().waitFor();
    await page.getByRole("button", { name: "Stop" }).waitFor();
    await expect.poll(() => studio.seen.join()).toContain("/v1/chat/streams/");
    expect(studio.bodies).toHaveLength(1);
    await studio.field.press("Escape");
    await studio.findReply().getByText("Stopped").waitFor();
    await page.getByRole("button", { name: "Continue" }).waitFor();
    await studio.close();
    expect(studio.problems).toEqual([]);
  });

  test("a stalled stream continues within seconds", async () => {
    const studio = await reopenStudio(await getSharedBrowser(), demo.address);
    await studio.page.getByRole("button", { name: "Stall", exact: true }).click();
    await studio.page.getByRole("heading", { name: "The result" }).waitFor({ timeout: 30_000 });
    await studio.close();
  });

  test("a video is chosen, stored in R2 in two parts, and used as the reference of a video", async () => {
    const studio = await reopenStudio(await getSharedBrowser(), `${demo.address}/#/videos`);
    const { page } = studio;
    const video = Buffer.from(createVideo(640, 360, 5, { content: 9_000_000 }));
    await page.getByRole("button", { name: "References" }).click();
    await page.getByRole("button", { name: "Add: Reference videos" }).click();
    const folder = await mkdtemp(join(tmpdir(), "sluice-video-"));
    const path = join(folder, "walk.mp4");
    await writeFile(path, video);
    await page.getByLabel("Reference videos: files").setInputFiles(path);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Remove Reference videos" }).waitFor();
    await page.getByRole("textbox", { name: "Prompt" }).fill("Video 1 by night");
    await page.getByRole("button", { name: "Generate" }).click();
    // the demo makes a video in 12 s, and its Worker polls every 2 s
    await page
      .getByRole("article", { name: "Video 1 by night" })
      .locator("video")
      .waitFor({ timeout: 60_000 });
    const bodies = studio.bodies as unknown as { input: { media: { type: string; url: string }[] } }[];
    expect(bodies).toMatchObject([{ input: { media: [{ type: "reference_video" }] } }]);
    const url = bodies[0]?.input.media[0]?.url ?? "";
    expect(url).toContain(`${demo.address}/v1/media/`);
    const stored = Buffer.from(await (await fetch(url)).arrayBuffer());
    expect(stored.equals(video)).toBe(true);
    await studio.close();
    await rm(folder, { recursive: true });
    expect(studio.problems).toEqual([]);
  });
});

test("a page of another origin may not call, and no path but the gateway's leads anywhere", async () => {
  const call = (path: string, headers: Record<string, string> = {}) =>
    fetch(demo.address + path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ model: "delta-5.3", messages: [{ role: "user", content: "hi" }] }),
    });
  expect((await call("/v1/chat/completions", { origin: "https://evil.test" })).status).toBe(403);
  expect((await call("/v1/models")).status).toBe(404);
  const response = await call("/v1/chat/completions", {
    origin: demo.address,
    authorization: "Bearer sk-mine",
  });
  expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([200, demo.address]);
});

test("a file goes through the Worker's R2 to the gateway, which refuses it once it is deleted", async () => {
  const video = Uint8Array.from({ length: 9_000_000 }, (_, at) => at & 0xff);
  video.set([0, 0, 0, 0x20, ...new TextEncoder().encode("ftypisom")]);
  const { url, id } = await uploadMedia(createClient({ baseURL: demo.address }), new Blob([video]));
  const media = [{ type: "reference_video", url }];
  const ordered = () =>
    fetch(`${demo.address}/v1/video/generations`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "beta3.0-video", input: { prompt: "Video 1 by night", media } }),
    });
  expect((await ordered()).status).toBe(200);
  const stored = new Uint8Array(await (await fetch(url)).arrayBuffer());
  expect(Buffer.compare(stored, video)).toBe(0);
  expect((await fetch(`${demo.address}/v1/uploads/${id}`, { method: "DELETE" })).status).toBe(204);
  const refused = await ordered();
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining("HTTP 404")]);
});

test("the browser caches scripts and fonts for a year", async () => {
  const html = await (await fetch(demo.address)).text();
  const [script] = /\/assets\/[^"]+\.js/.exec(html) ?? [];
  const { headers } = await fetch(`${demo.address}${script}`);
  expect(headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
});

test("the demo says that its port is taken, and Ctrl-C leaves no process behind", async () => {
  expect(printedAtStart).toMatch(/Port \d+ is taken: using \d+ instead/);
  expect(printedAtStart).not.toMatch(KEY);
  const processes = demo.processes();
  expect(await demo.interrupt()).toBe(0);
  await expect.poll(() => processes.filter(isAlive)).toEqual([]);
  await expect(fetch(demo.address)).rejects.toThrow();
});
