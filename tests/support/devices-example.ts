import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEmulator } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import type { Page } from "playwright";

/*
 * `examples/devices` as its command starts it, in front of a gateway that can hold images back, and what two devices of
 * one user do with it. A device is a browser, however it is driven.
 */

/** Folder of the example. */
export const exampleFolder = join(import.meta.dirname, "../../examples/devices");
const KEY = "sk-devices";

/** A browser with separate storage. */
export interface Device {
  /** Writes into a field, and sends the form as soon as it can be sent. */
  readonly enter: (label: string, text: string) => Promise<void>;
  readonly press: (button: string) => Promise<void>;
  /** Text of the page. */
  readonly text: () => Promise<string>;
  readonly hasImage: () => Promise<boolean>;
  readonly close: () => Promise<void>;
}

/** A page that Playwright drives, alone in its context. */
export function toDevice(page: Page): Device {
  return {
    async enter(label, text) {
      await page.getByRole("textbox", { name: label }).fill(text);
      await page.locator("form [type=submit]").click();
    },
    press: (name) => page.locator("button, a").getByText(name, { exact: true }).click(),
    text: () => page.locator("body").innerText(),
    hasImage: () =>
      page
        .getByRole("img")
        .evaluate((image: HTMLImageElement) => image.decode())
        .then(() => true),
    close: () => page.context().close(),
  };
}

/** The running example. */
export interface RunningExample {
  readonly url: string;
  /** Paths that reached the gateway. */
  readonly asked: () => readonly string[];
  /** Holds all images back until the function that it returns is called. */
  readonly holdImages: () => () => void;
  readonly close: () => Promise<void>;
}

/** Starts the server of the example on Node, or its Worker on workerd. `vite build` comes before. */
export async function startExample(
  host: "node" | "workerd" = "node",
  folder = exampleFolder,
): Promise<RunningExample> {
  const emulator = createEmulator({ apiKeys: [KEY], speed: 20 });
  let held: Promise<void> | undefined;
  const gateway = await serve(
    {
      async fetch(input) {
        const request = input as Request;
        if (request.url.endsWith("/images/generations")) await held;
        return emulator.fetch(request);
      },
    },
    { port: 0 },
  );
  const data = mkdtempSync(join(tmpdir(), "sluice-devices-"));
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const variables = { GATEWAY_URL: gateway.url, GATEWAY_API_KEY: KEY };
  const start = host === "node" ? startNode : startWorker;
  const child = start(folder, port, data, variables);
  await waitForAnswer(child, url);
  return {
    url,
    asked: () => emulator.requests.map(({ path }) => path),
    holdImages() {
      let release = () => {};
      held = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    },
    async close() {
      // with all that it has started
      if (child.pid && child.exitCode === null && child.signalCode === null)
        process.kill(-child.pid, "SIGKILL");
      await waitForEnd(child);
      await gateway.close();
      rmSync(data, { recursive: true, force: true });
    },
  };
}

type Variables = Readonly<Record<string, string>>;

function startNode(folder: string, port: number, data: string, variables: Variables): ChildProcess {
  return spawn(process.execPath, ["server.ts"], {
    cwd: folder,
    detached: true,
    env: { ...process.env, PORT: String(port), DATA: join(data, "devices.db"), ...variables },
    stdio: "ignore",
  });
}

function startWorker(folder: string, port: number, data: string, variables: Variables): ChildProcess {
  const given = { ...variables, ORIGINS: `http://127.0.0.1:${port}` };
  const vars = Object.entries(given).flatMap(([name, value]) => ["--var", `${name}:${value}`]);
  const places = ["--port", String(port), "--inspector-port", "0", "--persist-to", data];
  const wrangler = join(folder, "node_modules/wrangler/bin/wrangler.js");
  const args = [wrangler, "dev", "--ip", "127.0.0.1", ...places, ...vars];
  return spawn(process.execPath, [...args, "--show-interactive-dev-session=false"], {
    cwd: folder,
    detached: true,
    env: { ...process.env, WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false" },
    stdio: "ignore",
  });
}

async function waitForEnd(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}

async function waitForAnswer(child: ChildProcess, url: string): Promise<void> {
  for (const deadline = Date.now() + 60_000; ; ) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.ok) return void (await answer.body?.cancel());
    if (child.exitCode !== null || Date.now() > deadline)
      throw new Error("the server of examples/devices does not answer");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

/** Waits until the text of a device's page fulfils a condition. */
export async function waitUntil(device: Device, condition: (text: string) => boolean): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!condition(await device.text())) {
    if (Date.now() > deadline)
      throw new Error(`not shown within a minute; the page has:\n${await device.text()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export const waitForText = (device: Device, ...texts: readonly string[]) =>
  waitUntil(device, (shown) => texts.every((text) => shown.includes(text)));
const waitForNoText = (device: Device, text: string) => waitUntil(device, (shown) => !shown.includes(text));

/** Signs in as Ada on both, and opens the chat of the first on the second. */
export async function openOnBoth(first: Device, second: Device, question: string): Promise<void> {
  for (const device of [first, second]) {
    await device.enter("Name", "ada");
    await waitForText(device, "ada, online");
  }
  await first.press("New chat");
  await first.enter("Message", question);
  await waitForText(second, question);
  await second.press(question);
}

/** Streams a reply on both devices, and stops it on the device that did not send the prompt. */
export async function typeAndStop(first: Device, second: Device): Promise<void> {
  const question = "Tell me about rivers [[stall]]";
  await openOnBoth(first, second, question);
  await waitForText(first, "user, this device", "assistant, server", "Working on the server");
  await waitForText(second, "user, another-device", "assistant, server", "Working on the server");
  const answer = /assistant, server\s+(?!Working)\S+ \S+/;
  await waitUntil(second, (text) => answer.test(text));
  await second.press("Stop");
  for (const device of [first, second]) {
    await waitForNoText(device, "Working on the server");
    await waitUntil(device, (text) => answer.test(text));
  }
}

/** Approves on the second device a tool that the first one requested. Both close while it runs. */
export async function approveAndLeave(
  { holdImages, asked }: RunningExample,
  [first, second]: readonly [Device, Device],
  open: () => Promise<Device>,
): Promise<Device> {
  const release = holdImages();
  const question = 'Use the tool make_image for "a reef"';
  await openOnBoth(first, second, question);
  for (const device of [first, second]) await waitForText(device, "make_image: needs-approval");
  await second.press("Approve");
  for (const device of [first, second]) await waitForText(device, "make_image: running");
  await first.close();
  await second.close();
  release();
  const again = await open();
  await again.enter("Name", "ada");
  await waitForText(again, question);
  await again.press(question);
  await waitForText(again, "make_image: done");
  await waitForNoText(again, "Working on the server");
  if (!(await again.hasImage())) throw new Error("the image is not shown");
  const images = asked().filter((path) => path.endsWith("/images/generations"));
  if (images.length !== 1) throw new Error(`${images.length} images were asked for`);
  return again;
}
