/// <reference types="vite/client" />
import { spawn } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { AssetRequest, ImageRequest, VideoRequest } from "@sluice/core";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Work } from "../../examples/studio/src/inspector/feed.ts";
import { projectOf } from "../../examples/studio/src/inspector/snippets/project.ts";
import type { Target } from "../../examples/studio/src/inspector/snippets/snippet.ts";
import { findChromium } from "../../scripts/chromium.ts";
import { getSharedBrowser } from "../support/browser.ts";
import { createTemporaryFolder } from "../support/temporary.ts";

/*
 * The projects that the Code tab saves, for each room and target: type-checked and run by their own commands. They stand
 * below `tests`, so that they find its packages and those of the root without an install.
 */

const root = createTemporaryFolder("projects");
const works: Readonly<Record<string, Work>> = {
  chat: {
    room: "chat",
    target: { model: "alpha-v4.1-flash", params: { temperature: 0.7 } },
    instructions: "You are kind.",
    tools: ["roll_dice"],
  },
  compare: {
    room: "chat",
    target: { model: "gamma-chat-1-6-251015" },
    compared: { model: "alpha-v4.1-flash" },
    tools: ["roll_dice"],
  },
  images: {
    room: "images",
    request: { model: "gamma-image-5-0-260128", prompt: "A reef\nat dawn's light" } satisfies ImageRequest,
  },
  videos: {
    room: "videos",
    request: {
      model: "beta3.0-video",
      input: { prompt: "Waves" },
      parameters: { resolution: "720P", duration: 5 },
    } satisfies VideoRequest,
  },
  assets: {
    room: "assets",
    request: {
      model: "gamma-asset",
      GroupId: "studio",
      Name: "hero.png",
      AssetType: "Image",
      URL: new Blob(["x"], { type: "image/png" }),
    } satisfies AssetRequest,
  },
};
const rooms = Object.keys(works);
const targets: readonly Target[] = ["react", "script", "worker", "curl"];

const folders = new Map<string, Promise<string>>();

beforeAll(async () => {
  // npm takes commands of the nearest folder: those of `tests` have an older compiler
  const commands = join(root, "node_modules/.bin");
  await mkdir(commands, { recursive: true });
  const compiler = join(import.meta.dirname, "../../node_modules/.bin/tsc");
  await writeFile(join(commands, "tsc"), `#!/bin/sh\nexec "${compiler}" "$@"\n`, { mode: 0o755 });
});

/** Writes a project as somebody who has unpacked it; the packages are those of the repository. */
function folderOf(room: string, target: Target): Promise<string> {
  const name = `${room}-${target}`;
  const folder = folders.get(name) ?? write(join(root, name), projectOf(works[room] as Work, target).files);
  folders.set(name, folder);
  return folder;
}

async function write(folder: string, files: Readonly<Record<string, string>>): Promise<string> {
  for (const [path, text] of Object.entries(files)) {
    if (path.startsWith("packages/")) continue;
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

const { NODE_ENV: _, VITEST: __, ...own } = process.env;
const env = { ...own, NO_COLOR: "1", WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false" };

/** Starts a command in a group of its own, which ends with the test. */
function start(folder: string, program: string, args: readonly string[]) {
  const child = spawn(program, args, { cwd: folder, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  let printed = "";
  let onPiece = () => {};
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (piece) => {
      printed += piece;
      onPiece();
    });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  onTestFinished(async () => {
    try {
      process.kill(-(child.pid ?? 0), "SIGKILL");
    } catch {
      // all of the group has ended
    }
    await ended;
  });
  return { ended, printed: () => printed, until };

  /** Waits until the command has printed something. */
  function until(expected: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      onPiece = () => {
        const found = expected.exec(printed);
        if (found) resolve(found);
      };
      onPiece();
      void ended.then((code) => reject(new Error(`ended with ${code}:\n${printed}`)));
    });
  }
}

describe.each(rooms)("The project of %s", (room) => {
  test.each(targets.filter((target) => target !== "curl"))(
    "for %s has no type errors",
    async (target) => {
      const command = start(await folderOf(room, target), "npm", ["run", "--silent", "types"]);
      expect([await command.ended, command.printed()]).toEqual([0, ""]);
    },
    60_000,
  );

  test.each(["script", "curl"] as const)("for %s prints an answer", { timeout: 120_000 }, async (target) => {
    const command = start(await folderOf(room, target), "npm", ["start"]);
    const code = await command.ended;
    expect(command.printed()).toMatch(answers[target][room] as RegExp);
    expect(code).toBe(0);
  });

  test("The project for a Worker asks the Worker, which adds the key", {
    timeout: 120_000,
  }, async () => {
    const folder = await folderOf(room, "worker");
    const dev = start(folder, "npm", ["run", "dev", "--", "--port", "0", "--inspector-port", "0"]);
    const [, port = ""] = await dev.until(/Ready on http:\/\/\S+:(\d+)/);
    const ask = join(folder, "ask.ts");
    await writeFile(ask, (await readFile(ask, "utf8")).replace(":8787", `:${port}`));
    const command = start(folder, "npm", ["run", "ask"]);
    const ended = await command.ended;
    expect(command.printed()).toMatch(answers.script[room] as RegExp);
    expect(ended).toBe(0);
  });

  test.skipIf(!findChromium())("for React shows a result in a page", { timeout: 120_000 }, async () => {
    const folder = await folderOf(room, "react");
    const dev = start(folder, "npm", ["run", "dev", "--", "--port", "0"]);
    const [, address = ""] = await dev.until(/(http:\/\/localhost:\d+)/);
    const context = await (await getSharedBrowser()).newContext();
    onTestFinished(() => context.close());
    const page = await context.newPage();
    await page.goto(address);
    await use[room]?.(page);
  });
});

type Page = Awaited<ReturnType<Awaited<ReturnType<typeof getSharedBrowser>>["newPage"]>>;

/** The verb of each page, and the result that it shows. */
const use: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  async chat(page) {
    await page.getByRole("textbox").press("Enter");
    await page
      .locator("p")
      .nth(1)
      .filter({ hasText: /\w+ \w+/ })
      .waitFor({ timeout: 60_000 });
  },
  async compare(page) {
    await page.getByRole("textbox").press("Enter");
    for (const side of [0, 1])
      await page
        .locator("section")
        .nth(side)
        .locator("p")
        .nth(1)
        .filter({ hasText: /\w+ \w+/ })
        .waitFor({ timeout: 60_000 });
  },
  async images(page) {
    await page.getByRole("button", { name: "Generate" }).click();
    const image = page.locator("img");
    await image.waitFor({ timeout: 60_000 });
    await expect
      .poll(() => image.evaluate((it) => (it as HTMLImageElement).naturalWidth), { timeout: 60_000 })
      .toBeGreaterThan(0);
  },
  async videos(page) {
    await page.getByRole("button", { name: "Make a video" }).click();
    await page.locator("video[src]").waitFor({ timeout: 60_000 });
  },
  async assets(page) {
    await page.locator("input[type=file]").setInputFiles({
      name: "hero.png",
      mimeType: "image/png",
      buffer: Buffer.from("iVBORw0KGgo=", "base64"),
    });
    await page.getByText("asset://").waitFor({ timeout: 60_000 });
  },
};

const script = { chat: /complete|tool-calls/, videos: /Keep this: .*\nhttp/, assets: /asset:\/\// };
const answers: Readonly<Record<"script" | "curl", Readonly<Record<string, RegExp>>>> = {
  script: { ...script, compare: /(?:complete[\s\S]*){2}/, images: /\nhttp/ },
  curl: {
    chat: /data: \[DONE\]/,
    compare: /(?:data: \[DONE\][\s\S]*){2}/,
    images: /"url":\s*"http/,
    videos: /task/,
    assets: /"Id"/,
  },
};
