// @vitest-environment node
import { spawnSync } from "node:child_process";
import { createEmulator } from "@sluice/emulator";
import { type Served, serve } from "@sluice/emulator/serve";
import type { Page } from "playwright";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findChromium } from "../../../scripts/chromium.ts";
import { findProblems } from "../../../tests/support/axe.ts";
import { getSharedBrowser } from "../../../tests/support/browser.ts";
import { made } from "../../../tests/support/first-steps.ts";
import { openWorkshop, type Started, type Workshop } from "../../../tests/support/new-app.ts";
import {
  addComponents,
  asNPX,
  type Fresh,
  freshApps,
  prepare,
  type ServedRegistry,
  serveRegistry,
} from "./registry-app.ts";

/* The components as an app gets them: added by shadcn's command to a fresh app of each framework. */

const hasNPM = spawnSync("npm", ["view", "react", "version"], { timeout: 20_000 }).status === 0;

describe.each(Object.entries(freshApps))("components in a fresh app of %s", (name, fresh: Fresh) => {
  let shop: Workshop;
  let registry: ServedRegistry;
  let gateway: Served;
  let started: Started;
  let page: Page;
  const problems: string[] = [];

  beforeAll(async () => {
    if (!hasNPM || !findChromium()) return;
    shop = openWorkshop();
    registry = await serveRegistry(shop);
    const [, , command = []] = made.find(([each]) => each === name) ?? [];
    await shop.run("", command, asNPX);
    await prepare(shop, fresh, registry);
    await addComponents(shop, registry);
    await shop.run("app", ["npm", "run", "build"]);
    const emulator = createEmulator({
      cors: true,
      speed: Number.POSITIVE_INFINITY,
      chat: ({ messages }) => (messages.at(-1)?.content === "Show Markdown" ? REPLY : undefined),
    });
    gateway = await serve(emulator, { port: 0 });
    started = await shop.start("app", fresh.start);
  }, 600_000);
  afterAll(async () => {
    await Promise.all([started?.stop(), gateway?.close(), registry?.close()]);
    await shop?.close();
    // all that npm has installed goes
  }, 600_000);
  beforeEach(async ({ skip, onTestFinished }) => {
    skip(!hasNPM, "the npm registry can't be reached");
    skip(!findChromium(), "there is no Chromium");
    const context = await (await getSharedBrowser()).newContext({ reducedMotion: "reduce" });
    page = await context.newPage();
    problems.length = 0;
    page.on("pageerror", ({ message }) => problems.push(message));
    page.on("console", (message) => {
      if (message.type() === "error") problems.push(`${message.text()} ${message.location().url}`);
    });
    await page.goto(`${started.url}/?gateway=${gateway.url}`);
    onTestFinished(() => context.close());
  });

  const field = () => page.getByRole("textbox", { name: "Message" });
  const sendMessage = async (text: string) => {
    await field().fill(text);
    await page.keyboard.press("Enter");
  };
  const button = (label: string) => page.getByRole("button", { name: label, exact: true });
  const chat = () => page.getByRole("region", { name: "Chat", exact: true });
  const chatButton = (label: string) => chat().getByRole("button", { name: label, exact: true });

  /** Problems that axe finds in light and in dark. */
  const axe = async () => {
    const found = [];
    for (const theme of ["light", "dark"]) {
      await page.evaluate(
        (dark) => document.documentElement.classList.toggle("dark", dark),
        theme === "dark",
      );
      found.push(...(await findProblems(page)).map((problem) => `${theme}: ${problem}`));
    }
    return found;
  };

  test("The command sends nothing to its own site", () => {
    expect(registry.missing).toEqual([]);
  });

  test("A message is edited and a response requested again; the arrows lead between the versions", {
    timeout: 120_000,
  }, async () => {
    await sendMessage("Hello");
    await chatButton("Regenerate").click();
    await chatButton("Previous version").click();
    await chat().getByText("1/2").waitFor();
    await chatButton("Next version").click();
    await chat().getByText("2/2").waitFor();
    await chatButton("Edit").click();
    await page.getByRole("textbox", { name: "Edit your message" }).fill("Good morning");
    await page.keyboard.press("Enter");
    await page.getByText("Good morning").waitFor();
    await chatButton("Regenerate").waitFor();
    await page
      .getByRole("status")
      .filter({ hasText: "The response is complete." })
      .waitFor({ state: "attached" });
    await expect.poll(axe).toEqual([]);
    expect(problems).toEqual([]);
  });

  test("A response has code in colors, a table and a formula, in light and in dark", {
    timeout: 120_000,
  }, async () => {
    await sendMessage("Show Markdown");
    const reply = chat().getByRole("article", { name: "Assistant's message" });
    const code = reply.getByRole("figure", { name: "Code: ts" });
    const word = code.locator("span[style*=color]").getByText("const", { exact: true });
    await word.waitFor({ timeout: 60_000 });
    await reply.getByRole("cell", { name: "2.0 bar" }).waitFor();
    await expect.poll(() => reply.locator(".katex-display").count()).toBe(1);
    await expect.poll(() => reply.locator(".katex-error").count()).toBe(0);
    // the fonts of KaTeX's style sheet, and not those of the page
    expect(
      await reply
        .locator(".katex")
        .first()
        .evaluate((it) => getComputedStyle(it).fontFamily),
    ).toContain("KaTeX");
    const readColor = (isDark: boolean) =>
      word.evaluate((it, dark) => {
        document.documentElement.classList.toggle("dark", dark);
        return getComputedStyle(it).color;
      }, isDark);
    expect(await readColor(true)).not.toBe(await readColor(false));
    await expect.poll(axe).toEqual([]);
    await code.getByRole("button", { name: "Wrap lines" }).click();
    await code.getByRole("button", { name: "Wrap lines", pressed: true }).waitFor();
    expect(problems).toEqual([]);
  });

  test("An image goes with a message, opens at its full size, and a file of another kind is refused", {
    timeout: 120_000,
  }, async () => {
    await page.getByLabel("Images", { exact: true }).setInputFiles([
      { name: "dot.png", mimeType: "image/png", buffer: Buffer.from(DOT, "base64") },
      { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("no picture") },
    ]);
    await page.getByRole("alert").filter({ hasText: "notes.txt" }).waitFor();
    await page.getByRole("list", { name: "Images to send" }).getByRole("img", { name: "dot.png" }).waitFor();
    await expect.poll(axe).toEqual([]);
    await chatButton("Dismiss").click();
    await sendMessage("What is this?");
    await chatButton("Open image 1").click();
    await page.getByRole("dialog", { name: "Image 1" }).getByRole("img", { name: "Attachment 1" }).waitFor();
    await page.keyboard.press("Escape");
    await chatButton("Regenerate").waitFor();
    expect(problems).toEqual([]);
  });

  test("A tool runs after the user approves it with the keyboard, and its card shows the result", {
    timeout: 120_000,
  }, async () => {
    await sendMessage('Use the tool save_note for "Buy milk"');
    const card = chat().getByRole("group", { name: "Save a note" });
    await card.getByText("Needs your approval").waitFor();
    await expect.poll(axe).toEqual([]);
    await card.getByRole("button", { name: "Approve" }).focus();
    await page.keyboard.press("Enter");
    await card.getByText("Done", { exact: true }).waitFor();
    await chatButton("Regenerate").waitFor();
    expect(problems).toEqual([]);
  });

  test("States that a server, another device or a failure causes are shown, with their buttons", {
    timeout: 120_000,
  }, async () => {
    await page.getByText("Responding elsewhere").waitFor();
    await page.getByText("2 messages are not saved.").waitFor();
    const markdown = page.getByRole("region", { name: "Markdown" });
    await markdown.getByRole("button", { name: "Show image from pictures.example" }).waitFor();
    await expect.poll(axe).toEqual([]);
    for (const name of ["Stop", "Retry anyway", "Generate"]) {
      await button(name).click();
      await page.getByText(`Pressed: ${name.toLowerCase()}`).waitFor();
    }
    await page.getByRole("img", { name: "Responding in another tab" }).waitFor();
    await page
      .getByRole("region", { name: "Branches" })
      .getByRole("button", { name: "Next version" })
      .click();
    await page.getByText("Pressed: version").waitFor();
    await page.getByText("The user wants an image.").waitFor();
    await page.getByRole("group", { name: "Make an image" }).getByText("Cost 0.04 USD").waitFor();
    await page.getByRole("region", { name: "Steps" }).getByRole("button", { name: "Approve" }).click();
    await page.getByText("Pressed: approve").waitFor();
    expect(problems).toEqual([]);
  });

  test("A model, its settings and a value are chosen, and a deleted image comes back with Undo", {
    timeout: 120_000,
  }, async () => {
    await page.getByText("Effort").waitFor();
    await button("Model: Delta").click();
    await page.getByRole("radio", { name: "Alpha" }).waitFor();
    await expect.poll(axe).toEqual([]);
    await page.getByText("Alpha", { exact: true }).click();
    await page.keyboard.press("Escape");
    await button("Model: Alpha").waitFor();
    await page.getByRole("switch", { name: "Tools" }).click();
    await expect.poll(() => page.getByRole("switch", { name: "Tools" }).isChecked()).toBe(false);
    await page.getByText("Advanced").click();
    await page.getByRole("textbox", { name: "Instructions" }).fill("Be brief.");
    const form = page.getByRole("region", { name: "Form of a video" });
    await form.getByRole("button", { name: /^Settings: / }).click();
    const settings = page.getByRole("dialog", { name: "Settings" });
    await settings.getByRole("button", { name: "16:9" }).click();
    await settings.getByRole("button", { name: "16:9", pressed: true }).waitFor();
    await settings.getByRole("slider", { name: "Length" }).waitFor();
    await settings.getByText("More settings").click();
    await settings.getByLabel("Seed").waitFor();
    await expect.poll(axe).toEqual([]);
    await page.keyboard.press("Escape");
    await button("Shape").click();
    await page.getByRole("combobox", { name: "Ratio" }).click();
    await page.getByRole("option", { name: "Wide" }).waitFor();
    await expect.poll(axe).toEqual([]);
    await page.getByRole("option", { name: "Wide" }).click();
    await page.getByRole("combobox", { name: "Ratio" }).filter({ hasText: "Wide" }).waitFor();
    await page.keyboard.press("Escape");
    await button("Delete the image").click();
    await button("Undo").waitFor();
    await expect.poll(axe).toEqual([]);
    await button("Undo").click();
    await page.getByText("Pressed: undo").waitFor();
    expect(problems).toEqual([]);
  });

  test("A cut response can be continued, and a failed response requested again", {
    timeout: 120_000,
  }, async () => {
    await sendMessage("Tell me of the sea [[truncate]]");
    await chatButton("Continue").waitFor();
    await expect.poll(axe).toEqual([]);
    await chatButton("Continue").click();
    await chatButton("Regenerate").last().waitFor();
    // the client itself sends it three times
    await sendMessage("And now [[500:3]]");
    await chatButton("Try again").waitFor();
    await expect.poll(axe).toEqual([]);
    await chatButton("Try again").click();
    await chatButton("Try again").waitFor({ state: "detached" });
    await chatButton("Regenerate").last().waitFor();
    expect(problems.filter((text) => !text.includes("500"))).toEqual([]);
  });
});

const FENCE = "```";
/** A response with what Markdown has to show. */
const REPLY = `The pressure at a depth $h$:

$$
p(h) = p_0 + \\rho g h
$$

| depth | pressure |
| ----- | -------: |
| 10 m  |  2.0 bar |

${FENCE}ts
const pressure = (depth: number) => 1.013 + depth / 10;
${FENCE}`;

/** An image of 16 × 16 pixels. */
const DOT =
  "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAFklEQVR4nGMwSJhAEmIY1TCqYfhqAAC82CAQcrMTHAAAAABJRU5ErkJggg==";
