import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { connected, IMAGE, textOf, VIDEO } from "./support/connect.js";

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
  "base64",
);

/** Makes a folder with a picture, a text, and links out of it, and a secret picture beside it. */
async function opened() {
  const root = await mkdtemp(join(tmpdir(), "sluice-files-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const folder = join(root, "pictures");
  await mkdir(join(folder, "sub"), { recursive: true });
  await writeFile(join(folder, "cat.png"), PNG);
  await writeFile(join(folder, "notes.txt"), "not a picture");
  await writeFile(join(root, "secret.png"), PNG);
  await symlink(join(root, "secret.png"), join(folder, "link.png"));
  await symlink(root, join(folder, "up"));
  const address = (...path: string[]) => pathToFileURL(join(folder, ...path)).href;
  return { ...(await connected({ server: { folder } })), folder, address };
}

test("A picture of the folder is sent as an image, in each request that takes one", async () => {
  const { call, emulator, address } = await opened();
  expect((await call(IMAGE, { prompt: "A cat", image: [address("cat.png")] })).isError).toBeUndefined();
  expect(emulator.requests[0]?.body).toMatchObject({
    image: [expect.stringMatching(/^data:image\/png;base64,/)],
  });
  const media = [{ type: "first_frame", url: address("cat.png") }];
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
])("case 213: a file %s is not read, and nothing is sent", async (_, path) => {
  const { call, bills, folder } = await opened();
  const address = `${pathToFileURL(folder).href}/${path}`;
  const answer = await call(IMAGE, { prompt: "A cat", image: [address] });
  expect(answer.isError).toBe(true);
  expect(textOf(answer)).toMatch(/^Nothing was sent: file:/);
  expect(bills()).toBe(0);
});

test("case 213: an address on another machine, and one without a folder, are not read", async () => {
  const { call } = await opened();
  expect(textOf(await call(IMAGE, { prompt: "A", image: ["file://server/a.png"] }))).toMatch(
    /^Nothing was sent/,
  );
  const bare = await connected();
  expect(textOf(await bare.call(IMAGE, { prompt: "A", image: ["file:///etc/passwd"] }))).toContain(
    "this server has no folder",
  );
});

test("Words that begin like an address stay words", async () => {
  const { call, emulator } = await opened();
  await call(IMAGE, { prompt: "file:///etc/passwd" });
  expect(emulator.requests[0]?.body).toMatchObject({ prompt: "file:///etc/passwd" });
});
