import type { ProxyPlugin } from "@sluice/worker-proxy";
import type { BoundHost } from "@sluice/worker-proxy/plugin";
import { expect, test } from "vitest";
import { nodeHost } from "../src/host/node.js";
import { videoWatch } from "../src/videos/video-watch.js";
import { copyDatabase, openFile } from "./support/database-file.js";
import { CDN, imageBytes, openArchive, serveFile } from "./support/file-archive.js";

/* Results of tasks that `videoWatch()` follows to their end, without a page. */

/** Longer than the pause before the first poll, and than a look at the table of timers. */
const POLL_MS = 8_000;
const MINUTE_MS = 60_000;
const watch = (): ProxyPlugin<unknown> => videoWatch();

test("the video of a watched task is copied once, without a page and however many pages poll", async () => {
  const { create, poll, clock, until, findCopies, files, sources } = openArchive({ before: [watch()] });
  sources.serve("framed.mp4", serveFile(imageBytes));
  sources.serve("framed.png", serveFile(imageBytes));
  const id = await create("framed");
  await clock.run(POLL_MS);
  await until(() => files.keys()).toHaveLength(2);
  const [copy] = await findCopies({ tasks: [id] });
  expect(copy).toMatchObject({ name: id, lastFrame: { bytes: imageBytes.length } });
  for (let nth = 0; nth < 3; nth += 1) await poll(id);
  await create("video");
  await clock.run(POLL_MS);
  await until(() => sources.fetched()).toHaveLength(3);
  expect(sources.fetched()).toEqual(
    ["framed.mp4", "framed.png", "video.mp4"].map((name) => `${CDN}/${name}`),
  );
  await until(() => files.keys()).toHaveLength(3);
});

test("an image is copied after its response, with the watch of videos too", async () => {
  const { files, sources, until } = openArchive({ before: [watch()] });
  sources.serve("dawn.mp4", serveFile(imageBytes));
  await files.post("/v1/images/generations", { model: "gamma-image-5-0-260128", prompt: "dawn" });
  await until(() => files.keys()).toHaveLength(1);
  expect(sources.fetched()).toEqual([`${CDN}/dawn.mp4`]);
});

test.each(["failed", "fileless"])("nothing is copied after a task that is %s", async (prompt) => {
  const { create, clock, files, sources } = openArchive({ before: [watch()] });
  await create(prompt);
  await clock.run(3 * MINUTE_MS);
  expect([sources.fetched(), await files.export()]).toEqual([[], { files: [], copies: [] }]);
});

test("a process that is lost before its watch has stored the end has copied the video once", async () => {
  const file = await openFile();
  let isDone = false;
  const host = stopBefore(nodeHost({ file, env: {} }), "videos.applyPoll", () => isDone);
  const archive = openArchive({ file, host, before: [watch()] });
  const { create, clock, until, files, sources, open } = archive;
  const id = await create();
  isDone = true;
  await clock.run(POLL_MS);
  await until(() => files.keys()).toHaveLength(1);
  expect(host.isStopped()).toBe(true);
  const copiedFile = await copyDatabase(file);
  void files.close();
  const next = open({
    file: copiedFile,
    host: nodeHost({ file: copiedFile, env: {} }),
    bucket: files.bucket,
    before: [watch()],
  });
  await clock.run(2 * MINUTE_MS);
  expect([sources.fetched(), files.keys().length]).toEqual([[`${CDN}/video.mp4`], 1]);
  expect((await next.list()).files).toMatchObject([{ taskId: id }]);
});

/** Wraps a host. The operation `name` never returns once `isDue` returns true. */
function stopBefore(host: ReturnType<typeof nodeHost>, name: string, isDue: () => boolean) {
  let isStopped = false;
  return {
    isStopped: () => isStopped,
    close: () => host.close(0),
    open(setup: Parameters<typeof host.open>[0]) {
      const bind = host.open(setup);
      // jobs get the same instance
      const bound: BoundHost = bind({});
      const { run } = bound;
      bound.run = async (key, step, input) => {
        if (step.name !== name || !isDue()) return run(key, step, input);
        isStopped = true;
        return new Promise(() => {});
      };
      return bind;
    },
  };
}
