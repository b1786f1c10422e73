import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { connect, IMAGE, joinTexts, VIDEO } from "./support/connect.js";

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
  "base64",
);

/** Creates a folder with an image, a text, links out of it, and a secret image beside it. */
async function openFolder() {
  const root = await mkdtemp(join(tmpdir(), "sluice-files-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const folder = join(root, "pictures");
  await mkdir(join(folder, "sub"), { recursive: true });
  await writeFile(join(folder, "cat.png"), PNG);
  await writeFile(join(folder, "notes.txt"), "not a picture");
  await writeFile(join(root, "secret.png"), PNG);
  await symlink(join(root, "secret.png"), join(folder, "link.png"));
  await symlink(root, join(folder, "up"));
  const toFileURL = (...path: string[]) => pathToFileURL(join(folder, ...path)).href;
  return { ...(await connect({ server: { folder } })), folder, toFileURL };
}

test("An image of the folder is sent in each request that accepts images", async () => {
  const { call, emulator, toFileURL } = await openFolder();
  expect((await call(IMAGE, { prompt: "A cat", image: [toFileURL("cat.png")] })).isError).toBeUndefined();
  expect(emulator.requests[0]?.body).toMatchObject({
    image: [expect.stringMatching(/^data:image\/png;base64,/)],
  });
  const media = [{ type: "first_frame", url: toFileURL("cat.png") }];
  expect((await call(VIDEO, { input: { prompt: "A cat", media } })).isError).toBeUndefined();
});

test.each([
  ["beside the folder", "../secret.png"],
  ["behind a link", "link.png"],
  ["behind a folder that is a link", "up/secret.png"],
  ["that is the folder", ""],
  ["that is not there", "dog.png"],
  ["that is a folder", "sub"],
  ["that is no picture", "notes.txt"],
])("a file %s is not read, and nothing is sent (case 213)", async (_, path) => {
  const { call, countPosts, folder } = await openFolder();
  const address = `${pathToFileURL(folder).href}/${path}`;
  const result = await call(IMAGE, { prompt: "A cat", image: [address] });
  expect(result.isError).toBe(true);
  expect(joinTexts(result)).toMatch(/^Nothing was sent: file:/);
  expect(countPosts()).toBe(0);
});

test("a URL of another machine is not read, and no URL is read without a folder (case 213)", async () => {
  const { call } = await openFolder();
  expect(joinTexts(await call(IMAGE, { prompt: "A", image: ["file://server/a.png"] }))).toMatch(
    /^Nothing was sent/,
  );
  const bare = await connect();
  expect(joinTexts(await bare.call(IMAGE, { prompt: "A", image: ["file:///etc/passwd"] }))).toContain(
    "this server has no folder",
  );
});

test("Text that begins like a URL stays text", async () => {
  const { call, emulator } = await openFolder();
  await call(IMAGE, { prompt: "file:///etc/passwd" });
  expect(emulator.requests[0]?.body).toMatchObject({ prompt: "file:///etc/passwd" });
});
