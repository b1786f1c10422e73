import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createEmulator } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import { type CDPSession, chromium, type Page } from "playwright";
import sharp from "sharp";
import { createServer } from "vite";
import { startDemo } from "../tests/support/demo.ts";
import { chromiumFlags, findChromium } from "./chromium.ts";

/*
 * Takes the screenshots of the README from the running demo: a message beside the inspector, and a short recording with
 * a cut connection, a reload and the resumed message. Two more show the panel of `labs/devtools` and the components of
 * `labs/registry`. Build first: `pnpm build`.
 */

const folder = fileURLToPath(new URL("../docs/pictures/", import.meta.url));
/** Maximum and minimum time of one frame in the recording, in milliseconds. */
const MAX_FRAME_MS = 1500;
const MIN_FRAME_MS = 120;

interface Frame {
  readonly image: Buffer;
  /** Seconds since 1970. */
  readonly at: number;
}

const executablePath = findChromium();
if (!executablePath) throw new Error("no Chromium here: install one, or set CHROMIUM to its path");
// slow enough for a message to outlast a cut and a reload
const demo = await startDemo(0, 0.5);
const browser = await chromium.launch({ executablePath, args: chromiumFlags });
mkdirSync(folder, { recursive: true });
try {
  await recordHero();
  await recordCut();
  await shootDevtools();
  await shootComponents();
} finally {
  await browser.close();
  await demo.interrupt();
}

/** Takes a screenshot of a streaming message, next to the file of the room with its marked line. */
async function recordHero(): Promise<void> {
  const page = await openPage(1440, 900);
  // the line is marked once the code has colors, which takes longer than the message on a busy machine
  await page.getByRole("region", { name: "Code" }).locator("code span").first().waitFor({ timeout: 120_000 });
  await page.getByRole("button", { name: "Stream a response" }).click();
  await page.mouse.move(0, 0);
  await page.getByRole("heading", { name: "The result" }).waitFor({ timeout: 120_000 });
  await page.getByRole("figure", { name: "Code: ts" }).locator("[style*=color]").first().waitFor();
  await page.locator("[data-marked]").waitFor();
  await save(
    "studio.webp",
    await sharp(await page.screenshot())
      .webp({ quality: 85 })
      .toBuffer(),
  );
  await page.context().close();
}

/** Records the same message: cut, reloaded, and complete at the end. */
async function recordCut(): Promise<void> {
  const page = await openPage(1200, 750);
  const devtools = await page.context().newCDPSession(page);
  const frames = await record(devtools);
  await page.waitForTimeout(800);
  await page.getByRole("button", { name: "Cut" }).click();
  // the client resumes after the last event
  await page.getByRole("list", { name: "Calls" }).getByText("200, 200").waitFor();
  await page.waitForTimeout(1500);
  await page.reload();
  await page.getByRole("button", { name: "Regenerate" }).waitFor({ timeout: 120_000 });
  await page.waitForTimeout(1500);
  await devtools.send("Page.stopScreencast");
  await save("resume.webp", await createAnimation(frames));
  await page.context().close();
}

/** Takes a screenshot of `labs/devtools` with a resumed message. */
async function shootDevtools(): Promise<void> {
  const page = await openPage(1440, 900);
  await page.getByRole("button", { name: "Cut" }).click();
  await page.getByRole("button", { name: "Regenerate" }).waitFor({ timeout: 120_000 });
  await page.getByRole("tab", { name: "Faults" }).click();
  await page.getByText("complete", { exact: true }).first().waitFor();
  await page.mouse.move(0, 0);
  await page.waitForTimeout(1000);
  const picture = await page.screenshot();
  await save("../../labs/devtools/devtools.webp", await sharp(picture).webp({ quality: 85 }).toBuffer());
  await page.context().close();
}

/** Takes a screenshot of the registry's gallery, with a tool that waits for approval. */
async function shootComponents(): Promise<void> {
  const gateway = await serve(createEmulator({ speed: 5, apiKeys: ["sk-shots"] }), { port: 0 });
  const target = { target: gateway.url, headers: { authorization: "Bearer sk-shots" } };
  const root = fileURLToPath(new URL("../labs/registry/", import.meta.url));
  const server = { port: 0, host: "127.0.0.1", proxy: { "/v1": target } };
  const vite = await createServer({ root, logLevel: "error", server });
  await vite.listen();
  const context = await browser.newContext({ viewport: { width: 1200, height: 750 } });
  const page = await context.newPage();
  await page.goto(vite.resolvedUrls?.local[0] ?? "");
  const chat = page.getByRole("region", { name: "Chat", exact: true });
  const sendMessage = async (text: string) => {
    await page.getByRole("textbox", { name: "Message" }).fill(text);
    await page.keyboard.press("Enter");
  };
  await sendMessage("Why is the sea blue?");
  await chat.getByRole("button", { name: "Regenerate" }).click();
  await chat.getByText("2/2").waitFor();
  await chat.getByRole("button", { name: "Regenerate" }).waitFor();
  await sendMessage('Use the tool save_note for "Look at the sea at noon"');
  await chat.getByRole("button", { name: "Approve" }).waitFor();
  await page.mouse.move(0, 0);
  await page.waitForTimeout(1000);
  const picture = await page.screenshot();
  await save("../../labs/registry/registry.webp", await sharp(picture).webp({ quality: 85 }).toBuffer());
  await context.close();
  await vite.close();
  await gateway.close();
}

async function openPage(width: number, height: number, address = demo.address): Promise<Page> {
  const page = await (
    await browser.newContext({ viewport: { width, height }, colorScheme: "dark" })
  ).newPage();
  await page.goto(address, { waitUntil: "commit" });
  // the heading is in the page before its scripts
  await page.getByRole("button", { name: "Stream a response" }).waitFor({ timeout: 120_000 });
  await page.evaluate(() => document.fonts.ready);
  return page;
}

/** Collects the frames that the browser paints. */
async function record(devtools: CDPSession): Promise<Frame[]> {
  const frames: Frame[] = [];
  devtools.on("Page.screencastFrame", ({ data, metadata, sessionId }) => {
    frames.push({ image: Buffer.from(data, "base64"), at: metadata.timestamp ?? 0 });
    void devtools.send("Page.screencastFrameAck", { sessionId });
  });
  await devtools.send("Page.startScreencast", { format: "png", maxWidth: 960, maxHeight: 600 });
  return frames;
}

/** Creates one animation from the frames. Drops frames that follow too fast. */
async function createAnimation(frames: readonly Frame[]): Promise<Buffer> {
  const spaced: Frame[] = [];
  for (const frame of frames)
    if (spaced.length === 0 || (frame.at - (spaced.at(-1)?.at ?? 0)) * 1000 >= MIN_FRAME_MS)
      spaced.push(frame);
  const delay = spaced.map(({ at }, index) => {
    const next = spaced[index + 1]?.at;
    return Math.round(Math.min(MAX_FRAME_MS, next === undefined ? MAX_FRAME_MS : (next - at) * 1000));
  });
  const images = await Promise.all(
    spaced.map(({ image }) => sharp(image).resize(960, 600, { fit: "fill" }).png().toBuffer()),
  );
  return sharp(images, { join: { animated: true } })
    .webp({ quality: 85, effort: 4, loop: 0, delay })
    .toBuffer();
}

async function save(name: string, data: Buffer): Promise<void> {
  writeFileSync(folder + name, data);
  console.log(`${name.padEnd(16)} ${Math.round(data.length / 1000)} kB`);
}
