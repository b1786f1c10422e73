import { cpSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright";
import { build } from "vite";
import { getSharedBrowser } from "../support/browser.ts";
import {
  approveAndLeave,
  type Device,
  exampleFolder,
  type RunningExample,
  startExample,
  toDevice,
  typeAndStop,
} from "../support/devices-example.ts";
import { browsers } from "./browsers.ts";
import { openFirefox } from "./firefox-device.ts";

/*
 * `examples/devices` on the installed packages, in Chromium and Firefox: two devices of one user, of two makers.
 */

/** The two browsers. */
export const devicePair = ["Chromium", "Firefox"].flatMap(
  (name) => browsers.find((one) => one.name === name) ?? [],
);

/** Steps of both, as the table names them. */
export const deviceSteps = ["streams and stops", "approved and left"];

/** Runs the steps in a project. Returns for each what went wrong. */
export async function checkDevices(project: string): Promise<(string | undefined)[]> {
  const folder = join(project, "devices");
  cpSync(exampleFolder, folder, {
    recursive: true,
    filter: (path) => !/\/(node_modules|dist|tsconfig.*|\.wrangler|devices\.db.*)$/.test(path),
  });
  await build({ configFile: false, logLevel: "error", root: folder });
  const chromium = await getSharedBrowser();
  try {
    return [
      await problemOf(folder, chromium, (_, first, second) => typeAndStop(first, second)),
      await problemOf(folder, chromium, async (example, first, second) => {
        const again = await approveAndLeave(example, [first, second], () => openFirefox(example.url));
        await again.close();
      }),
    ];
  } finally {
    await chromium.close();
  }
}

type Step = (example: RunningExample, first: Device, second: Device) => Promise<void>;

async function problemOf(folder: string, chromium: Browser, step: Step): Promise<string | undefined> {
  const example = await startExample("node", folder);
  const page = await (await chromium.newContext()).newPage();
  await page.goto(example.url);
  const firefox = await openFirefox(example.url);
  const closed = () => Promise.all([page.context().close(), firefox.close()]);
  return await step(example, toDevice(page), firefox)
    .then(() => undefined, String)
    .finally(closed)
    .finally(example.close);
}
